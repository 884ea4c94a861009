"""What an operator watches, for Prometheus. Bandits' own numbers come from their logs, so they survive restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from rotting.serve.following import Tally

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


class Metrics:
    """Counters of one process, told apart by the label `process` where several share an address."""

    def __init__(self, process: str = "") -> None:
        self.registry = CollectorRegistry()
        self._process = {"process": process} if process else {}
        self._requests = Histogram(
            "rotting_request_seconds",
            "Time from a request to its reply.",
            ("route", "method", "status"),
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._refused = Counter(
            "rotting_refused",
            "Requests that were refused, by the class of the error.",
            ("reason",),
            registry=self.registry,
        )
        self._commits = Histogram(
            "rotting_commit_seconds", "Time of a transaction.", registry=self.registry, buckets=_SECONDS
        )
        self._sizes = Histogram(
            "rotting_commit_requests", "Requests in one transaction.", registry=self.registry, buckets=_SIZES
        )
        self._streams = Gauge("rotting_streams", "Pages that are open and live.", registry=self.registry)
        self._children: dict[tuple[str, str, int], Histogram] = {}

    def replied(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        child = self._children.get((route, method, status))
        if child is None:
            child = self._children[route, method, status] = self._requests.labels(route, method, str(status))
        child.observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def committed(self, seconds: float, requests: int) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._sizes.observe(requests)

    def stream(self, change: int) -> None:
        """Count pages that are opened (1) and closed (-1)."""
        self._streams.inc(change)

    def watch(self, waiting: Callable[[], int], tallies: Callable[[], Iterable[Tally]]) -> None:
        """Report the queue and the bandits, too."""
        depth = Gauge("rotting_queue_requests", "Requests that wait for the database.", registry=self.registry)
        depth.set_function(waiting)
        self.registry.register(_Bandits(tallies))

    def text(self) -> bytes:
        """Return all of it in Prometheus' format."""
        return generate_latest(self)

    def collect(self) -> Iterable[Metric]:
        """Yield all of it, with the label `process` where it is needed."""
        for family in self.registry.collect():
            family.samples = [each._replace(labels={**each.labels, **self._process}) for each in family.samples]
            yield family


class _Bandits(Collector):
    """The numbers of all bandits, from their logs."""

    def __init__(self, tallies: Callable[[], Iterable[Tally]]):
        self._tallies = tallies

    def collect(self) -> Iterable[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the numbers as they are now."""
        labels = ("bandit", "arm")
        decisions = CounterMetricFamily("rotting_decisions", "Decisions in the log.", labels=labels)
        rewards = CounterMetricFamily("rotting_rewards", "Rewards in the log.", labels=labels)
        sums = GaugeMetricFamily("rotting_reward_sum", "Sum of the rewards in the log.", labels=labels)
        expired = CounterMetricFamily("rotting_expired", "Decisions whose wait ended.", labels=labels)
        pending = GaugeMetricFamily("rotting_pending", "Decisions that wait for a reward.", labels=("bandit",))
        events = CounterMetricFamily("rotting_events", "Events in the log.", labels=("bandit",))
        for tally in self._tallies():
            with tally.lock:
                for arm, name in enumerate(tally.names):
                    for family, numbers in (
                        (decisions, tally.decided),
                        (rewards, tally.rewarded),
                        (sums, tally.sums),
                        (expired, tally.expired),
                    ):
                        family.add_metric((tally.bandit, name), float(numbers[arm]))
                pending.add_metric((tally.bandit,), float(tally.pending))
                events.add_metric((tally.bandit,), float(tally.seq))
        return [decisions, rewards, sums, expired, pending, events]
