"""Find good parameters for a policy: successive halving over a grid, on common random numbers."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping

import numpy as np

from rotting._core.validation import whole_number
from rotting._output.sheets import Sheet
from rotting.errors import BadValue
from rotting.play import place_for
from rotting.play.players import listed
from rotting.policies import Policy, PolicyLike
from rotting.policies._contract.policy import as_policy
from rotting.policies._contract.suited import mismatches, warn
from rotting.problems import Problem, ProblemLike
from rotting.problems.oracle import oracle_name
from rotting.simulation.paired import mean_interval
from rotting.simulation.simulator import Game, finished, told
from rotting.simulation.tables import oracle_note
from rotting.sweeps.plan import as_problem
from rotting.sweeps.ranking import scores, spread

WARNING = (
    "The choice was made on the very runs that these figures come from, so they are optimistically biased: judge it on "
    "other problems, or at least with another seed."
)
# Without a grid: the default of the policy's first number, times these.
_FACTORS = tuple(2.0**power for power in range(-4, 5))


@dataclasses.dataclass(frozen=True)
class Trial:
    """One candidate, and what is known of it."""

    policy: Policy
    runs: int  # how many it played before it was dropped; the finalists have all
    regret: tuple[float, ...]  # mean regret on each problem
    score: float  # mean over problems of regret, 0 being the best and 1 the average candidate's in their first runs


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What a search has found.

    `trials` begins with the best and ends with the first to be dropped. `lead_low` and `lead_high` are the ends of the
    paired 95 % interval of the runner-up's score minus the best one's: where it holds 0, the two are a tie.
    """

    trials: tuple[Trial, ...]
    problems: tuple[Problem, ...]
    lead_low: float | None
    lead_high: float | None
    oracles: tuple[str, ...]  # what regret is measured against on each problem
    left_out: tuple[str, ...] = ()  # problems on which all candidates have the same regret
    warning: str = WARNING

    @property
    def best(self) -> Policy:
        """The policy with the parameters found."""
        return self.trials[0].policy

    def table(self, form: str = "text") -> str:
        """Return the candidates, the best first, as "text", "markdown" or "latex"."""
        return tuning_sheet(self).written(form)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return tuning_sheet(self).html()


def tuning_sheet(found: Tuning) -> Sheet:
    """Return what a search has found as a table, with what is to be said of it."""
    numbers = ("runs", *(f"regret on {problem}" for problem in found.problems), "score")
    sheet = Sheet("", ("policy", *numbers), numbers)
    known = found.lead_low is not None
    tied = found.lead_low is not None and found.lead_low <= 0
    for place, trial in enumerate(found.trials):
        regrets = [f"{regret:,.4g}" for regret in trial.regret]
        bold = known and place <= tied
        sheet.add(str(trial.policy), str(trial.runs), *regrets, f"{trial.score:.3f}", bold=bold)
    sheet.notes += [
        "Score: mean over problems of regret, 0 being the best and 1 the average candidate's in their first runs.",
        *(f"Left out of it, as all candidates have the same regret: {problem}." for problem in found.left_out),
        oracle_note(dict(zip(map(str, found.problems), found.oracles, strict=True))),
        f"Best: {found.best!r}",
    ]
    if known:
        tie = " (a tie)" if tied else ""
        lead = f"{found.lead_low:+.3f} to {found.lead_high:+.3f}"
        sheet.notes.append(f"The runner-up's score is {lead} above (95 %, paired){tie}.")
    sheet.notes.append(f"Warning: {found.warning}")
    return sheet


