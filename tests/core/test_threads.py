"""A pool of threads: every result once, few jobs at a time, and nothing left running."""

import contextlib
import threading

import pytest

from rotting._core.threads import on_threads


def run(jobs, threads=2, **named):
    return contextlib.closing(on_threads(jobs, threads, stop=named.pop("stop", threading.Event()), **named))


@pytest.mark.parametrize("threads", [1, 3])
def test_every_result_once(threads):
    with run([lambda n=n: n for n in range(50)], threads) as results:
        assert sorted(results) == list(range(50))


def test_no_jobs():
    with run([]) as results:
        assert list(results) == []


def test_jobs_are_taken_as_threads_become_free():
    taken = []

    def jobs():
        for number in range(20):
            taken.append(number)
            yield lambda: None

    with run(jobs(), threads=1, in_flight=2) as results:
        for finished, _ in enumerate(results, start=1):
            assert len(taken) <= finished + 2


def test_an_error_ends_all_jobs():
    stop, before = threading.Event(), threading.active_count()

    def waits():
        assert stop.wait(60)

    def fails():
        raise ZeroDivisionError("of a job")

    with pytest.raises(ZeroDivisionError, match="of a job"), run([waits, fails, *[waits] * 10], stop=stop) as results:
        list(results)
    assert threading.active_count() == before


def test_an_error_of_the_consumer_ends_all_jobs():
    stop, before = threading.Event(), threading.active_count()

    def interrupted(results):
        next(results)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), run([lambda: 1, lambda: stop.wait(60)], stop=stop) as results:
        interrupted(results)
    assert stop.is_set()
    assert threading.active_count() == before
