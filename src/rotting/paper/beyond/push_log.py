"""Rules for notifications, learnt from a log of uniform choices and judged by later rows of it.

What is judged is the next decision of a rule, given what the log's users have seen (one step): not what running it
would earn, which changes what users have seen.
"""

from __future__ import annotations

import ast
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rotting.errors import BadValue, MissingExtra
from rotting.policies import RecoveringSoftmax
from rotting.policies.recovering_softmax import RecoveringSoftmaxState, score
from rotting.problems import push
from rotting.problems.uniform_log import UniformLog, uniform_log

if TYPE_CHECKING:
    import pyarrow

COLUMNS = ("datetime", "ui_language", "eligible_templates", "history", "selected_template", "session_end_completed")
TEMPLATES = "ABCDEFGHIJKL"
TRAINING_DAYS = 15.0  # of the published log, which has 34
ROWS = 1 << 18  # that are in memory at a time
LEARNT, JUDGED = 12 * ROWS, ROWS  # rounds of a log that is made: to learn from, and to judge by


class Rule(NamedTuple):
    """How to choose: by the scores of a policy learnt from the log, or without any."""

    policy: RecoveringSoftmax | None
    again: bool = False  # the template that the user saw last
    by_language: bool = False


_NONE = RecoveringSoftmax()
# Their Table 6 has "uniform", "templates", "templates and languages" and "recency", with the best arm instead of the
# softmax and without a prior. What is naive is ours.
_BEST: dict[str, Any] = {"tau": 1e-9, "prior": 0.0}
RULES = {
    "uniform": Rule(None),
    "last template again": Rule(None, again=True),
    "rates": Rule(RecoveringSoftmax(gamma=0.0, rates=True, **_BEST)),
    "lifts": Rule(RecoveringSoftmax(gamma=0.0, **_BEST)),
    "lifts by language": Rule(RecoveringSoftmax(gamma=0.0, **_BEST), by_language=True),
    "lifts, recency": Rule(RecoveringSoftmax(**_BEST)),
    "lifts by language, recency": Rule(RecoveringSoftmax(**_BEST), by_language=True),
    "softmax of lifts, recency": Rule(RecoveringSoftmax(prior=0.0)),
}
PUBLISHED = {
    "uniform": 0.1295,
    "last template again": 0.1289,
    "lifts": 0.1311,
    "lifts by language": 0.1318,
    "lifts by language, recency": 0.1320,
}


class Part(NamedTuple):
    """Some rows of a log, and what else is known of them."""

    log: UniformLog
    days: np.ndarray
    languages: np.ndarray


def sums_of(log: UniformLog) -> np.ndarray:
    """Return what `RecoveringSoftmaxState` adds up, in its order: sent, kept, offered, as (8, K)."""
    rows, n_arms = np.arange(len(log.chosen)), log.eligible.shape[1]
    sent = np.zeros_like(log.eligible)
    sent[rows, log.chosen] = True
    chance, rewards, found = 1 / log.choices, log.rewards, []
    for which, weights in ((sent, 1 / chance), (log.eligible & ~sent, 1 / np.maximum(1 - chance, 1e-9))):
        found += [each @ which for each in (weights, weights * rewards, weights**2)]
    found += [np.ones(len(rows)) @ log.eligible, rewards @ log.eligible]
    return np.array(found).reshape(8, n_arms)


def scores_of(policy: RecoveringSoftmax, sums: np.ndarray) -> np.ndarray:
    """Return the scores that a policy has after such sums."""
    fresh = policy.initial_state(sums.shape[1])
    state = RecoveringSoftmaxState(**{**fresh._asdict(), "sent": sums[:3], "kept": sums[3:6], "offered": sums[6:]})
    return np.array([score(state, arm) if sums[6, arm] else 0.0 for arm in range(sums.shape[1])])