def tune(
    policy: PolicyLike,
    problems: ProblemLike | Iterable[ProblemLike],
    grid: Mapping[str, Iterable[object]] | None = None,
    runs: int = 200,
    seed: int = 0,
    horizon: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    device: str = "cpu",
) -> Tuning:
    """Find good parameters for a policy over a set of problems.

    All candidates begin with a few runs, the same for all; again and again the better half goes on with twice as many,
    until two or three have played them all.

    Parameters
    ----------
    policy
        A policy such as `FEWA()`, or a text such as "FEWA"; parameters that are not in the grid stay as they are.
    problems
        What to play on, one or several.
    grid
        From a parameter's name to the values to try; several parameters are tried in all combinations. Default: the
        policy's first number, from a 16th to 16 times what it is.
    runs
        Runs that the finalists play, on each problem.
    seed, horizon, threads, progress, device
        As in `rotting.simulate`.

    Examples
    --------
    >>> from rotting import FEWA, problems
    >>> found = tune(FEWA(), problems.two_arm(L=2.0, horizon=500), grid={"alpha": [0.01, 0.1, 1.0]}, runs=20)
    >>> found.best
    FEWA(alpha=0.1, sigma=1.0, delta0=1.0)
    """
    policy = as_policy(policy)
    played = tuple(as_problem(problem) for problem in listed("problems", problems))
    candidates = expand(policy, default_grid(policy) if grid is None else grid)
    _warn_if_unsuited(candidates, played, horizon)
    runs, on = whole_number("runs", runs, minimum=1), place_for(device, threads)
    # So many halvings that two or three are left for the last and longest round.
    rounds = max((len(candidates) - 1).bit_length() - 1, 0)
    regret = np.empty((len(candidates), len(played), 0))
    scale: tuple[np.ndarray, np.ndarray] | None = None
    trials: list[Trial] = []
    for halvings_left in range(rounds, -1, -1):
        missing = range(regret.shape[2], max(runs >> halvings_left, min(runs, 2)))
        if missing:
            games = [Game(candidates, each, horizon, len(missing), seed, 1, missing.start) for each in played]
            with told(games, progress) as tell:
                list(finished(games, on, tell))
            more = np.stack([game.regret()[:, :, -1] for game in games], axis=1)
            regret = np.concatenate([regret, more], axis=2)
        scale = spread(regret.mean(axis=2).T) if scale is None else scale
        found = scores(regret.transpose(1, 0, 2), *scale)  # [candidate, run]
        order = np.argsort(found.mean(axis=1), kind="stable")
        keep = -(-len(candidates) // 2) if halvings_left else 0
        means, score = regret.mean(axis=2).tolist(), found.mean(axis=1).tolist()
        trials[:0] = [Trial(candidates[i], regret.shape[2], tuple(means[i]), score[i]) for i in order[keep:]]
        if halvings_left:
            candidates, regret = [candidates[index] for index in order[:keep]], regret[order[:keep]]
    assert scale is not None
    low, high = mean_interval(found[order[1]] - found[order[0]]) if len(order) > 1 else (None, None)
    oracles = tuple(oracle_name(each, each.horizon if horizon is None else horizon) for each in played)
    left_out = tuple(str(each) for each, above in zip(played, scale[1], strict=True) if math.isnan(above))
    return Tuning(tuple(trials), played, low, high, oracles, left_out)


def expand(policy: Policy, grid: Mapping[str, Iterable[object]]) -> list[Policy]:
    """Return the policy with every combination of the values of a grid."""
    known = [field.name for field in dataclasses.fields(policy)]
    for name in grid:
        if name not in known:
            kind, has = type(policy).__name__, ", ".join(known) or "none"
            raise BadValue(f"{{grid}} names {name!r}, which {kind} does not have", hint=f"its parameters are {has}")
    tried = [_values(name, values) for name, values in grid.items()]
    combinations = (dict(zip(grid, values, strict=True)) for values in itertools.product(*tried))
    return list(dict.fromkeys(dataclasses.replace(policy, **chosen) for chosen in combinations))


def _values(name: str, values: object) -> list[object]:
    """Return the values to try of a parameter: those of a list or of an array."""
    found = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values
    if not isinstance(found, Iterable) or isinstance(found, str | np.ndarray) or not (several := list(found)):
        raise BadValue(owner="grid", name=name, value=values, expected="a list of values, or an array")
    return several


def _warn_if_unsuited(tried: list[Policy], problems: tuple[Problem, ...], horizon: int | None) -> None:
    """Warn of what a policy is not made for, unless a parameter is searched that puts it right."""
    fields = [field.name for field in dataclasses.fields(tried[0])]
    searched = {name for name in fields if len({getattr(each, name) for each in tried}) > 1}
    found = [each for problem in problems for each in mismatches(tried[0], problem, horizon)]
    warn(each for each in found if not searched & set(each.parameters))


def default_grid(policy: Policy) -> dict[str, list[object]]:
    """Return values around what the policy's first positive number is, those that it accepts."""
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            continue
        values: list[object] = []
        for factor in _FACTORS:
            tried = round(value * factor) if isinstance(value, int) else value * factor
            try:
                values.append(getattr(dataclasses.replace(policy, **{field.name: tried}), field.name))
            except BadValue:
                continue  # beyond what the parameter may be
        return {field.name: values}
    raise BadValue(
        f"{policy} has no number to tune", hint="choose a policy that has one, or say with {grid} what to try"
    )
