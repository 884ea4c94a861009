"""Play every policy with late rewards in plain Python, and compare with agents: run by test_detail.py, in a process.

NUMBA_DISABLE_JIT=1 must be set: nothing is compiled, so forty policies take seconds.
"""

import rotting
from rotting.policies import POLICIES

PROBLEM = rotting.Problem([0.2, rotting.problems.Drop(0.8, 0.1, 10), 0.5], noise="bernoulli")
NEEDS = {name: {"curves": PROBLEM.curves} for name in ("CTO", "CTOSIM", "DCTOUCB")}
HORIZON, DELAY = 80, 4


def main() -> None:
    for name, kind in POLICIES.items():
        policy = kind(**NEEDS.get(name, {}))
        if policy.sees:
            continue  # would not know which arms it could have chosen
        found = rotting.simulate(policy, PROBLEM, HORIZON, runs=1, delay=DELAY, trace=("actions", "rewards"), threads=1)
        actions, rewards = found.actions.values[0, 0].tolist(), found.rewards.values[0, 0].tolist()
        assert len(actions) == HORIZON
        if policy.randomised:
            continue  # an agent tosses other coins
        agent = policy.informed(PROBLEM, HORIZON).start(PROBLEM.n_arms)
        for t, action in enumerate(actions):
            assert agent.select() == action, (name, t)
            if t >= DELAY:
                agent.update(actions[t - DELAY], rewards[t - DELAY])
    print(len(POLICIES))


if __name__ == "__main__":
    main()
