"""The bars: every claim about speed that the package makes, as a ratio measured in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import long_runs
import numba
import numpy as np
import peers
import readiness
from bar import Bar
from literal import play_literally
from timing import fastest, run_time, runs_time, seconds_of

import rotting
from rotting import FEWA, RAWUCB, EffFEWA, EffRAWUCB
from rotting.play.loop import streams_of
from rotting.problems import Constant, Drop, Problem, ten_arm, two_arm
from rotting.problems.kernel import draw_reward


def every_bar(turns: int) -> Iterator[Bar]:
    """Measure them all, the quick ones first."""
    for measure in (
        price_of_exactness,
        literal,
        raw_ucb,
        noise,
        many_arms,
        growth,
        from_python,
        threads,
        long_runs.whole_calls,
        long_runs.memory,
        readiness.many_rewards,
        readiness.cold,
    ):
        yield from measure(turns)


def price_of_exactness(turns: int) -> Iterator[Bar]:
    """Exact FEWA against EFF-FEWA."""
    problems = [("10-arm, T = 25 000", ten_arm())]
    problems += [(f"2-arm, T = 10 000, L = {L}", two_arm(L)) for L in (0.02, 0.233, 4.235)]
    for name, problem in problems:
        exact, efficient = _compare(FEWA(), EffFEWA(), problem, turns)
        yield Bar(f"FEWA(.06) / EffFEWA(.06), {name}", exact / efficient, 2.0)


def literal(turns: int) -> Iterator[Bar]:
    """The pseudo-code, compiled, against exact FEWA."""
    problem = ten_arm()
    horizon = problem.horizon
    keys = streams_of(0, 0, problem.n_arms).noise

    def slow() -> float:
        return seconds_of(lambda: play_literally(problem.arrays, keys, horizon, 0.06, 1.0))

    literally, exact = fastest(min(turns, 3), slow, lambda: run_time(FEWA(), problem, horizon))
    yield Bar("literal FEWA compiled / FEWA(.06), 10-arm, T = 25 000", literally / exact, 40, at_least=True)


def raw_ucb(turns: int) -> Iterator[Bar]:
    """Exact RAW-UCB against EFF-RAW-UCB, in short runs and in long ones."""
    for name, problem in (("2-arm, T = 10 000, L = 0.233", two_arm(0.233)), ("10-arm, T = 25 000", ten_arm())):
        exact, efficient = _compare(RAWUCB(), EffRAWUCB(), problem, turns)
        yield Bar(f"RAWUCB(1.4) / EffRAWUCB(1.4), {name}", exact / efficient, 2.5)
    for exponent, limit in ((6, 3), (7, 4)):
        rounds = 10**exponent
        for name, problem in (("2-arm, L = 0.233", two_arm(0.233, horizon=rounds)), ("10-arm", ten_arm())):
            exact, efficient = fastest(
                1,
                lambda problem=problem, rounds=rounds: run_time(RAWUCB(), problem, rounds),
                lambda problem=problem, rounds=rounds: run_time(EffRAWUCB(), problem, rounds),
            )
            yield Bar(f"RAWUCB(1.4) / EffRAWUCB(1.4), {name}, T = 10^{exponent}", exact / efficient, limit)


def noise(turns: int) -> Iterator[Bar]:
    """What a round costs, and how much of it is drawing noise."""
    problem, draws = ten_arm(), 1_000_000
    generator = np.random.default_rng(0)
    key = streams_of(0, 0, 1).noise[0]
    normal, reward, run = fastest(
        turns,
        lambda: seconds_of(lambda: _draw_normals(generator, draws)) / draws,
        lambda: seconds_of(lambda: _draw_rewards(problem.arrays, key, draws)) / draws,
        lambda: runs_time(EffFEWA(), problem, problem.horizon, 3) / problem.horizon,
    )
    yield Bar("EffFEWA(.06) per round, 10-arm / one Generator.standard_normal()", run / normal, 30)
    yield Bar("share of an EffFEWA 10-arm run spent on drawing rewards", reward / run, 0.25)


def many_arms(turns: int) -> Iterator[Bar]:
    """A thousand arms that drop at different times."""
    few, many = dropping_arms(10), dropping_arms(1000)
    rounds = 1_000_000
    small, efficient, exact = fastest(
        1,
        lambda: run_time(EffFEWA(), few, rounds),
        lambda: run_time(EffFEWA(), many, rounds),
        lambda: run_time(FEWA(), many, rounds),
    )
    yield Bar("EffFEWA per round, K = 1000 / K = 10, T = 10^6, abrupt drops", efficient / small, 100)
    yield Bar("FEWA / EffFEWA, K = 1000, T = 10^6, abrupt drops", exact / efficient, 3)


def growth(turns: int) -> Iterator[Bar]:
    """How a run's time grows with its length."""
    for alpha, limit in ((0.06, 130), (5.0, 150)):
        short, long = fastest(
            2,
            lambda alpha=alpha: runs_time(FEWA(alpha=alpha), two_arm(0.233, horizon=10**4), 10**4, 20),
            lambda alpha=alpha: runs_time(FEWA(alpha=alpha), two_arm(0.233, horizon=10**6), 10**6, 2),
        )
        yield Bar(f"FEWA({alpha:g}), 2-arm L = 0.233: T = 10^6 / T = 10^4", long / short, limit)


