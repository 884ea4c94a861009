"""A bandit for coroutines: awaitable methods that do not block the loop, and share transactions."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, overload

from rotting.bandit.bandit import Bandit
from rotting.bandit.core.checking import good_reward, name_list, reward_pairs
from rotting.bandit.core.requests import AllRewards, AllShown, Choice, Decide, Outcome, Request, Reward, Shown, checked
from rotting.bandit.errors import BanditError, ClosedBandit
from rotting.bandit.group_commit import LARGEST_GROUP
from rotting.bandit.store.deadlines import Deadline


class _Call:
    """Requests of one coroutine that wait to be carried out."""

    def __init__(self, requests: list[Request], deadline: Deadline):
        self.requests, self.deadline = requests, deadline
        self.answer: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()


class AsyncBandit:
    """A `Bandit` whose methods are awaited; use it in one event loop.

    One thread writes. Whatever coroutines ask for while it commits is its next transaction, together with what other
    threads ask of the same bandit. Everything else (`report`, `change_arms`, ...) is done by `bandit`, in a thread:
    `await asyncio.to_thread(shop.bandit.report)`.

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
        self._waiting: deque[_Call] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rotting-bandit")
        self._writer: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(cls, *arguments: Any, **settings: Any) -> AsyncBandit:
        """Open a bandit as `Bandit.open` does."""
        return cls(await asyncio.to_thread(partial(Bandit.open, *arguments, **settings)))

    async def exchange(self, requests: Iterable[Request], timeout: float | None = None) -> list[Outcome]:
        """Carry out requests as `Bandit.exchange` does."""
        call = _Call(checked(requests), Deadline(timeout))
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        if not call.requests:
            return []
        self._waiting.append(call)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        try:
            done, _ = await asyncio.wait({call.answer}, timeout=call.deadline.remaining())
        except asyncio.CancelledError:
            call.answer.cancel()
            raise
        if not done:
            begun = call not in self._waiting
            call.answer.cancel()
            raise call.deadline.error("the database" if begun else "other callers", may_be_written=begun)
        return call.answer.result()

    async def _write(self) -> None:
        """Carry out whatever waits, until nothing does."""
        loop = asyncio.get_running_loop()
        while calls := self._next_calls():
            requests = [request for call in calls for request in call.requests]
            timeout = max(call.deadline.remaining() for call in calls)
            try:
                outcomes = await loop.run_in_executor(self._thread, self.bandit.exchange, requests, timeout)
            except Exception as error:  # whatever it is, somebody waits for it
                for call in calls:
                    if not call.answer.done():
                        call.answer.set_exception(copy.copy(error))
                continue
            start = 0
            for call in calls:
                if not call.answer.done():
                    call.answer.set_result(outcomes[start : start + len(call.requests)])
                start += len(call.requests)

    def _next_calls(self) -> list[_Call]:
        calls: list[_Call] = []
        size = 0
        while self._waiting and size < LARGEST_GROUP:
            call = self._waiting.popleft()
            if not call.answer.done():  # nobody has given up
                calls.append(call)
                size += len(call.requests)
        return calls

    async def _ask(self, request: Request, timeout: float | None) -> Any:
        (outcome,) = await self.exchange([request], timeout)
        if isinstance(outcome, BanditError):
            raise outcome
        return outcome

    @overload
    async def decide(
        self,
        n: None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Choice: ...

    @overload
    async def decide(
        self, n: int, among: Iterable[str] | None = None, *, key: str | None = None, timeout: float | None = None
    ) -> list[Choice]: ...

    async def decide(
        self,
        n: int | None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Choice | list[Choice]:
        """Choose an arm as `Bandit.decide` does."""
        return await self._ask(Decide(n, among, key), timeout)  # type: ignore[no-any-return]

    async def shown(self, decision: str, *, timeout: float | None = None) -> bool:
        """Log that a decision has been shown, as `Bandit.shown` does."""
        return bool(await self._ask(Shown(decision), timeout))

    async def shown_many(self, decisions: Iterable[str], *, timeout: float | None = None) -> int:
        """Log that many decisions have been shown, as `Bandit.shown_many` does."""
        listed = tuple(name_list("decisions", decisions))
        return int(await self._ask(AllShown(listed), timeout)) if listed else 0

    async def reward(self, decision: str, value: float, *, timeout: float | None = None) -> bool:
        """Log a reward as `Bandit.reward` does."""
        return bool(await self._ask(Reward(decision, value), timeout))

    async def reward_many(
        self, rewards: Mapping[str, float] | Iterable[tuple[str, float]], *, timeout: float | None = None
    ) -> int:
        """Log many rewards, all or none, as `Bandit.reward_many` does."""
        pairs = tuple((str(decision), good_reward(value)) for decision, value in reward_pairs(rewards))
        return int(await self._ask(AllRewards(pairs), timeout)) if pairs else 0

    async def close(self) -> None:
        """Finish what waits, and close the bandit."""
        self._closed = True
        if self._writer is not None:
            await self._writer
        await asyncio.to_thread(self.bandit.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> AsyncBandit:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
