"""What policies truly gain from now on, on arms whose worth is known: played, not estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
from worn_generators import World

from rotting.policies import FEWA, UCB1, Oracle
from rotting.problems import Problem
from rotting.problems.curves import as_curve
from rotting.simulation import simulate

MOST_ROUNDS = 2000  # decisions that the diagnosis plays ahead: beyond them a pull stands for several exposures
LATELY = 0.25  # the share of the log's time whose allocation is what would be kept


def true_gains(world: World, diagnosis: Any, seed: int, runs: int = 20) -> dict[str, float]:
    """Return the true gains over the allocation of the log's last quarter, per 1000 exposures, by policy."""
    names = [arm.arm for arm in diagnosis.arms]
    shares, start = lately(world.frame, names)
    batch = -(-diagnosis.gain_exposures // MOST_ROUNDS)
    rounds = max(diagnosis.gain_exposures // batch, 1)
    ahead = (np.arange(rounds) + 0.5) * batch
    on_offer = np.flatnonzero(shares > 0)
    numbers = [int(names[place].split()[-1]) - 1 for place in on_offer]
    tables = [world.value(arm, start[place] + ahead) for arm, place in zip(numbers, on_offer, strict=True)]
    sigma = diagnosis.sigma / batch**0.5
    noise = "bernoulli" if batch == 1 else "gaussian"
    problem = Problem(tuple(map(as_curve, tables)), noise=noise, sigma=sigma, horizon=rounds, allow_increasing=True)
    policies = {"FEWA": FEWA(sigma=sigma), "UCB1": UCB1(sigma=sigma), "oracle": Oracle()}
    played = simulate(policies, problem, runs=runs, seed=seed, rounds=1, progress=False)
    earned = float(played["oracle_reward"].values[-1]) - played["regret"].isel(round=-1).mean("run").values
    kept = sum(
        shares[place] * float(np.mean(world.value(arm, start[place] + shares[place] * ahead)))
        for arm, place in zip(numbers, on_offer, strict=True)
    )
    return {name: 1000 * (float(each) / rounds - kept) for name, each in zip(policies, earned, strict=True)}


def lately(frame: pandas.DataFrame, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of arms in the last quarter of a log's time, and how often each was shown in all."""
    time = frame["timestamp"]
    late = frame[time >= time.max() - LATELY * (time.max() - time.min())]
    counts = late["creative"].value_counts().reindex(names, fill_value=0).to_numpy(dtype=float)
    return counts / counts.sum(), frame["creative"].value_counts().reindex(names).to_numpy(dtype=float)
