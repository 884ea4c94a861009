"""One run of a result, played again, to see what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting.errors import BadValue, RottingError
from rotting.policies import Explanation, Policy, parse_policy
from rotting.problems import Problem, parse_problem
from rotting.simulation.significance import label_among
from rotting.simulation.simulator import Game, finished

if TYPE_CHECKING:
    import xarray


class Replay(NamedTuple):
    """A run, round by round; `explanations` are those of some rounds, where the policy gives any."""

    policy: str
    arms: np.ndarray  # int64 (rounds,): the arm of each pull
    rewards: np.ndarray  # float64 (rounds,)
    explanations: dict[int, Explanation]


def replay(policy: Policy, problem: Problem, horizon: int, seed: int = 0, number: int = 0, explain: int = 0) -> Replay:
    """Play a run as `rotting.simulate` does, and ask the policy why.

    Parameters
    ----------
    policy, problem, horizon, seed, number
        Which run.
    explain
        In how many rounds, evenly spaced, to ask the policy why.

    Examples
    --------
    >>> import rotting
    >>> played = replay(rotting.FEWA(), rotting.problems.two_arm(L=2), horizon=40, explain=4)
    >>> len(played.arms), list(played.explanations)
    (40, [10, 20, 30, 40])
    """
    game = Game(policy, problem, horizon, 1, seed, 1, number, trace=("actions", "rewards"))
    [_] = finished([game])
    (arms,), (rewards,) = game.traces["actions"][0].astype(np.int64), game.traces["rewards"][0]
    informed = policy.informed(problem, horizon)
    explanations = {}
    if informed.explains:
        agent = informed.start(problem.n_arms, seed)
        asked = set(np.linspace(0, horizon, min(explain, horizon) + 1).astype(int)[1:].tolist())
        for t, (arm, reward) in enumerate(zip(arms.tolist(), rewards.tolist(), strict=True), start=1):
            if t in asked:
                explanations[t] = agent.explain()
            agent.update(arm, reward)
    return Replay(str(policy), arms, rewards, explanations)


def replay_of(
    dataset: xarray.Dataset, policy: str | None, number: int, problem: Problem | None = None, explain: int = 0
) -> Replay:
    """Play a run of a result again, and check that it is the same one.

    Parameters
    ----------
    dataset
        What `rotting.simulate` returned, or `rotting.open_results` for one problem.
    policy
        Its label in the result (None: the first).
    number
        The number of the run.
    problem
        What was played on; None: what the result's `problem` attribute describes, if it describes one.
    """
    labels = [str(label) for label in dataset["policy"].values]
    label = labels[0] if policy is None else label_among(labels, policy, "policy")
    if number not in dataset["run"].values:
        raise BadValue("is not in this result", name="run", value=number, expected=f"one of {dataset['run'].values}")
    try:
        rule = parse_policy(dataset.attrs["policies"].split("\n")[labels.index(label)])
        played_on = parse_problem(str(dataset.attrs["problem"])) if problem is None else problem
    except RottingError as error:
        raise BadValue(
            f"only what a text describes can be played again: {error}", hint="pass a problem of your own as {problem}"
        ) from None
    played = replay(rule, played_on, int(dataset.attrs["horizon"]), int(dataset.attrs["seed"]), number, explain)
    counts = np.bincount(played.arms, minlength=played_on.n_arms)
    if not np.array_equal(counts, dataset["pulls"].sel(policy=label, run=number).values):
        raise BadValue(
            "the run played again is another one: its pulls differ",
            hint="pass the problem it was played on as {problem}; other versions of rotting may play other runs",
        )
    return played._replace(policy=label)
