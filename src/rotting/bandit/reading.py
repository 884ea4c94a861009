"""What can be read of a bandit: its arms and settings, its log, reports and proofs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._core.validation import whole_number
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadAddress, BadSettings, StorageError
from rotting.bandit.log import verifying
from rotting.bandit.log.verifying import Verification
from rotting.errors import BadValue, quoted
from rotting.policies import Policy

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.log.streaming import LogRow, Time
    from rotting.bandit.report.reporting import Report, Standing


class ReadableBandit:
    """The methods of a `Bandit` that only read."""

    _log: EventLog

    @property
    def settings(self) -> BanditSettings:
        """The settings as they are now."""
        with self._log.reading():
            return self._state.settings

    @property
    def arms(self) -> dict[str, bool]:
        """The arms in the order of being added, and whether each is available (that is, not retired)."""
        with self._log.reading():
            return dict(zip(self._state.names, self._state.live, strict=True))

    @property
    def name(self) -> str:
        """The name of the bandit."""
        return self._log.name

    @property
    def policy(self) -> Policy:
        """The policy as it is used now: with sigma="auto", its sigma is the latest estimate."""
        with self._log.reading():
            return self._state.policy

    def _repr_html_(self) -> str:
        from rotting.bandit.report.showing import bandit_html

        return bandit_html(self)

    def history(
        self,
        since: Time | None = None,
        until: Time | None = None,
        arm: str | None = None,
        *,
        after: int | None = None,
        limit: int | None = None,
    ) -> pandas.DataFrame:
        """Return the log, or a part of it: one row per event, in order.

        Parameters
        ----------
        since, until
            Events from this time on, and before that one: a `datetime`, or a text such as "2026-01-31 12:00"; without
            a zone, in UTC.
        arm
            Events of this arm only.
        after, limit
            Events after that number, and so many of them.
        """
        from rotting.bandit.log.streaming import Range, frame, portions

        wanted = Range(since, until, arm, after, limit)
        return frame([row for rows in portions(self._log, wanted) for row in rows])

    def history_portions(
        self, since: Time | None = None, until: Time | None = None, arm: str | None = None, *, size: int = 10_000
    ) -> Iterator[pandas.DataFrame]:
        """Yield what `history` returns in tables of so many events: for logs that do not fit into memory."""
        from rotting.bandit.log.streaming import Range, frame, portions

        try:
            whole_number("size", size, 1)
        except BadValue as error:
            raise BadSettings.from_error(error) from None
        return map(frame, portions(self._log, Range(since, until, arm), size))

    def report(self) -> Report:
        """Return how the arms are doing."""
        from rotting.bandit.report.reporting import make_report

        with self._log.reading() as stored:
            return make_report(self._state, stored.exposures_until(self._state.seq))

    def rows(self, *, after: int | None = None, limit: int | None = None, size: int = 10_000) -> Iterator[list[LogRow]]:
        """Yield the log after an event, or so many events of it, in lists of plain rows; see `history`."""
        from rotting.bandit.log.streaming import Range, portions

        return portions(self._log, Range(after=after, limit=limit), size)

    def standing(self) -> Standing:
        """Return what the state says at once, without reading the rewards: arms, counts, settings."""
        from rotting.bandit.report.reporting import make_standing

        with self._log.reading():
            return make_standing(self._state)

    def export(
        self,
        path: str | os.PathLike[str],
        since: Time | None = None,
        until: Time | None = None,
        arm: str | None = None,
    ) -> int:
        """Write the log, or a part of it as in `history`, to a file, atomically; returns the number of events.

        The name ends in .csv, .jsonl (JSON lines), .parquet or .arrow. The log is read in portions, so that memory does
        not grow with it.
        """
        from rotting.bandit.log.exporting import check_export, write_log
        from rotting.bandit.log.streaming import Range, portions

        if not isinstance(path, str | os.PathLike):
            raise BadAddress("is not the name of a file", name="path", value=path, expected="for example 'log.csv'")
        self.refuse_own_file(path)
        check_export(Path(path))
        return write_log(portions(self._log, Range(since, until, arm)), Path(path))

    def refuse_own_file(self, path: str | os.PathLike[str]) -> None:
        """Raise a `StorageError` if a file belongs to the database; call it before writing to a file of the user's."""
        if self._log.store.owns_file(path):
            raise StorageError(
                f"{quoted(str(path))} is the database itself", value=path, expected="the name of another file"
            )

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the whole log: every decision must be the one the policy takes, the state must be bit-identical.

        Raises `VerificationFailed` otherwise. `progress` is called after every 1000 events with the number of events
        done and of all events.
        """
        return verifying.verify(self._log, progress)

    def __repr__(self) -> str:
        state = self._state
        return f"<Bandit {self.name!r} {state.policy} with {len(state.names)} arms after {state.seq} events>"

    @property
    def _state(self) -> BanditState:
        return self._log.state
