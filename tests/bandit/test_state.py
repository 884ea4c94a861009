"""The state against a second, literal opinion about who is chosen."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.fewa import filter_width, passing
from rotting import FEWA, policies
from rotting.bandit.core.choosing import counts_at, pick
from rotting.bandit.core.events import Event
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.snapshots import Snapshot
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import DamagedLog

ALPHA, SIGMA = 0.06, 0.3
SETTINGS = BanditSettings(FEWA(alpha=ALPHA, sigma=SIGMA))


class Literal:
    """FEWA with exposures in flight, said as plainly as can be."""

    def __init__(self):
        self.rewards: dict[int, list[float]] = {}
        self.live: set[int] = set()
        self.in_flight: dict[int, int] = {}

    def choose(self, arms):
        exposures = {arm: len(self.rewards[arm]) + self.in_flight[arm] for arm in arms}
        for arm in arms:
            if exposures[arm] == 0:
                return arm
        t = 1 + sum(map(len, self.rewards.values()))
        theta = filter_width(t, ALPHA, SIGMA, 1.0)
        known = [arm for arm in arms if self.rewards[arm]]
        active, h = known, 1
        while active:
            sums = [math.fsum(self.rewards[arm][-h:]) for arm in active]
            active = passing(active, sums, theta * math.sqrt(h))
            if any(len(self.rewards[arm]) == h for arm in active):
                break
            h += 1
        left = sorted({*active, *(arm for arm in arms if arm not in known)})
        return min(left, key=lambda arm: (exposures[arm], arm))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 63)),
        st.tuples(st.just("decide"), st.just(0)),
        st.tuples(st.just("reward"), st.integers(0, 9), st.integers(-2, 4)),
        st.tuples(st.just("add")),
        st.tuples(st.just("switch"), st.integers(0, 5)),
    ),
    max_size=120,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_every_choice_is_the_literal_one(steps):
    events: list[Event] = []

    def rewards(seq):
        known = [event for event in events if event.seq <= seq and event.value is not None]
        arms, values = [event.arm for event in known], [event.value for event in known]
        return np.array(arms, np.int64), np.array(values, np.float64)

    state, literal, waiting = BanditState("hero", SETTINGS, rewards), Literal(), []

    def happen(kind, arm, **rest):
        events.append(Event(len(events) + 1, kind, 0.0, arm, **rest))
        state.apply(events[-1])

    def add():
        arm = len(state.names)
        literal.rewards[arm], literal.in_flight[arm] = [], 0
        literal.live.add(arm)
        happen("added", arm, name=f"arm {arm}")

    add()
    for step in steps:
        if step[0] == "add" and len(state.names) < 6:
            add()
        elif step[0] == "switch" and step[1] < len(state.names):
            happen("retired" if step[1] in literal.live else "restored", step[1])
            literal.live ^= {step[1]}
        elif step[0] == "reward" and step[1] < len(waiting):
            seq, arm = waiting.pop(step[1])
            literal.rewards[arm].append(step[2] / 2)
            literal.in_flight[arm] -= 1
            happen("rewarded", arm, target=seq, value=step[2] / 2)
        elif step[0] == "decide":
            assert state.available() == sorted(literal.live)
            arms = [arm for arm in state.available() if not step[1] >> arm & 1]
            if arms:
                chosen = pick(state, state.seq + 1, arms, counts_at(state, state.at))
                assert chosen.arm == literal.choose(arms)
                literal.in_flight[chosen.arm] += 1
                waiting.append((state.seq + 1, chosen.arm))
                happen("decided", chosen.arm)

    again = BanditState.from_snapshot("hero", SETTINGS, rewards, Snapshot.from_bytes(state.snapshot().to_bytes()))
    assert again.difference(state) is None


def test_randomised_policies_are_known():
    """Those whose choice depends on the random stream, after rewards that leave several arms in question."""
    for name, kind in policies.POLICIES.items():
        # AUCB-TP and AUCBT-ASW draw how patient to be, not an arm.
        if name in ("Oracle", "CTO", "CTOSIM", "DCTOUCB", "AUCB", "AUCBTP", "AUCBTASW"):
            continue
        policy = kind(**({"horizon": 100} if "horizon" in kind.knows else {}))
        agent = policy.start(4)
        for place in range(40):
            agent.update(place % 4, float(place % 3 == 0))
        chosen = {agent.select_among([0, 1, 2, 3], np.uint64(1000 * key))[0] for key in range(300)}
        assert (len(chosen) > 1) == policy.randomised, name


def test_a_gap_in_the_log_is_noticed():
    state = BanditState("hero", SETTINGS, lambda seq: ([], []))
    state.apply(Event(1, "added", 0.0, 0, "red"))
    with pytest.raises(DamagedLog, match="event 3 follows event 1"):
        state.check(Event(3, "added", 0.0, 1, "green"))
