"""Designed experiments, run in worlds whose cause is known: how often they end with the right verdict, at which price.

    python benchmarks/designs.py --logs 200

Logs are those of `make_log` at a steady pace, of which nothing can be told by themselves: 3 to 12 arms, 1500 to 6000
exposures each, clicks or numbers, arms that differ in level and in speed, exposures or time as the cause in turn.
"""

import argparse
import dataclasses

import numpy as np

from rotting.logs import make_log
from rotting.logs.read.columns import LogError
from rotting.logs.read.reading import read_log
from rotting.value.designing import CHUNKS, Schedule, Search, designed
from rotting.value.separating import EXPOSURE, TIME, UNCLEAR, fitted, grounds_of, separated


def world(number):
    """Return what a log gives, its cause, and what an arm is worth: by arm, exposures before, and time in logs."""
    random = np.random.default_rng(number)
    cause = (EXPOSURE, TIME)[number % 2]
    start = random.uniform(0.05, 0.3)
    log = make_log(
        arms=int(random.integers(3, 13)),
        exposures=int(random.integers(1500, 6001)),
        effect="wear-out" if cause == EXPOSURE else "calendar",
        start=start,
        end=start * random.uniform(0.25, 0.6),
        spread=random.uniform(0.0, 0.35),
        pace="steady",
        sigma=random.uniform(0.1, 0.5) if number % 5 == 0 else None,
        seed=number,
    )
    truth = log.attrs["truth"]
    curves, length = dict(zip(truth.arms, truth.curves, strict=True)), len(log) / len(truth.arms)
    grounds = grounds_of(read_log(log))

    def worth(arm, before, time):
        return float(curves[grounds.names[arm]](int(before if cause == EXPOSURE else time * length)))

    return grounds, cause, worth


def true_price(search, plan, worth):
    """Return what a plan gives up in a world, and the means of its cells."""
    counts, days = search.counts(plan), search.grounds.days
    arms = range(plan.shape[1])
    means = np.array(
        [[worth(arm, row[arm], 1 + (day + 0.5) / days) for arm in arms] for day, row in enumerate(counts.before)]
    )
    shown, best, chunk = search.begun.copy(), 0.0, search.grounds.daily / CHUNKS
    for step in range(len(plan) * CHUNKS):
        values = [worth(arm, shown[arm] + chunk / 2, 1 + (step + 0.5) / CHUNKS / days) for arm in arms]
        arm = int(np.argmax(values))
        best, shown[arm] = best + chunk * values[arm], shown[arm] + chunk
    return best - float((plan * means).sum()), means


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first log, to play them in pieces")
    parser.add_argument("--power", type=float, default=0.9)
    chosen = parser.parse_args()
    verdicts, prices, uniforms, days, refused, wrong, alone = [], [], [], [], 0, 0, 0
    number = chosen.first - 1
    while len(verdicts) < chosen.logs:
        number += 1
        grounds, cause, worth = world(number)
        try:
            found = designed(grounds, chosen.power, seed=number)
        except (LogError, ValueError) as error:
            refused += 1
            print(number, "refused:", str(error)[:100], flush=True)
            continue
        search = Search(grounds, chosen.power)
        alone += (
            separated(grounds, grounds.counts, grounds.counts.times, fitted(grounds, along_time=False)).verdict
            != UNCLEAR
        )
        rest = tuple(grounds.names.index(name) for name in found.rest)
        plan = search.plan(Schedule(rest, found.rest_days, found.days))
        actual, means = true_price(search, plan, worth)
        random = np.random.default_rng(10_000 + number)
        if grounds.sigma is None:
            earned = random.binomial(np.round(plan).astype(int), np.clip(means, 0, 1)) * (
                plan / np.maximum(np.round(plan), 1)
            )
        else:
            earned = random.normal(plan * means, np.sqrt(plan) * grounds.sigma)
        both = grounds.counts.with_more(dataclasses.replace(search.counts(plan), earned=earned))
        times = np.concatenate([grounds.counts.times, search.times(search.counts(plan))])
        verdict = separated(grounds, both, times, fitted(grounds, along_time=False)).verdict
        verdicts.append(verdict == cause)
        wrong += verdict not in (cause, UNCLEAR)
        promised = getattr(found.price, cause)
        prices.append((promised, actual))
        days.append(found.whole_days)
        uniforms.append((found.uniform_days, found.uniform_price and found.uniform_price.mean, found.price.mean))
        print(
            number,
            cause,
            verdict,
            f"{found.whole_days} days, price {promised:.0f} promised, {actual:.0f} paid",
            flush=True,
        )
    promised, paid = np.array(prices).T
    told = [each for each in uniforms if each[0] is not None]
    print(
        f"right {np.mean(verdicts):.3f}, wrong {wrong / len(verdicts):.3f}, "
        f"refused {refused}, told by the log alone {alone}"
    )
    print(f"median days {np.median(days):.0f}")
    print(f"price: sum promised {promised.sum():.0f}, paid {paid.sum():.0f}, ratio {paid.sum() / promised.sum():.3f}")
    off = np.abs(paid - promised) / np.abs(promised)
    print(f"within 20 % one by one: {np.mean(off <= 0.2):.2f}; median error {np.median(off):.2f}")
    print(
        f"uniform experiments with the same power: {len(told)} of {len(uniforms)} within 120 days; "
        f"price of those {sum(each[1] for each in told):.0f} beside {sum(each[2] for each in told):.0f}"
    )


if __name__ == "__main__":
    main()
