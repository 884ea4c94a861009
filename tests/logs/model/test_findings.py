"""Which arms are called, on which evidence, and what no log can say."""

import dataclasses

import numpy as np
import pandas
import pytest

from rotting.logs import make_log
from rotting.logs.model import findings as findings_module
from rotting.logs.model import within as within_module
from rotting.logs.model.findings import (
    LAUNCHES,
    NONE,
    OWN,
    detectable_loss,
    find_wear_out,
)
from rotting.logs.model.launches import CALENDAR, CANNOT_TELL, EXPOSURE
from rotting.logs.model.placebos import play_placebos
from rotting.logs.read.reading import read_log
from small_panels import SLICES, before, clicks, log_of, staggered

SITE = np.linspace(1.2, 0.7, SLICES)
LEVELS = np.array([1.0, 1.3, 0.7, 1.1, 0.9])[:, None]


def found(rate, shown, seed):
    rate, shown = np.broadcast_arrays(rate, shown)
    return find_wear_out(log_of(shown, clicks(rate, shown, seed)))


def one_of_five(seed, keeps):
    shown = np.full((5, SLICES), 500)
    falls = np.ones((5, SLICES))
    falls[-1] = keeps ** (before(shown)[-1] / shown[-1].sum())
    return found(0.1 * LEVELS * SITE * falls, shown, seed)


def test_one_falling_arm_is_called_on_evidence_of_its_own():
    """To 30 % on 600 rewards, five logs: beside steady arms launched together, which are the best evidence there is."""
    findings = [one_of_five(seed, 0.3) for seed in range(5)]
    assert sum(each.evidence[-1] == OWN for each in findings) >= 4
    assert sum(any(each.evidence[:-1]) for each in findings) <= 1
    assert all(not each.together.tells for each in findings)


def test_staggered_wear_is_called_on_evidence_of_launches():
    shown = staggered(6, SLICES, 1000)
    findings = found(0.1 * np.exp(-1.5 * before(shown) / 16_000), shown, 1)
    assert set(findings.evidence) == {LAUNCHES}
    assert findings.worn.all()
    assert not findings.alike


def test_what_is_called_by_itself_and_what_with_the_others_is_told_apart():
    shown = staggered(6, SLICES, 2000)
    fall = np.where(np.arange(6) == 0, 2.4, 1.2)[:, None]
    findings = found(0.1 * np.exp(-fall * before(shown) / 32_000), shown, 1)
    assert findings.evidence[0] == OWN
    assert findings.evidence.count(LAUNCHES) >= 3


def test_arms_that_fall_together_are_not_called_whatever_they_lose():
    findings = found(0.1 * 0.2 ** (np.arange(SLICES) / SLICES), np.full((6, SLICES), 1000), 1)
    assert not findings.worn.any()
    assert findings.driver == CANNOT_TELL
    assert findings.common_fall > 5
    assert "launched together or shown at one pace" in findings.driver_reason


def test_few_steady_logs_have_a_call():
    """24 logs beside a falling site, half of them staggered. More than 6 calls have probability 0.01 at 10 %."""
    calls = 0
    for seed in range(24):
        shown = staggered(5, SLICES, 400) if seed % 2 else np.full((5, SLICES), 300)
        calls += bool(found(0.1 * LEVELS * SITE, shown, seed).worn.any())
    assert calls <= 6


ARMS, SHOWN = 38, 16  # and slices: about 10 000 rows, as of a small archive
CELLS = [(arm, piece) for arm in (0, 37) for piece in (0, 1, 7, 15)]


@pytest.mark.parametrize("rewards", [1, 2, 3])
@pytest.mark.parametrize("clicks_beside", [0, 46])
def test_a_few_rewards_in_any_cell_never_decide(rewards, clicks_beside):
    shown = np.full((ARMS, SLICES), SHOWN)
    earned = np.zeros(ARMS * SLICES)
    earned[np.random.default_rng(1).choice(earned.size, clicks_beside, replace=False)] = 1
    for arm, piece in CELLS:
        own = earned.reshape(shown.shape).copy()
        own[arm, piece] += rewards
        findings = find_wear_out(log_of(shown, own))
        assert not findings.worn.any(), (arm, piece)
        assert not findings.testable.any()


