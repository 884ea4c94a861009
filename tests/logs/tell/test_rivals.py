"""What else could be the cause, by name and size."""

import dataclasses
import re

import numpy as np

from rotting.logs.model.findings import LAUNCHES, OWN, find_wear_out
from rotting.logs.read.covariates import Covariate
from rotting.logs.tell.sentences import other_causes, rivals
from small_panels import SLICES, before, clicks, log_of, staggered

PLACE, BUDGET, CREATIVES = "their place on the page", "their budget or audience", "the creatives behind their names"


def findings_of(rate, shown, seed=1):
    return find_wear_out(log_of(shown, clicks(rate, shown, seed)))


def alone():
    shown = np.full((5, SLICES), 800)
    falls = np.ones((5, SLICES))
    falls[2] = 0.3 ** (before(shown)[2] / shown[2].sum())
    return findings_of(0.1 * falls, shown)


def with_columns(log, *covariates):
    return dataclasses.replace(log, covariates=covariates)


def test_what_rests_on_launches_says_its_assumption_and_how_much_would_undo_it():
    shown = staggered(6, SLICES, 1000)
    findings = findings_of(0.1 * np.exp(-1.5 * before(shown) / 16_000), shown)
    assert set(findings.evidence) == {LAUNCHES}
    [text] = rivals(findings)
    assert "newer arms that are as good at first as older ones were (exchangeable launches)" in text
    better, least = map(int, re.search(r"better by (\d+)% \(at least (\d+)%\)", text).groups())
    # From the first launch to the last lie 5/12 of the log, in which an arm keeps exp(-1.5 * 5 / 12): a gain of 87 %.
    assert 0 < least < 87 < 2.2 * better
    assert re.search(r"levels of the arms of this log differ by about \d+%", text)


def test_what_rests_on_an_arms_own_course_says_what_would_look_the_same_and_how_large():
    """It keeps 30 %: a rival would have to take 70 % away."""
    findings = alone()
    assert findings.evidence.count(OWN) == 1
    [text] = rivals(findings)
    for cause in (PLACE, BUDGET, CREATIVES):
        assert cause in text
    away, least = map(int, re.search(r"take away (\d+)% of its rewards \(at least (\d+)%\)", text).groups())
    assert least < 70 < away + 20
    assert away > least


def test_columns_that_settle_a_cause_take_it_out_of_the_sentence():
    log = alone().log
    assert other_causes(log) == f"{PLACE}, {BUDGET} or {CREATIVES}"
    unmoved = with_columns(log, Covariate("position", "position", varies=False))
    stratum = with_columns(log, Covariate("device", "segment", varies=True))
    assert other_causes(unmoved) == f"{BUDGET} or {CREATIVES}"
    assert other_causes(stratum) == f"{PLACE} or {CREATIVES}"
    both = with_columns(log, *unmoved.covariates, *stratum.covariates)
    assert other_causes(both) == CREATIVES


def test_budgets_that_vary_settle_nothing():
    """They cannot be strata."""
    log = with_columns(alone().log, Covariate("spend", "spend", varies=True))
    assert BUDGET in other_causes(log)
    assert BUDGET not in other_causes(with_columns(log, Covariate("spend", "spend", varies=False)))


def test_users_compared_with_themselves_have_no_such_rivals():
    log = alone().log
    per_unit = dataclasses.replace(log, columns=dataclasses.replace(log.columns, unit="user"))
    assert other_causes(per_unit) == ""


def test_where_nothing_is_called_nothing_is_undone():
    findings = findings_of(0.1 * np.ones((5, SLICES)), np.full((5, SLICES), 400), 2)
    assert not findings.worn.any()
    assert list(rivals(findings)) == []
