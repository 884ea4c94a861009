"""Plans are functions of the state, the time and what the log holds: no database is needed to try them."""

import json

import numpy as np
import pytest

from rotting import EffFEWA
from rotting.bandit import NoArms, RewardConflict, UnknownArm, UnknownDecision
from rotting.bandit.core import changes
from rotting.bandit.core.events import Event, Facts
from rotting.bandit.core.identifiers import Identifiers
from rotting.bandit.core.planning import Plan, plan, wanted
from rotting.bandit.core.requests import All, Decide, Reward, Shown
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

    def plan(self, now, *requests):
        """Return the events and the outcomes of requests; what is overdue is not looked at."""
        decisions, _ = wanted(self.state, requests)
        about = {
            each: [event for event in self.events if each in (event.seq, event.target) and event.kind != "added"]
            for each in decisions
        }
        return plan(self.state, now, IDENTIFIERS, Facts([], about, {}), requests, settle_overdue=False)


@pytest.fixture
def log():
    log = Log(reward_wait=60.0, default_reward=0.0)
    log.append(changes.arm_changes(log.state, 1.0, ["red", "green"]))
    return log


def decide(log, now, number=1):
    return log.append(log.plan(now, Decide(number)).events)


def test_nothing_changes_until_events_are_applied(log):
    before = log.state.snapshot().to_bytes()
    made = log.plan(2.0, Decide(3))
    assert [event.arm for event in made.events] == [0, 1, 0]
    assert [event.seq for event in made.events] == [3, 4, 5]
    reasons = [choice.why for choice in made.outcomes[0]]
    assert reasons == ["never tried", "never tried", "every arm waits for its first reward: the least shown"]
    assert log.state.snapshot().to_bytes() == before


def test_a_restricted_choice_is_logged(log):
    events = log.plan(2.0, Decide(among=["green"])).events
    assert json.loads(events[0].among) == [1]


def test_rewards_of_decisions_that_wait_and_of_those_in_the_log(log):
    first, second = decide(log, 2.0, 2)
    (rewarded,) = log.append(log.plan(3.0, Reward(first.decision, 1.0)).events)
    assert rewarded == Event(5, "rewarded", 3.0, 0, target=3, value=1.0)
    assert log.plan(4.0, Reward(first.decision, 1.0)) == Plan([], [False])
    made = log.plan(4.0, All.rewards([(second.decision, 0.0), (first.decision, 0.5)]))
    assert made.events == []
    assert isinstance(made.outcomes[0], RewardConflict)
    assert "already has the reward 1.0, so it cannot have 0.5" in str(made.outcomes[0])
    assert made.outcomes[0].value == 0.5
    (refused,) = log.plan(4.0, Reward("token-99-ffff", 1.0)).outcomes
    assert isinstance(refused, UnknownDecision)
    assert refused.value == "token-99-ffff"


def test_what_is_refused_leaves_nothing_behind(log):
    """Neither its events nor what they would have counted for."""
    log.append(changes.setting_changes(log.state, 1.5, {"max_exposures": 2}))
    first, second = decide(log, 2.0, 2)
    refused = All((Shown(first.decision), Shown("token-99-ffff")))
    made = log.plan(3.0, Decide(3), Decide(2), refused, Shown(first.decision), Reward(second.decision, 1.0))
    assert [type(each) for each in made.outcomes] == [NoArms, list, UnknownDecision, bool, bool]
    assert [(event.seq, event.kind) for event in made.events] == [
        *((6, "decided"), (7, "decided"), (8, "shown"), (9, "rewarded"))
    ]


def test_what_is_overdue_depends_on_the_time_given(log):
    decide(log, 2.0)
    decide(log, 10.0)
    assert changes.expiry(log.state, 61.9) == []
    assert [event.target for event in changes.expiry(log.state, 62.0)] == [3]
    assert [event.target for event in changes.expiry(log.state, 70.0)] == [3, 4]


def test_exposures(log):
    (decision,) = decide(log, 2.0)
    made = log.plan(3.0, All((Shown(decision.decision),) * 2))
    assert made.outcomes == [1]
    log.append(made.events)
    assert log.plan(4.0, Shown(decision.decision)) == Plan([], [False])


def test_errors_name_users_texts_as_they_are(log):
    log.append(changes.arm_changes(log.state, 2.0, ["{among}"], ["{among}"]))
    unknown, nothing = log.plan(3.0, Decide(among=["{amon}"]), Decide(among=[])).outcomes
    assert isinstance(unknown, UnknownArm)
    assert str(unknown) == "bandit 'hero' has no arm '{amon}'; did you mean '{among}'?"
    assert isinstance(nothing, NoArms)
    assert nothing.name == "among"
    assert nothing.text(lambda name: f"--{name}").endswith("or leave --among out for all")
