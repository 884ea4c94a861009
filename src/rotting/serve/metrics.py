"""What an operator watches, for Prometheus. Numbers of bandits come from their logs, and survive restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.samples import Sample

from rotting.serve.following import Follower

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
_COUNTER, _GAUGE = CounterMetricFamily, GaugeMetricFamily
# The names of metrics, their meanings, and the attribute of a tally, or of each of its arms, that has their value.
_OF_BANDITS: tuple[tuple[type[Any], str, str, str], ...] = (
    (_GAUGE, "rotting_pending", "Decisions that wait for a reward.", "pending"),
    (_COUNTER, "rotting_events", "Events in the log.", "seq"),
)
_OF_ARMS: tuple[tuple[type[Any], str, str, str], ...] = (
    (_COUNTER, "rotting_decisions", "Decisions in the log.", "decided"),
    (_COUNTER, "rotting_rewards", "Rewards in the log.", "rewarded"),
    (_GAUGE, "rotting_reward_sum", "Sum of the rewards in the log.", "sum"),
    (_COUNTER, "rotting_expired", "Decisions whose wait ended.", "expired"),
)


# Of a family by its name: names, labels and values.
Samples = dict[str, list[tuple[str, dict[str, str], float]]]


class Metrics:
    """Numbers of requests and commits, by `process` where there are several, and of all bandits of a `follower`."""

    follower: Follower | None = None

    def __init__(self, waiting: Callable[[], int], process: str = ""):
        self.process = process
        self.others: dict[str, Samples] = {}  # what other processes have said
        self._registry = registry = CollectorRegistry()
        histogram = partial(Histogram, registry=registry)
        requests = histogram(
            "rotting_request_seconds", "Time from a request to its reply.", ("route", "method", "status"),
            buckets=_SECONDS,
        )  # fmt: skip
        self._requests = cache(requests.labels)
        said = "Requests that were refused, by the class of the error."
        self._refused = Counter("rotting_refused", said, ("reason",), registry=registry)
        self._commits = histogram("rotting_commit_seconds", "Time of a transaction.", buckets=_SECONDS)
        self._sizes = histogram("rotting_commit_requests", "Requests in one transaction.", buckets=_SIZES)
        depth = Gauge("rotting_queue_requests", "Requests that wait for the database.", registry=registry)
        depth.set_function(waiting)

    def replied(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests(route, method, status).observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def committed(self, seconds: float, requests: int) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._sizes.observe(requests)

    def text(self) -> bytes:
        """Return all of it in Prometheus' format; to be called in the thread that changes the tallies."""
        return generate_latest(self)

    def samples(self) -> Samples:
        """Return what this process has counted."""
        return {
            family.name: [(each.name, each.labels, each.value) for each in family.samples]
            for family in self._registry.collect()
        }

    def collect(self) -> Iterable[Metric]:
        """Yield all of it."""
        said = {**self.others, self.process: self.samples()}
        for family in self._registry.collect():
            family.samples = [
                Sample(name, {**labels, "process": process} if process else labels, value)
                for process, samples in said.items()
                for name, labels, value in samples[family.name]
            ]
            yield family
        yield from self._of_bandits()

    def _of_bandits(self) -> Iterable[Metric]:
        tallies = list(self.follower.tallies.values()) if self.follower else []
        for kind, name, says, field in _OF_ARMS:
            family = kind(name, says, labels=("bandit", "arm"))
            for tally in tallies:
                for arm in tally.arms:
                    family.add_metric((tally.row.name, arm.name), getattr(arm, field))
            yield family
        for kind, name, says, field in _OF_BANDITS:
            family = kind(name, says, labels=("bandit",))
            for tally in tallies:
                family.add_metric((tally.row.name,), getattr(tally, field))
            yield family
