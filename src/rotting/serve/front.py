"""A process that speaks HTTP, and asks the one that writes."""

from __future__ import annotations

import asyncio
from functools import partial

from rotting.serve.link import Counted, Link
from rotting.serve.service import Options, Service

TURN = 0.5  # seconds after which it looks whether the other lives, and tells what it has counted


class Front(Service):
    """What such a process holds: a link to the one that writes, which listens at a path."""

    def __init__(self, options: Options, path: str, process: str):
        super().__init__(options, process)
        self._path = path

    async def start(self) -> None:
        """Wait until the process that writes can be asked."""
        await super().start()
        connect = partial(asyncio.get_running_loop().create_unix_connection, path=self._path)
        self.carrier = self.link = Link(connect, changed=self.directory.forget)
        self._tasks.append(asyncio.create_task(self.link.keep()))
        await self.link.answers.wait()
        self.repeat(self._look_around, TURN)

    async def _look_around(self) -> None:
        assert self.link is not None
        self.link.look()
        if self.link.lives():
            self.link.send(Counted(self.metrics.process, self.metrics.samples()))
