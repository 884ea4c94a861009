"""What changes a bandit itself: its arms, its settings, rewards of elsewhere, the end of waiting for rewards."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from rotting.bandit.core import planning
from rotting.bandit.core.checking import good_arms, name_list
from rotting.bandit.core.events import Event
from rotting.bandit.core.exchanging import EXPIRY_PORTION
from rotting.bandit.core.settings import SettingsChange
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadSettings
from rotting.bandit.log.warming import WarmSource, import_events, read_warm_start
from rotting.bandit.reading import ReadableBandit
from rotting.bandit.store.deadlines import Deadline

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog, Planner


class ChangeableBandit(ReadableBandit):
    """A bandit that can be changed; each change is an event of its log."""

    def __init__(self, log: EventLog):
        self._log = log

    def expire(self, *, timeout: float | None = None) -> int:
        """Settle the decisions whose reward is overdue (`reward_wait`) with the default reward; returns how many.

        `decide` does so by itself. Without default reward, or if an exposure counts when shown and never was, the
        decision is only dropped from those that are waited for. Many are settled in portions, so that other writers do
        not wait for all of them.
        """
        settled, deadline = 0, Deadline(timeout)
        while some := self._append(lambda state, now: planning.expiry(state, now, EXPIRY_PORTION), deadline):
            settled += len(some)
        return settled

    def _change(self, plan: Planner, timeout: float | None) -> list[Event]:
        """Append what may bring other arms or another policy, for which much is to be learnt."""
        deadline = Deadline(timeout)
        self._log.expect(plan, deadline)
        return self._append(plan, deadline, changes_policy=True)

    def _append(self, plan: Planner, deadline: Deadline, changes_policy: bool = False) -> list[Event]:
        def work() -> list[Event]:
            self._log.prepare()
            events = self._log.append(plan, deadline, changes_policy=changes_policy)
            self._log.after_append()
            return events

        return self._log.commits.take_turn(work, deadline)

    # Arms.

    def add_arm(self, name: str) -> None:
        """Add an arm; it is chosen as soon as it is available."""
        self.change_arms(add=[name])

    def retire_arm(self, name: str) -> bool:
        """Stop choosing an arm; its history is kept, and late rewards are accepted. False if it was retired."""
        return self.change_arms(retire=[name]) == 1

    def restore_arm(self, name: str) -> bool:
        """Make a retired arm available again, with its history. False if it was not retired."""
        return self.change_arms(restore=[name]) == 1

    def change_arms(
        self,
        *,
        add: Iterable[str] = (),
        retire: Iterable[str] = (),
        restore: Iterable[str] = (),
        timeout: float | None = None,
    ) -> int:
        """Add, retire and restore several arms, in this order, all or none; returns how many changes it took."""
        new, old, back = good_arms("add", add), name_list("retire", retire), name_list("restore", restore)

        def plan(state: BanditState, now: float) -> list[Event]:
            return planning.arm_changes(state, now, new, old, back)

        return len(self._change(plan, timeout))

    def warm_start(self, source: WarmSource) -> int:
        """Learn rewards that came elsewhere, all or none (see `warm_start` of `open`); returns how many there were.

        They are logged as imported, and do not count as decisions of this bandit. Called twice, it learns them twice.
        """
        if isinstance(source, ReadableBandit) and source._log.token == self._log.token:
            raise BadSettings("is this bandit itself, which knows its rewards", name="source", value=source)
        warm = read_warm_start(source)
        self._append(lambda state, now: import_events(state, now, warm), Deadline())
        return len(warm.rewards)

    # Settings.

    def change(self, *, timeout: float | None = None, **settings: Unpack[SettingsChange]) -> list[str]:
        """Change settings, all or none; returns the names of those that were different.

        The change is an event of the log: decisions before it are verified with the old settings, those after it are
        taken with the new ones. A new policy learns all rewards there have been. A number as `sigma` is the new
        parameter of the policy, "auto" begins an estimate with the rewards that follow. `count` and `seed` are never
        changed.

        Examples
        --------
        >>> import tempfile
        >>> from rotting import Bandit, EffFEWA
        >>> bandit = Bandit.open(f"sqlite:///{tempfile.mkdtemp()}/fatigue.db", "hero", EffFEWA(), ["red", "green"])
        >>> bandit.change(epsilon=0.05, sigma=0.3)
        ['policy', 'epsilon']
        >>> bandit.change(epsilon=0.05)
        []
        """
        events = self._change(lambda state, now: planning.setting_changes(state, now, settings), timeout)
        return list(json.loads(events[0].details or "")) if events else []

    def _add_new_arms(self, names: list[str]) -> None:
        def plan(state: BanditState, now: float) -> list[Event]:
            return planning.arm_changes(state, now, [name for name in names if name not in state.index], [], [])

        if not all(name in self._state.index for name in names):
            self._change(plan, timeout=None)
