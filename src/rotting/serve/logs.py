"""Reading a log in portions, with names and identifiers instead of numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import select

from rotting.bandit import schema
from rotting.bandit.database import Database
from rotting.bandit.storage import StoredLog
from rotting.serve.requests import LoggedEvent

LARGEST_PAGE = 1000  # events
COLUMNS = LoggedEvent.__struct_fields__


class LogReader:
    """Reads the log of one bandit as it was when it had `upto` events, and arms of these names."""

    def __init__(self, database: Database, bandit_id: int, names: Sequence[str], upto: int):
        self._database = database
        self._id = bandit_id
        self._names = dict(enumerate(names))
        self._upto = upto

    def read(self, after: int, limit: int) -> list[LoggedEvent]:
        """Return at most `limit` events after a number, in order."""
        table, names = schema.events.c, self._names
        with self._database.lock, self._database.reading() as connection:
            events = StoredLog(connection, self._id).after(after, min(after + limit, self._upto))
            targets = sorted({event.target for event in events if event.target is not None})
            decisions: dict[int, str] = {}
            for start in range(0, len(targets), 500):
                query = select(table.seq, table.decision).where(
                    table.bandit == self._id, table.seq.in_(targets[start : start + 500])
                )
                decisions.update(connection.execute(query).all())
        return [
            LoggedEvent(
                seq=event.seq,
                kind=event.kind,
                at=event.at,
                arm=names.get(event.arm),
                decision=event.decision or decisions.get(event.target or 0),
                reward=event.value,
                probability=event.probability,
                among=None if event.among is None else [names[arm] for arm in json.loads(event.among)],
            )
            for event in events
        ]
