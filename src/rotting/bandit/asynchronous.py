"""A bandit for coroutines: awaitable methods that do not block the loop, and share transactions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from rotting.bandit.bandit import Bandit
from rotting.bandit.core.requests import Outcome, Request, answer, checked
from rotting.bandit.errors import ClosedBandit, StorageError
from rotting.bandit.store.deadlines import Deadline

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _awaited(
    method: Callable[Concatenate[Bandit, Given], Result],
) -> Callable[Concatenate[AsyncBandit, Given], Awaitable[Result]]:
    """Return a method of `Bandit` that only uses `_ask`: of an `AsyncBandit`, that is awaited."""
    return cast("Any", method)  # type: ignore[no-any-return]


class AsyncBandit:
    """A `Bandit` whose methods are awaited; use it in one event loop.

    A thread writes. Whatever coroutines ask for while it commits is its next transaction, together with what other
    threads ask of bandits of the same store. Everything else (`report`, `change_arms`, ...) is done by `bandit`, in a
    thread: `await asyncio.to_thread(shop.bandit.report)`.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from rotting import EffFEWA
    >>> async def main():
    ...     url = f"sqlite:///{tempfile.mkdtemp()}/fatigue.db"
    ...     async with await AsyncBandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "green"]) as hero:
    ...         choices = await asyncio.gather(*(hero.decide() for _ in range(4)))
    ...         return [choice.arm for choice in choices], await hero.reward(choices[0].id, 1.0)
    >>> asyncio.run(main())
    (['red', 'green', 'red', 'green'], True)
    """

    def __init__(self, bandit: Bandit):
        self.bandit = bandit
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False

    @classmethod
    async def open(cls, *arguments: Any, **settings: Any) -> AsyncBandit:
        """Open a bandit as `Bandit.open` does."""
        return cls(await asyncio.to_thread(partial(Bandit.open, *arguments, **settings)))

    async def exchange(self, requests: Iterable[Request], timeout: float | None = None) -> list[Outcome]:
        """Carry out requests as `Bandit.exchange` does."""
        listed, deadline = checked(requests), Deadline(timeout)
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        if not listed:
            return []
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[None] = loop.create_future()
        log = self.bandit._log
        ticket = log.commits.carry(log, listed, deadline, lambda: _tell(loop, answered))
        self._waiting.add(answered)
        try:
            await asyncio.wait({answered}, timeout=deadline.remaining())
            if not ticket.is_settled:
                raise ticket.withdraw() or deadline.error("the database", may_be_written=True)
        finally:
            ticket.abandoned = True
            self._waiting.discard(answered)
        return ticket.result()

    async def _ask(self, request: Request, timeout: float | None) -> Any:
        try:
            (outcome,) = await self.exchange([request], timeout)
        except StorageError as error:
            outcome = error
        return answer(request, outcome)

    decide = _awaited(Bandit.decide)
    shown = _awaited(Bandit.shown)
    shown_many = _awaited(Bandit.shown_many)
    reward = _awaited(Bandit.reward)
    reward_many = _awaited(Bandit.reward_many)

    async def close(self) -> None:
        """Finish what waits, and close the bandit."""
        self._closed = True
        if self._waiting:
            await asyncio.wait(self._waiting)
        await asyncio.to_thread(self.bandit.close)

    async def __aenter__(self) -> AsyncBandit:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _tell(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[None]) -> None:
    """Wake a coroutine, from another thread, if its loop has not ended."""

    def set_answer() -> None:
        if not answer.done():
            answer.set_result(None)

    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(set_answer)
