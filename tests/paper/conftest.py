"""A small reproduction, made once, and a made-up one in which the published figures are right."""

import copy

import numpy as np
import pytest
import xarray

from rotting.paper import reproduce, stationary, ten_arm, theory, two_arm
from rotting.paper.beyond import boredom, candy_cane, identification, levine, many_arms, push, recovering, restless
from rotting.paper.experiment import final_regrets
from rotting.simulation.identified import values_to_come
from rotting.theory import decompose, deterministic_lower_bound, largest_decay

RUNS = 12


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="session")
def small(folder):
    """Everything, with three runs of each experiment, written to `folder`."""
    return reproduce.reproduce(folder, reproduce.Settings(runs=3), lambda job, rounds: None)


def dataset(regret, rounds, pulls=None):
    """Return a dataset as `simulate` would: `regret[label]` is a number, or an array over rounds."""
    labels = list(regret)
    noise = np.linspace(-0.01, 0.01, RUNS)[:, None]
    values = [(1 + noise) * np.broadcast_to(regret[label], len(rounds)) for label in labels]
    counts = (
        np.zeros((len(labels), RUNS, 2), np.int64) if pulls is None else [[pulls[label]] * RUNS for label in labels]
    )
    return xarray.Dataset(
        {
            "regret": (("policy", "run", "round"), np.array(values)),
            "pulls": (("policy", "run", "arm"), np.array(counts)),
            "seconds": ("policy", np.ones(len(labels))),
        },
        coords={"policy": labels, "run": np.arange(RUNS), "round": list(rounds)},
    )


def _figure_1():
    over_time = np.concatenate([np.linspace(0, 80, 50), np.linspace(80, 30, 50)])
    results = {}
    for place, drop in enumerate(two_arm.DROPS):
        final = {
            label: values[place] if not np.isnan(values[place]) else 48 * drop * {"wSWA 0.2": 2.4}.get(label, 0.8)
            for label, values in two_arm.published().items()
        }
        final[two_arm.BLOCKS] = final["EFF-FEWA 0.06"]
        if drop == two_arm.WORST:
            regret = {label: np.append(over_time[:-1], value) for label, value in final.items()}
            results[two_arm.key(drop)] = dataset(regret, range(100, 10_001, 100))
        else:
            results[two_arm.key(drop)] = dataset(final, [10_000])
    return results


def _figure_2():
    regret = {
        "FEWA 0.06": 300.0,
        "EFF-FEWA 0.06": 366.0,
        "EFF-FEWA 0.06, blocks": 366.0,
        "EFF-FEWA 0.06, printed": 366.0,
        "SWA 0.02": 490.0,
        "SWA 0.02, doubling": 900.0,
        "wSWA 0.002": 900.0,
        "wSWA 0.02": 490.0,
        "wSWA 0.06": 600.0,
        "wSWA 0.2": 800.0,
        "SW-UCB": 3200.0,
        "D-UCB": 3400.0,
        "D-UCB, forced": 4110.0,
    }
    oracle = ten_arm.PROBLEM.oracle(ten_arm.PROBLEM.horizon).pulls
    bump = np.arange(10) == 4
    pulls = {label: oracle + 10 + 40 * bump * label.startswith("wSWA") for label in regret}
    made = dataset({label: regret[label] for label in ten_arm.PLAYED}, [12_500, 25_000], pulls)
    made["seconds"].loc[{"policy": "FEWA 0.06"}] = 1000.0
    return {ten_arm.KEY: made}