def test_a_reward_that_comes_or_goes_does_not_undo_a_call_nor_make_one():
    """No click decides: neighbours of a called log and of one that is not say the same."""
    shown = np.full((5, SLICES), 500)
    for keeps, called in ((0.25, True), (1.0, False)):
        falls = np.ones((5, SLICES))
        falls[-1] = keeps ** (before(shown)[-1] / 8000)
        earned = clicks(0.1 * LEVELS * SITE * falls, shown, 3)
        for piece in (0, 8, 15):
            changed = earned.copy()
            changed[-1, piece] += 1
            assert find_wear_out(log_of(shown, changed)).worn[-1] == called


def thinned(seed, arms=1, left=0.4):
    """Return a log of ten steady arms of 300 clicks, and some of them with clicks thinned to 40 % over it."""
    generator = np.random.default_rng(seed)
    level = np.exp(0.3 * generator.standard_normal(10))[:, None]
    shown = np.full((10, SLICES), 400)
    earned = clicks(0.05 * level * (1 + 0.2 * np.sin(np.arange(SLICES))), shown, seed)
    able = np.flatnonzero(earned.sum(axis=1) >= 200)
    worn = generator.choice(able, arms, replace=False)
    share = before(shown)[worn] / 6400
    earned[worn] = generator.binomial(earned[worn], left**share)
    return log_of(shown, earned), worn


def test_spiked_logs_are_called_and_the_right_arms():
    """12 logs: fewer than 4 with a call have probability 0.02 at a power of a half (z is about 3)."""
    hits = false = 0
    for seed in range(12):
        log, worn = thinned(seed)
        called = find_wear_out(log).worn
        hits += bool(called[worn].all())
        false += int(called.sum() - called[worn].sum())
    assert hits >= 4
    assert false <= 0.05 * 12 * 9


def test_rising_arms_are_found_and_not_called():
    shown = staggered(6, SLICES, 1500)
    rise = np.where(np.arange(6) < 2, 1.5, 0.0)[:, None]
    findings = found(0.03 * np.exp(rise * before(shown) / 24_000), shown, 2)
    assert findings.rising[:2].all()
    assert not findings.worn[:2].any()
    assert not (findings.rising & findings.worn).any()


def test_a_steady_arm_beside_rising_ones_must_fall_by_itself_too():
    """Seen from the others it does. By itself a quarter do by chance: of 24, more than 11 have probability 0.01."""
    rise = np.where(np.arange(5) == 4, 0.0, 1.2)[:, None]
    calls = 0
    for seed in range(24):
        findings = found(0.03 * np.exp(rise * np.arange(SLICES) / SLICES), np.full((5, SLICES), 1000), seed)
        assert findings.within.falling[-1] < 0.01
        calls += bool(findings.worn[-1])
    assert calls <= 11


def test_steady_arms_launched_after_worn_ones_are_not_called_with_them():
    """Three early arms fall, three late ones do not: seen from a site that rises they do, by themselves they do not.

    Of 18 steady arms, more than 4 have probability 0.03 at 10 %.
    """
    shown, calls = staggered(6, SLICES, 2000), np.zeros(6)
    fall = np.where(np.arange(6) < 3, 3.0, 0.0)[:, None]
    for seed in range(6):
        calls += found(0.1 * np.exp(-fall * before(shown) / 32_000), shown, seed).worn
    assert calls[:3].sum() >= 4
    assert calls[3:].sum() <= 4


@pytest.mark.parametrize("noise", [300, 900])
def test_arms_that_stay_are_not_called_where_launches_call_those_that_fall(noise):
    generator, parts = np.random.default_rng(2), []
    for arm in range(6):
        number = np.arange(3000)
        level = 900.0 * (1.0 + 0.1 * arm) * (np.exp(-number / 900) if arm < 3 else 1.0)
        reward = level + generator.normal(0, noise, 3000)
        parts.append(pandas.DataFrame({"arm": f"a{arm}", "reward": reward, "time": number + 700 * arm}))
    findings = find_wear_out(read_log(pandas.concat(parts).sort_values("time")))
    assert findings.together.called(findings.testable)[3:].all()  # as if a site that rises hid what they lose
    assert findings.worn.tolist() == [True] * 3 + [False] * 3


