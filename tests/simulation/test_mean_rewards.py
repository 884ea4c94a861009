"""What draws of a log are played with: the same as `simulate`, without a dataset."""

import numpy as np

from rotting import UCB1, EffFEWA, simulate
from rotting.problems import two_arm
from rotting.simulation.simulator import mean_rewards

GAME = {"runs": 3, "seed": 4}


def test_they_are_what_a_simulation_earns():
    problem = two_arm(L=1.0, horizon=400)
    policies = {"one": EffFEWA(), "other": UCB1()}
    played = simulate(policies, problem, **GAME, rounds=1, progress=False)
    earned = (played["oracle_reward"] - played["regret"]).isel(round=-1).mean("run")
    np.testing.assert_allclose(mean_rewards(policies, problem, problem.horizon, **GAME), earned.values, rtol=1e-12)
