"""Plans are functions of the state, the time and what the log holds: no database is needed to try them."""

import json

import numpy as np
import pytest

from rotting import EffFEWA
from rotting.bandit import NoArms, RewardConflict, UnknownArm, UnknownDecision
from rotting.bandit.core import planning
from rotting.bandit.core.events import Event
from rotting.bandit.core.identifiers import Identifiers
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.state import BanditState

IDENTIFIERS = Identifiers("token", "00ff")


class Log:
    """A log in memory, with the state that follows from it."""

    def __init__(self, **settings):
        self.events = []
        self.state = BanditState("hero", BanditSettings(EffFEWA(sigma=0.5), **settings), self.rewards)

    def rewards(self, seq):
        known = [event for event in self.events if event.seq <= seq and event.value is not None]
        return np.array([event.arm for event in known], np.int64), np.array([event.value for event in known])

    def append(self, events):
        for event in events:
            self.state.check(event)
            self.state.apply(event)
            self.events.append(event)
        return events

    def about(self, decision):
        return [event for event in self.events if decision in (event.seq, event.target) and event.kind != "added"]


@pytest.fixture
def log():
    log = Log(reward_wait=60.0, default_reward=0.0)
    log.append(planning.arm_changes(log.state, 1.0, ["red", "green"], [], []))
    return log


def decide(log, now, number=1):
    arms = planning.arms_among(log.state, None)
    return log.append(planning.decisions(log.state, now, IDENTIFIERS, number, arms, False)[0])


def test_nothing_changes_until_events_are_applied(log):
    before = log.state.snapshot().to_bytes()
    events, reasons = planning.decisions(log.state, 2.0, IDENTIFIERS, 3, [0, 1], False)
    assert [event.arm for event in events] == [0, 1, 0]
    assert [event.seq for event in events] == [3, 4, 5]
    assert reasons == ["never tried", "never tried", "every arm waits for its first reward: the least shown"]
    assert log.state.snapshot().to_bytes() == before


def test_a_restricted_choice_is_logged(log):
    arms = planning.arms_among(log.state, ["green"])
    events, _ = planning.decisions(log.state, 2.0, IDENTIFIERS, 1, arms, True)
    assert json.loads(events[0].among) == [1]


def test_rewards_of_decisions_that_wait_and_of_those_in_the_log(log):
    first, second = decide(log, 2.0, 2)
    (rewarded,) = log.append(planning.rewards(log.state, 3.0, log, [(first.decision, 1.0)]))
    assert rewarded == Event(5, "rewarded", 3.0, 0, target=3, value=1.0)
    assert planning.rewards(log.state, 4.0, log, [(first.decision, 1.0)]) == []
    with pytest.raises(RewardConflict, match=r"already has the reward 1\.0, so it cannot have 0\.5") as raised:
        planning.rewards(log.state, 4.0, log, [(second.decision, 0.0), (first.decision, 0.5)])
    assert raised.value.value == 0.5
    with pytest.raises(UnknownDecision) as raised:
        planning.rewards(log.state, 4.0, log, [("token-99-ffff", 1.0)])
    assert raised.value.value == "token-99-ffff"


def test_what_is_overdue_depends_on_the_time_given(log):
    decide(log, 2.0)
    decide(log, 10.0)
    assert planning.expiry(log.state, 61.9) == []
    assert [event.target for event in planning.expiry(log.state, 62.0)] == [3]
    assert [event.target for event in planning.expiry(log.state, 70.0)] == [3, 4]


def test_exposures(log):
    (decision,) = decide(log, 2.0)
    log.append(planning.exposures(log.state, 3.0, log, [decision.decision] * 2))
    assert planning.exposures(log.state, 4.0, log, [decision.decision]) == []


def test_errors_name_users_texts_as_they_are(log):
    log.append(planning.arm_changes(log.state, 2.0, ["{among}"], ["{among}"], []))
    with pytest.raises(UnknownArm, match=r"^bandit 'hero' has no arm '\{amon\}'; did you mean '\{among\}'\?$"):
        planning.arms_among(log.state, ["{amon}"])
    with pytest.raises(NoArms) as raised:
        planning.arms_among(log.state, [])
    assert raised.value.name == "among"
    assert raised.value.text(lambda name: f"--{name}").endswith("or leave --among out for all")