def from_python(turns: int) -> Iterator[Bar]:
    """One decision and one reward from Python, against river's UCB."""
    for n_arms, policy, limit in ((10, EffFEWA(), 0.6), (10, FEWA(), 1.0), (1000, EffFEWA(), 0.1), (1000, FEWA(), 0.1)):
        agent = policy.start(n_arms)
        peers.feed(agent, n_arms, 100_000)
        peer = peers.river_ucb(n_arms)
        calls = 2000 if n_arms == 10 else 200
        ours, theirs = fastest(
            turns,
            lambda agent=agent, calls=calls: seconds_of(lambda: peers.drive(agent, calls)),
            lambda peer=peer, calls=calls: seconds_of(lambda: peers.drive(peer, calls)),
        )
        name = f"{type(policy).__name__} select + update from Python, K = {n_arms}, 10^5 pulls / river's bandit.UCB"
        yield Bar(name, ours / theirs, limit)


def threads(turns: int) -> Iterator[Bar]:
    """Two threads against one."""

    def simulate(count: int) -> Callable[[], float]:
        return lambda: seconds_of(lambda: rotting.simulate(FEWA(), ten_arm(), runs=64, threads=count, progress=False))

    one, two = fastest(2, simulate(1), simulate(2))
    yield Bar("64 runs on two threads / one thread", two / one, 0.6)


def dropping_arms(n_arms: int) -> Problem:
    """Return arms of different values that fall to different depths at different times."""
    draw = np.random.default_rng(n_arms)
    drops = (
        Drop(before=before, after=before - fall, at=int(at))
        for before, fall, at in zip(
            draw.uniform(0, 1, n_arms - 1),
            draw.uniform(0.2, 2, n_arms - 1),
            draw.integers(50, 2000, n_arms - 1),
            strict=True,
        )
    )
    return Problem((Constant(0.0), *drops), name=f"{n_arms} dropping arms")


def _compare(exact: rotting.Policy, efficient: rotting.Policy, problem: Problem, turns: int) -> list[float]:
    horizon = problem.horizon
    return fastest(
        5 * turns,  # each is over in no time, and a slow spell of the machine lasts longer than that
        lambda: runs_time(exact, problem, horizon, 10),
        lambda: runs_time(efficient, problem, horizon, 10),
    )


@numba.njit
def _draw_normals(generator, count):
    total = 0.0
    for _ in range(count):
        total += generator.standard_normal()
    return total


@numba.njit
def _draw_rewards(problem, key, count):
    total = 0.0
    for n in range(count):
        total += draw_reward(problem, 0, 0.0, key, n)
    return total