def _theory():
    results = {}
    for name, problem in theory.NOISY.items():
        pulls = problem.oracle(problem.horizon).pulls.copy()
        pulls[0] -= 20
        pulls[1] += 20
        labels = theory.policies_for(problem)
        rounds = [problem.horizon // 2, problem.horizon]
        results[name] = dataset(dict.fromkeys(labels, 1.0), rounds, dict.fromkeys(labels, pulls))
        regret = float(decompose(problem, pulls).regret)
        results[name]["regret"][:] = [regret / 2, regret]
    for name, problem in theory.NOISELESS.items():
        pulls = dict.fromkeys(("FEWA 0.06", "Greedy"), problem.oracle(problem.horizon).pulls)
        lowest = deterministic_lower_bound(problem.n_arms, largest_decay(problem, problem.horizon))
        results[name] = dataset(dict.fromkeys(pulls, 1.1 * lowest), [problem.horizon], pulls)
    return results


def _beyond():
    """Return made-up results of the experiments beyond the paper, by experiment."""
    rounds = np.arange(200, 20_001, 200)
    behind = {boredom.LEARNT: 0.0, boredom.AUTHORS: 0.2, "UCB1": 0.9, "Uniform": 0.3}  # per round
    genres = dataset({label: loss * rounds for label, loss in behind.items()}, rounds)
    genres["oracle_reward"] = ("round", boredom.GENRES.cycle().value * rounds)
    articles = dict.fromkeys(restless.POLICIES, 200.0) | {"RAW-UCB": 90.0}
    told = {"UCB-TP": 1e4, "AUCB-TP": 2e4, "UCBT-ASW": 1e4, "SSUCB": 3e4}
    oracle = 917 + np.linspace(-60, 60, RUNS)
    lost = dict.fromkeys(candy_cane.policies(), 100.0) | {"LevelFilter": 40.0, "Uniform": 917 - 753.8}
    canes = dataset(lost, [2000])
    canes["oracle_reward"] = (("run", "round"), oracle[:, None])
    return {
        "levine": _levine(),
        "boredom": {boredom.KEY: genres},
        "recovering": _recovering(),
        "push": _push(),
        "identification": _identification(),
        "restless": {name: dataset(articles, [20_000]) for name in restless.PROBLEMS},
        "many-arms": {key: dataset(told, [many_arms.HORIZON]) for key in many_arms.RHOS},
        "candy-cane": {candy_cane.KEY: canes},
    }


def _recovering():
    results = {}
    for name, published in recovering.PUBLISHED.items():
        made = dataset({label: 500.0 - published.get(label, 100.0) for label in recovering.POLICIES}, [1000])
        made["oracle_reward"] = ("round", [500.0])
        results[name] = made
    return results


def _identification():
    """On worn arms ours never errs, the others half of the time; on arms that rise all err as published."""
    results = {}
    for block in identification.EXPERIMENT.blocks:
        labels, problem, rises = list(block.policies), block.problem, block.key.startswith("T=")
        horizon, n_arms = problem.horizon, problem.n_arms
        clock, ahead = (horizon, 1) if rises else (0, identification.AHEAD)
        worth = values_to_come(problem, np.full(n_arms, clock), horizon, ahead)
        chosen = np.full((len(labels), RUNS, 1), worth.argmax())
        for place, label in enumerate(labels):
            share = 0.0 if label == identification.OURS else 0.5
            if rises:
                share = identification.PUBLISHED[label][identification.BUDGETS.index(horizon)]
            chosen[place, : round(share * RUNS)] = worth.argmin()
        made = dataset(dict.fromkeys(labels, 1.0), [horizon]).drop_vars("pulls")
        made["pulls"] = ("policy", "run", "arm"), np.zeros((len(labels), RUNS, n_arms), np.int64)
        made["recommended"] = ("policy", "run", "round"), chosen
        results[block.key] = made.assign_attrs(horizon=horizon, worst=int(worth.argmin()))
    return results


def _push():
    """Return results of running, and beside them those of logs (as "regret"), which the experiment makes itself."""
    earned = {
        push.RUNNING: dict(zip(push.PARTS, (900.0, 901.0, 905.0, 912.0, 913.0), strict=True)),
        push.OTHERS: dict.fromkeys(push.POLICIES, 900.0) | {"RecoveringSoftmax": 910.0},
    }
    results = {
        key: dataset({label: 1000 - value for label, value in each.items()}, [9]) for key, each in earned.items()
    }
    for made in results.values():
        made["oracle_reward"] = ("round", [1000.0])
    rules = {
        "uniform": 1295.0,
        "last template again": 1289.0,
        "rates": 1296.0,
        "lifts": 1311.0,
        "lifts, recency": 1313.0,
    }
    results["logged"] = dataset(rules, [9])
    return results


def _levine():
    """Return results of as many runs as in the paper, with its wins: of equals the first is ahead in so many runs."""
    results = {}
    for name, published in levine.PUBLISHED.items():
        made = dataset(published, [30_000])
        runs = np.arange(levine.RUNS)
        regret = np.array([np.full(levine.RUNS, value) for value in published.values()])[..., None]
        repeated = made.isel(run=runs % RUNS).assign_coords(run=runs)
        repeated["regret"][:] = regret
        for (first, second), wins in levine.WINS[name].items():
            if published[first] < published[second]:
                label = {"policy": second, "run": runs[wins:]}
                repeated["regret"].loc[label] = published[first] - 1
        results[name] = repeated
    return results


@pytest.fixture(scope="session")
def made_up():
    """Results in which every claim holds, by experiment."""
    figure_2 = _figure_2()
    rounds, finals = np.arange(50, 5001, 50), {"FEWA 0.01": 60, "FEWA 0.06": 75, "FEWA 0.25": 90, "UCB1": 50}
    stationary_arms = {
        key: dataset({label: final * np.log(rounds) / np.log(5000) for label, final in finals.items()}, rounds)
        for key in stationary.GAPS
    }
    return {
        "fig1": _figure_1(),
        "fig2": figure_2,
        "table1": figure_2,
        "appendix": stationary_arms,
        "theory": _theory(),
        **_beyond(),
    }


@pytest.fixture
def right(made_up, monkeypatch):
    """The same, to be changed."""
    monkeypatch.setattr(push, "_logged", lambda results: final_regrets(results["logged"]))
    return copy.deepcopy(made_up)