@pytest.mark.parametrize("unlikely", ["order", "launches"])
def test_no_call_stands_that_placebos_do_as_well(unlikely, monkeypatch):
    def as_by_chance(*given):
        return dataclasses.replace(play_placebos(*given), **{unlikely: 0.2})

    evidence = {"order": OWN, "launches": LAUNCHES}[unlikely]
    shown = staggered(6, SLICES, 2000)
    fall = np.where(np.arange(6) == 0, 2.4, 1.2)[:, None]
    rate = 0.1 * np.exp(-fall * before(shown) / 32_000)
    assert evidence in found(rate, shown, 1).evidence
    monkeypatch.setattr(findings_module, "play_placebos", as_by_chance)
    assert evidence not in found(rate, shown, 1).evidence


def test_no_call_stands_that_one_slice_makes(monkeypatch):
    assert one_of_five(1, 0.3).evidence[-1] == OWN
    monkeypatch.setattr(within_module, "without_any_slice", lambda *_: 0.11)
    assert one_of_five(1, 0.3).evidence[-1] != OWN


def test_p_values_of_arms_of_too_few_rewards_are_1():
    shown = staggered(6, SLICES, 1000)
    shown[5] = np.minimum(shown[5], 8)
    findings = found(0.1 * np.exp(-1.5 * before(shown) / 16_000), shown, 1)
    assert findings.together.tells
    assert findings.together.falling[5] < 0.05
    assert (findings.testable[5], findings.falling[5]) == (False, 1.0)


def test_a_drop_at_once_is_no_wear():
    value = np.ones((5, SLICES))
    value[-1, 9:] = 0.3
    findings = found(0.1 * LEVELS * SITE * value, np.full((5, SLICES), 600), 1)
    assert findings.within.sure_jumps[-1]
    assert findings.evidence[-1] == NONE


@pytest.mark.parametrize("seed", range(3))
def test_arms_that_fall_fast_on_busy_days_do_not_seem_to_drop(seed):
    """Well known, staggered, bursty, and exactly exponential: what the others do must not look like a jump of one."""
    log = read_log(make_log(arms=4, exposures=1500, sigma=1.0, start=3.0, end=1.0, seed=seed))
    findings = find_wear_out(log)
    assert findings.driver == EXPOSURE
    assert not findings.within.sure_jumps.any()
    assert findings.worn.all()


def test_effects_of_the_generator_are_told_apart():
    """Launched at other times and bursty, wear-out is seen, and no calendar is taken for it."""
    settings = {"arms": 6, "exposures": 2000, "sigma": 1.0, "start": 3.0, "end": 2.0}
    worn, calendar = (
        find_wear_out(read_log(make_log(effect=effect, seed=5, **settings))) for effect in ("wear-out", "calendar")
    )
    assert worn.driver == EXPOSURE
    assert worn.worn.all()
    assert calendar.driver in (CALENDAR, CANNOT_TELL)
    assert calendar.together.probabilities[CALENDAR] > 0.5
    assert not calendar.worn.any()


def test_rewards_that_never_change_say_nothing():
    frame = pandas.DataFrame({"arm": ["a", "b"] * 50, "reward": 1, "time": range(100)})
    findings = find_wear_out(read_log(frame))
    assert not findings.worn.any()
    assert findings.falling.tolist() == [1.0, 1.0]


def test_the_loss_that_a_log_can_see_is_seen_in_most_cases():
    """A loss that it calls detectable, in one of five arms: 20 logs; fewer than 9 calls have probability 0.02 at two
    thirds, and a quarter of the loss is seldom seen."""
    loss = detectable_loss(one_of_five(0, 1.0))
    assert 0.3 < loss < 0.6
    assert sum(one_of_five(seed, 1 - loss).evidence[-1] == OWN for seed in range(20)) >= 9
    assert sum(one_of_five(seed, (1 - loss) ** 0.25).evidence[-1] == OWN for seed in range(20)) <= 6


def test_logs_that_show_nothing_have_no_such_loss():
    assert detectable_loss(found(0.001, np.full((5, SLICES), 20), 1)) is None


def test_wandering_that_is_seen_is_told_from_that_which_is_possible():
    generator = np.random.default_rng(1)
    noise = generator.standard_normal((5, SLICES + 3))
    wander = sum(noise[:, place : place + SLICES] for place in range(4)) / 2
    wanders = found(0.1 * SITE * np.exp(0.6 * wander), np.full((5, SLICES), 800), 1)
    assert wanders.wander > 0.2
    assert not found(0.1 * SITE, np.full((5, SLICES), 800), 1).wander
