"""A bandit's own log: its decisions with their probabilities, and its rewards as they came."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from rotting.bandit import Bandit, LogRow
from rotting.logs import LogError
from rotting.policies._contract.probable import REPLAYS
from rotting.value.along import Learnt
from rotting.value.logged import Logged, refuse_empty

_SCHEMES = ("sqlite://", "postgresql://", "postgres://")


def is_address(log: object) -> bool:
    """Say whether a log is the address of a database with bandits, rather than a file or a frame.

    >>> is_address("sqlite:///fatigue.db"), is_address("campaign.db::impressions")
    (True, False)
    """
    return isinstance(log, str) and log.startswith(_SCHEMES)


@dataclasses.dataclass
class _Decision:
    """A decision: its arm and probability, the arms it was taken among, how many rewards were known, its reward."""

    arm: str
    probability: float | None
    among: frozenset[str]
    known: int
    at: float
    reward: float | None = None


def read_bandit(url: str, name: str | None, step: Callable[[str], None]) -> Logged:
    """Return the decisions of a bandit that have a reward, among the arms that most of them were taken among."""
    if name is None:
        raise LogError("needs the name of the bandit", owner=f"log {url!r}", hint="give {bandit}")
    step("reading the bandit's log")
    with Bandit.open(url, name) as bandit:
        decisions, rewards = _read(row for rows in bandit.rows(replays=REPLAYS) for row in rows)
    owner = f"bandit {name!r}"
    if not decisions:
        raise LogError("has no decision that could be weighed", owner=owner)
    among, _ = collections.Counter(each.among for each in decisions).most_common(1)[0]
    arms = sorted(among)
    rewarded = [each for each in decisions if each.reward is not None]
    told = [each for each in rewarded if each.among == among]
    unknown = sum(each.probability is None for each in told)
    told = [each for each in told if each.probability is not None]
    # Rewards of other arms are not learnt: a policy chooses among some arms as if there were no others.
    place = {arm: number for number, arm in enumerate(arms)}
    ours = np.array([arm in among for arm, _ in rewards], bool)
    counted = np.concatenate([[0], np.cumsum(ours)])
    learnt = [(place[arm], reward) for arm, reward in rewards if arm in among]
    left = (
        (len(decisions) - len(rewarded), "have no reward"),
        (len(rewarded) - len(told) - unknown, "were taken among other arms"),
        (unknown, "have no probability"),
    )
    return refuse_empty(
        Logged(
            name=owner,
            arms=tuple(arms),
            arm=np.array([place[each.arm] for each in told], np.int64),
            reward=np.array([each.reward for each in told], float),
            probability=np.array([each.probability for each in told], float),
            known=counted[[each.known for each in told]],
            learnt=Learnt(np.array([arm for arm, _ in learnt], np.int64), np.array([r for _, r in learnt], float)),
            times=np.array([each.at for each in told]),
            columns="decisions of a bandit",
            notes=tuple(f"{number:,} decisions {why}, and are left out." for number, why in left if number),
            whole=len(learnt) == len(told),
        )
    )


def _read(rows: Iterable[LogRow]) -> tuple[list[_Decision], list[tuple[str, float]]]:
    """Return the decisions in order, and the rewards with their arms as they were learnt."""
    decisions: dict[str, _Decision] = {}
    rewards: list[tuple[str, float]] = []
    offered: set[str] = set()
    for number, row in enumerate(rows, 1):
        if row.seq > number:
            problem = f"was compacted up to event {row.seq - 1}: what was learnt before is not in it any more"
            raise LogError(problem, owner="the bandit's log", hint="evaluate before compacting")
        arm = str(row.arm)
        if row.kind in ("added", "restored"):
            offered.add(arm)
        elif row.kind == "retired":
            offered.discard(arm)
        elif row.kind == "decided":
            among = frozenset(offered if row.among is None else row.among)
            decisions[str(row.decision)] = _Decision(arm, row.probability, among, len(rewards), row.at)
        elif row.reward is not None and row.kind in ("rewarded", "expired", "imported"):
            rewards.append((arm, row.reward))
            if (decision := decisions.get(str(row.decision))) is not None:
                decision.reward = row.reward
    return list(decisions.values()), rewards
