"""The simulated world: our own seeds hold, a seed replays exactly, and bugs that are planted are found."""

import pytest

from rotting.bandit import groups
from rotting.bandit.commit import Commits
from rotting.bandit.core import planning
from rotting.bandit.core import state as state_module
from rotting.bandit.core.pending import PendingDecisions
from rotting.bandit.core.state import BanditState
from rotting.bandit.log import compacting, snapshotting
from rotting.bandit.log.event_log import EventLog
from rotting.bandit.log.snapshotting import row_of
from rotting.bandit.log.stored import StoredLog
from rotting.bandit.store.contract import Batch
from rotting.testing import simulator
from rotting.testing.clients import OPERATIONS
from rotting.testing.memory import MemoryStore
from rotting.testing.world import FAULTS

SEEDS = 100
ENOUGH = 300  # seeds within which a bug is found


def test_seeds_hold():
    assert [words for _, words, _ in simulator.failures(range(SEEDS)) if words is not None] == []


@pytest.mark.soak
@pytest.mark.parametrize("company", [False, True])
def test_many_seeds_hold(company):
    seeds = range(SEEDS, 10_000)
    assert [seed for seed, words, _ in simulator.failures(seeds, jobs=2, company=company) if words is not None] == []


def test_a_seed_replays_exactly_and_much_happens_in_it():
    first, again = (simulator.play(7, simulator.steps_of(7)) for _ in range(2))
    assert first == again
    happened = sum((simulator.fails(seed)[2] for seed in range(20)), first[1])
    assert {f"{what} at {point}" for what in FAULTS for point in ("append", "written")} <= set(happened)
    assert {f"{what} during {doing}" for what in FAULTS for doing in ("open", "decide", "again", "reward")} <= set(
        happened
    )
    assert set(OPERATIONS) | {"unknown", "not written"} <= set(happened)


def test_seeds_hold_in_company():
    """Coroutines share a line and some of them give up; processes start while others work."""
    assert [words for _, words, _ in simulator.failures(range(SEEDS), company=True) if words is not None] == []
    first, again = (simulator.play(7, simulator.steps_of(7, company=True)) for _ in range(2))
    assert first == again
    happened = sum((simulator.fails(seed, company=True)[2] for seed in range(10)), first[1])
    assert {"start", "together", "given up at append", "given up at written"} <= set(happened)


def test_outcomes_of_who_gave_up_are_not_given_to_others(monkeypatch):
    def without_them(group):
        outcomes = iter(group._found.plan.outcomes)
        for ticket in group._found.tickets:
            if not ticket.abandoned:
                ticket.settle([next(outcomes) for _ in ticket.requests])

    monkeypatch.setattr(groups.Group, "deliver", without_them)
    assert any(words is not None for _, words, _ in simulator.failures(range(ENOUGH), company=True))


def leaves_the_others_claimed(monkeypatch):
    """Whoever shared a transaction with a caller that had no time left is not carried out by anybody else."""

    def forgotten(commits, logs):
        for log in logs:
            commits._unfinished.pop(log, None)

    monkeypatch.setattr(Commits, "_dissolve", forgotten)


def tells_all(monkeypatch):
    """What is wrong with one bandit is told to everybody who shares its transaction."""
    tell = Commits._tell

    def everybody(commits, logs, error):
        tell(commits, commits.line.waiting(), error)

    monkeypatch.setattr(Commits, "_tell", everybody)


def carries_out_a_key_twice(monkeypatch):
    """Two requests with one key, in one transaction, are both planned."""
    decide = planning._Draft._decide

    def forgets(draft, request):
        choices = decide(draft, request)
        if request.key not in draft._before:
            del draft._keyed[request.key]
        return choices

    make = planning._Draft.__init__

    def knows(draft, state, now, identifiers, facts):
        make(draft, state, now, identifiers, facts)
        draft._before = {None, *facts.keyed}

    monkeypatch.setattr(planning._Draft, "__init__", knows)
    monkeypatch.setattr(planning._Draft, "_decide", forgets)


@pytest.mark.parametrize(
    "plant", [leaves_the_others_claimed, tells_all, carries_out_a_key_twice], ids=lambda plant: plant.__name__
)
def test_a_planted_bug_is_found_in_company(monkeypatch, plant):
    plant(monkeypatch)
    assert any(words is not None for _, words, _ in simulator.failures(range(ENOUGH), company=True))


