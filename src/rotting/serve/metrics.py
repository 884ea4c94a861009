"""What an operator watches, for Prometheus. Numbers of bandits come from their logs, and survive restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from rotting.serve.following import Follower

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


class Metrics:
    """Counters of one process, told apart by the label `process` where several share an address."""

    def __init__(self, process: str = "") -> None:
        self.registry = registry = CollectorRegistry()
        self._process = {"process": process} if process else {}
        labels, said = ("route", "method", "status"), "Time from a request to its reply."
        self._requests = cache(
            Histogram("rotting_request_seconds", said, labels, registry=registry, buckets=_SECONDS).labels
        )
        said = "Requests that were refused, by the class of the error."
        self._refused = Counter("rotting_refused", said, ("reason",), registry=registry)
        self._commits = Histogram(
            "rotting_commit_seconds", "Time of a transaction.", registry=registry, buckets=_SECONDS
        )
        said = "Requests in one transaction."
        self._sizes = Histogram("rotting_commit_requests", said, registry=registry, buckets=_SIZES)

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

    def watch(self, waiting: Callable[[], int], follower: Follower) -> None:
        """Report the queue and the bandits, too."""
        depth = Gauge("rotting_queue_requests", "Requests that wait for the database.", registry=self.registry)
        depth.set_function(waiting)
        self.registry.register(_Bandits(follower))

    def text(self) -> bytes:
        """Return all of it in Prometheus' format."""
        return generate_latest(self)

    def collect(self) -> Iterable[Metric]:
        """Yield all of it, with the label `process` where it is needed."""
        for family in self.registry.collect():
            family.samples = [each._replace(labels={**each.labels, **self._process}) for each in family.samples]
            yield family


class _Bandits:
    """The numbers of all bandits, from their logs."""

    def __init__(self, follower: Follower):
        self._follower = follower

    def collect(self) -> Iterable[Metric]:
        """Yield the numbers as they are now."""
        arms: dict[str, Any] = {
            "decided": CounterMetricFamily("rotting_decisions", "Decisions in the log.", labels=("bandit", "arm")),
            "rewarded": CounterMetricFamily("rotting_rewards", "Rewards in the log.", labels=("bandit", "arm")),
            "sum": GaugeMetricFamily("rotting_reward_sum", "Sum of the rewards in the log.", labels=("bandit", "arm")),
            "expired": CounterMetricFamily("rotting_expired", "Decisions whose wait ended.", labels=("bandit", "arm")),
        }
        bandits: dict[str, Any] = {
            "pending": GaugeMetricFamily("rotting_pending", "Decisions that wait for a reward.", labels=("bandit",)),
            "seq": CounterMetricFamily("rotting_events", "Events in the log.", labels=("bandit",)),
        }
        with self._follower.lock:
            for bandit, tally in self._follower.tallies.items():
                for name, family in bandits.items():
                    family.add_metric((bandit,), getattr(tally, name))
                for arm in tally.arms:
                    for name, family in arms.items():
                        family.add_metric((bandit, arm.name), getattr(arm, name))
        return [*arms.values(), *bandits.values()]