def chances(rule: Rule, scores: np.ndarray, log: UniformLog) -> np.ndarray:
    """Return the probability of each arm in each round; `scores` has a row for each round, or one for all."""
    if rule.policy is None:
        last = np.where(log.eligible & np.isfinite(log.rest), log.rest, np.inf).argmin(axis=1) if rule.again else None
        found = log.eligible / log.choices[:, None]
        if last is not None:
            seen = np.isfinite(np.where(log.eligible, log.rest, np.inf)).any(axis=1)
            found[seen] = np.eye(log.eligible.shape[1])[last[seen]]
        return found
    policy = rule.policy
    raised = (scores - policy.gamma * 0.5 ** (log.rest / policy.half_life)) / policy.tau
    raised = np.where(log.eligible, raised, -np.inf)
    weights = np.exp(raised - raised.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def expected(log: UniformLog, found: np.ndarray) -> float:
    """Return the expected reward of a log's rounds, each arm having these probabilities."""
    assert log.means is not None
    return float((found * log.means).sum(axis=1).mean())


@cache
def on_generated(runs: int, seed: int) -> dict[str, np.ndarray]:
    """Return the expected reward of each rule's next decision, on later rows of `runs` generated logs."""
    problem, values = push(), defaultdict(list)
    for run in range(runs):
        parts, sums = uniform_log(problem, LEARNT + JUDGED, seed, run, ROWS), np.zeros((8, problem.n_arms))
        for log in islice(parts, LEARNT // ROWS):
            sums += sums_of(log)
        rules = {name: rule for name, rule in RULES.items() if not rule.by_language}  # there is one
        scores = {name: scores_of(rule.policy or _NONE, sums) for name, rule in rules.items()}
        found = [[expected(log, chances(rules[name], scores[name], log)) for name in rules] for log in parts]
        for name, value in zip(rules, np.mean(found, axis=0), strict=True):
            values[name].append(value)
    return {name: np.array(each) for name, each in values.items()}


# The published log, or another of this form.


def read(path: Path) -> Iterator[Part]:
    """Yield the rows of a Parquet file, or of all those in a folder, some at a time."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise BadValue("has no Parquet files", name="data", value=str(path), expected="those of doi:10.7910/DVN/23ZWVI")
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("Parquet files are read with PyArrow", name="data", hint="install rotting[arrow]") from None
    for name in files:
        with parquet.ParquetFile(name) as file:
            if missing := {*COLUMNS} - {*file.schema_arrow.names}:
                expected = f"the columns {', '.join(COLUMNS)}"
                raise BadValue(f"has no column {min(missing)}", name="data", value=str(name), expected=expected)
            for batch in file.iter_batches(ROWS, columns=list(COLUMNS)):
                yield _part(batch, str(name))


def _part(batch: pyarrow.RecordBatch, name: str) -> Part:
    """Return rows as arrays."""
    days, languages, eligible, history, selected, rewards = (batch.column(each) for each in COLUMNS)
    shape = batch.num_rows, len(TEMPLATES)
    can, rest = np.zeros(shape, bool), np.full(shape, np.inf, np.float32)
    rows, templates = _flat(eligible)
    can[rows, _codes(templates, name)] = True
    rows, seen = _flat(history)
    if len(rows):
        since = np.asarray(seen.field(1).to_numpy(zero_copy_only=False), float)
        if not (since >= 0).all():
            raise BadValue("has a history without days", name="data", value=name, expected="days >= 0")
        np.minimum.at(rest, (rows, _codes(seen.field(0), name)), since)
    chosen = _codes(selected, name)
    if not can[np.arange(len(chosen)), chosen].all():
        raise BadValue("has rows whose selected template was not eligible", name="data", value=name)
    log = UniformLog(can, rest, chosen, np.array(rewards.to_pylist(), float))
    return Part(log, np.asarray(days.to_numpy(zero_copy_only=False), float), np.array(languages.to_pylist(), str))


def _flat(column: Any) -> tuple[np.ndarray, Any]:
    """Return the entries of lists, and the row of each."""
    from pyarrow import array, compute, types

    if not types.is_list(column.type) and not types.is_large_list(column.type):
        column = array([_parsed(value) for value in column.to_pylist()])
    counts = compute.fill_null(compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(counts)), counts), column.flatten()


def _parsed(text: str) -> list[Any]:
    """Return a list from a text: a copy of the log in circulation has lists as texts."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = ast.literal_eval(text)
    return [{"template": each[0], "n_days": each[1]} if isinstance(each, list | tuple) else each for each in found]


def _codes(templates: Any, name: str) -> np.ndarray:
    """Return the number of each template."""
    from pyarrow import array, compute, string

    codes = compute.index_in(templates.cast(string()), value_set=array([*TEMPLATES]))
    if codes.null_count:
        expected = f"templates {TEMPLATES[0]} to {TEMPLATES[-1]}"
        raise BadValue("has templates that cannot be read", name="data", value=name, expected=expected)
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)


class Verdict(NamedTuple):
    """What a rule would have earned in the next decision, by inverse propensities."""

    rule: str
    value: float
    gain: float  # over uniform, relative
    low: float
    high: float
    effective: float  # Kish's effective number of rows
    published: float | None


def on_file(path: Path, split: float = TRAINING_DAYS) -> list[Verdict]:
    """Learn from the rows before a day, and judge rules by those after it, with 95 % intervals.

    Intervals take rows for independent: the log does not say which are of one user.
    """
    by_language: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((8, len(TEMPLATES))))
    for part in read(path):
        before = part.days < split
        for language in np.unique(part.languages[before]):
            which = np.flatnonzero(before & (part.languages == language))
            by_language[language] += sums_of(part.log.rows(which))  # type: ignore[arg-type]
    if not by_language:
        raise BadValue(f"has no rows before day {split:g}", name="data", value=str(path))
    whole = sum(by_language.values(), np.zeros((8, len(TEMPLATES))))
    tallies = {name: _Tally(_scorer(rule, whole, by_language)) for name, rule in RULES.items()}
    for part in read(path):
        after = np.flatnonzero(part.days >= split)
        log, languages = part.log.rows(after), part.languages[after]  # type: ignore[arg-type]
        for name, tally in tallies.items():
            tally.add(log, chances(RULES[name], tally.scorer(languages), log))
    if not tallies["uniform"].count:
        raise BadValue(f"has no rows from day {split:g} on", name="data", value=str(path))
    return [tally.verdict(name) for name, tally in tallies.items()]


