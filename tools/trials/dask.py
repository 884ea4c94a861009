"""A sweep on a Dask cluster gives the results of one without."""

import distributed

import rotting

if __name__ == "__main__":
    problem = rotting.problems.two_arm(horizon=50)
    here = rotting.sweep(rotting.UCB1(), problem, runs=4, out="here", progress=False)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        there = rotting.sweep(rotting.UCB1(), problem, runs=4, out="there", cluster=client, progress=False)
    assert (here["regret"] == there["regret"]).all()
