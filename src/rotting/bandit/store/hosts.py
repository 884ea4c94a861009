"""Which hosts serve a database in PostgreSQL: each keeps a session there, whose name says where it is reached.

The server ends a session whose host has died, or is silent: so there are neither leases nor clocks of our own.
"""

from __future__ import annotations

import contextlib

import psycopg

from rotting.bandit.errors import StorageError
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.postgres import BoundedConnection, dial

LONGEST_SILENCE = 3  # seconds after which the server takes a host for dead
PATIENCE = 2.0  # seconds that it may take to answer
# Hosts of one schema and one user know each other. A name may have 63 bytes.
_MINE = "'rotting ' || to_hex(hashtext(current_schema())) || ' '"
_ENTER = f"""SELECT set_config('application_name', {_MINE} || %s, false),
set_config('idle_session_timeout', '{LONGEST_SILENCE}s', false),
set_config('tcp_keepalives_idle', '{LONGEST_SILENCE}', false), set_config('tcp_keepalives_interval', '1', false),
set_config('tcp_keepalives_count', '3', false)"""
_LOOK = f"""SELECT DISTINCT substr(application_name, length({_MINE}) + 1) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND starts_with(application_name, {_MINE})"""


class Presence:
    """That a host is there, reached at an address, as long as it asks for the others every second or so."""

    def __init__(self, url: str, address: str):
        self._url = url
        self._address = address
        self._session: BoundedConnection | None = None

    def look(self) -> set[str]:
        """Return the addresses of all hosts that are there, of which this is one."""
        try:
            with contextlib.suppress(psycopg.Error):  # the server has ended a session that was silent
                if self._session is not None:
                    return self._look(self._session)
            self.leave()
            self._session = dial(Deadline(PATIENCE), self._url)
            self._session.execute(_ENTER, [self._address])
            return self._look(self._session)
        except psycopg.Error as error:
            self.leave()
            raise StorageError("the other hosts are not known now") from error

    def _look(self, session: BoundedConnection) -> set[str]:
        session.deadline = Deadline(PATIENCE)
        return {address for (address,) in session.execute(_LOOK)}

    def leave(self) -> None:
        """Be there no longer."""
        if self._session is not None:
            self._session.close()
            self._session = None
