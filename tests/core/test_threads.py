"""Jobs on threads: every result once, few waiting for their reader, and nothing left running."""

import contextlib
import threading

import pytest

from rotting._core.threads import on_threads


def run(jobs, threads=2, ask_to_stop=lambda: None):
    return contextlib.closing(on_threads(jobs, threads, ask_to_stop))


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

    with run(jobs(), threads=1) as results:
        for finished, _ in enumerate(results, start=1):
            assert len(taken) <= finished + 4


def test_few_jobs_start_few_threads():
    used, before = set(), threading.active_count()
    with run([lambda: used.add(threading.current_thread())], threads=50) as results:
        started = threading.active_count() - before
        list(results)
    assert len(used) == 1
    assert started <= 2


def test_an_error_ends_all_jobs():
    stop, before = threading.Event(), threading.active_count()

    def waits():
        assert stop.wait(60)

    def fails():
        raise ZeroDivisionError("of a job")

    jobs = [waits, fails, *[waits] * 10]
    with pytest.raises(ZeroDivisionError, match="of a job"), run(jobs, ask_to_stop=stop.set) as results:
        list(results)
    assert threading.active_count() == before


def test_an_error_of_what_makes_jobs_comes_through():
    def jobs():
        yield lambda: 1
        raise ZeroDivisionError("no more")

    with pytest.raises(ZeroDivisionError, match="no more"), run(jobs()) as results:
        list(results)


def test_an_error_of_the_consumer_ends_all_jobs():
    stop, before = threading.Event(), threading.active_count()

    def interrupted(results):
        next(results)
        raise KeyboardInterrupt

    jobs = [lambda: 1, lambda: stop.wait(60)]
    with pytest.raises(KeyboardInterrupt), run(jobs, ask_to_stop=stop.set) as results:
        interrupted(results)
    assert stop.is_set()
    assert threading.active_count() == before