def test_what_fails_for_one_bandit_fails_for_no_other(monkeypatch):
    monkeypatch.setattr(Commits, "_planned", lambda commits, group: group.batch())
    assert any(words is not None for _, words, _ in simulator.failures(range(ENOUGH), company=True))


def acknowledges_early(monkeypatch):
    """What is appended is acknowledged before it is there."""
    monkeypatch.setattr(MemoryStore, "append", lambda self, batches: self.place.fault("append") or set(batches))


def forgets_lost_answers(monkeypatch):
    """Whether an earlier attempt is in the log is not looked at."""
    monkeypatch.setattr(groups.Group, "_is_in_log", lambda self, attempt: False)


def says_not_written(monkeypatch):
    """An attempt whose answer was lost is forgotten in the error."""
    monkeypatch.setattr(groups, "doubted", lambda error, ticket: error)


def takes_expiry_for_decisions(monkeypatch):
    """What settles the overdue is taken for what was asked."""
    monkeypatch.setattr(groups.Group, "_only_settles", lambda self, attempt: False)


def has_no_fence(monkeypatch):
    """A writer who knows an old state is accepted."""
    monkeypatch.setattr(MemoryStore, "_is_next", lambda self, bandit, batch: True)


def applies_twice(monkeypatch):
    """Events of our own are applied, and applied again."""
    applied = EventLog.applied

    def twice(log, events):
        applied(log, events)
        for event in events:
            log.state.apply(event)

    monkeypatch.setattr(EventLog, "applied", twice)


def loses_a_reward(monkeypatch):
    """A reward is acknowledged, and left out of the batch."""
    batch = groups.Group.batch

    def without_rewards(group):
        made = batch(group)
        if made is None or len(made.events) < 2:
            return made
        return Batch(made.events[:-1], made.seq, made.at)

    monkeypatch.setattr(groups.Group, "batch", without_rewards)


def miscounts_pulls(monkeypatch):
    """A shown decision counts as another exposure in memory, and not in a replay."""
    shown = BanditState._shown
    calls = []

    def sometimes(state, event):
        calls.append(event)
        shown(state, event)
        if len(calls) % 3 == 0:
            state.in_flight[event.arm] += 1

    monkeypatch.setitem(state_module._APPLY, "shown", sometimes)


def compacts_what_is_late(monkeypatch):
    """A seal does not know the settled decisions that later events are about."""
    monkeypatch.setattr(compacting, "_late", lambda *given: PendingDecisions())
    monkeypatch.setattr(compacting, "_is_known", lambda *given: True)


def applies_nothing(monkeypatch):
    """Events of our own are left for the next time that the log is read."""
    monkeypatch.setattr(EventLog, "applied", lambda log, events: None)


def forgets_keys(monkeypatch):
    """Keys are not looked up any more once the log was compacted."""
    question = StoredLog.question
    monkeypatch.setattr(
        StoredLog,
        "question",
        lambda log, decisions, keys, sealed: question(log, decisions, () if sealed else keys, sealed),
    )


def dates_snapshots_forward(monkeypatch):
    """The row of a snapshot says that it includes one event more than it does."""
    monkeypatch.setattr(snapshotting, "row_of", lambda seq, content: row_of(seq + 1, content))


def forgets_what_waited(monkeypatch):
    """Decisions that waited when the log was compacted are not looked up in the seal once they have a reward."""
    question = StoredLog.question
    monkeypatch.setattr(
        StoredLog,
        "question",
        lambda log, decisions, keys, sealed: question(log, [each for each in decisions if each > sealed], keys, sealed),
    )


def takes_rewards_twice(monkeypatch):
    """A reward that is given again is said to be new again."""
    reward = planning._Draft._reward
    monkeypatch.setattr(planning._Draft, "_reward", lambda draft, *given: reward(draft, *given) or True)


MUTANTS = [
    applies_nothing,
    dates_snapshots_forward,
    forgets_what_waited,
    takes_rewards_twice,
    forgets_keys,
    acknowledges_early,
    forgets_lost_answers,
    says_not_written,
    takes_expiry_for_decisions,
    has_no_fence,
    applies_twice,
    loses_a_reward,
    miscounts_pulls,
    compacts_what_is_late,
]


@pytest.mark.parametrize("plant", MUTANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(monkeypatch, plant):
    plant(monkeypatch)
    assert any(words is not None for _, words, _ in simulator.failures(range(ENOUGH)))