def _scorer(rule: Rule, whole: np.ndarray, by_language: dict[str, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return what gives the scores of rows in some languages; one that is new gets those of all."""
    if rule.policy is None:
        return lambda languages: np.zeros((1, len(TEMPLATES)))
    every = scores_of(rule.policy, whole)
    if not rule.by_language:
        return lambda languages: every[None]
    own = {language: scores_of(rule.policy, sums) for language, sums in by_language.items()}

    def scores(languages: Iterable[str]) -> np.ndarray:
        return np.array([own.get(str(language), every) for language in languages]).reshape(-1, len(TEMPLATES))

    return scores


class _Tally:
    """Sums over rows of one rule: of w, w^2, (w - 1) r and its square, r."""

    def __init__(self, scorer: Callable[[np.ndarray], np.ndarray]):
        self.scorer, self.count, self.sums = scorer, 0, np.zeros(5)

    def add(self, log: UniformLog, found: np.ndarray) -> None:
        """Add rows, given the probability of each arm."""
        weights = found[np.arange(len(log.chosen)), log.chosen] * log.choices
        more = (weights - 1) * log.rewards
        self.count += len(weights)
        self.sums += [each.sum() for each in (weights, weights**2, more, more**2, log.rewards)]

    def verdict(self, name: str) -> Verdict:
        """Return what it comes to."""
        count, (weights, squares, more, more_squared, rewards) = self.count, self.sums
        base, mean = rewards / count, more / count
        half = 1.96 * math.sqrt(max(more_squared / count - mean**2, 0.0) / count)
        gain, low, high = ((mean + change) / base if base else math.nan for change in (0.0, -half, half))
        effective = weights**2 / squares if squares else 0.0
        return Verdict(name, base + mean, gain, low, high, effective, PUBLISHED.get(name))
