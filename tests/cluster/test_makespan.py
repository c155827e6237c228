from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.cluster.makespan import Costs, limits, makespan

durations = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def _by_clock(seconds: list[int], workers: int, submit: int, receive: int, transfer: int) -> int:
    """The same, a tick of the clock at a time."""
    todo = [(number * submit, transfer + duration) for number, duration in enumerate(seconds, start=1)]
    running: list[int] = []  # ticks left
    arrived = recorded = busy = now = 0
    while recorded < len(seconds):
        running = [left - 1 for left in running]
        arrived += running.count(0)
        running = [left for left in running if left]
        busy = max(0, busy - 1)
        while todo and len(running) < workers and todo[0][0] <= now:
            running.append(todo.pop(0)[1])
        if now >= len(seconds) * submit:
            while arrived and not busy:
                arrived -= 1
                recorded += 1
                busy = receive
        now += 1
    return now - 1 + receive


def _best(seconds: list[int], workers: int) -> int:
    """The least makespan, by trying every way to give tasks to workers."""
    return min(
        max(sum(each for each, at in zip(seconds, places, strict=True) if at == worker) for worker in range(workers))
        for places in itertools.product(range(workers), repeat=len(seconds))
    )


@given(durations, st.integers(1, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2))
def test_it_is_what_a_clock_shows(seconds: list[int], workers: int, submit: int, receive: int, transfer: int) -> None:
    found = makespan(seconds, workers, Costs(submit, receive, transfer))
    assert found == _by_clock(seconds, workers, submit, receive, transfer)
    assert found >= max(limits(seconds, workers, Costs(submit, receive, transfer)).values()) - 1e-9


@given(durations, st.integers(1, 3))
def test_starting_order_is_within_grahams_bound_of_the_best(seconds: list[int], workers: int) -> None:
    """R. L. Graham, Bounds on multiprocessing timing anomalies, 1969: at most 4/3 - 1/(3m) times the least."""
    best = _best(seconds, workers)
    assert best <= makespan(sorted(seconds, reverse=True), workers) <= (4 / 3 - 1 / (3 * workers)) * best + 1e-9
    assert makespan(seconds, workers) <= (2 - 1 / workers) * best + 1e-9, "any order, Graham 1966"


def test_a_long_task_that_begins_last_runs_alone() -> None:
    assert makespan([1, 1, 1, 1, 4], 2) == 6
    assert makespan([4, 1, 1, 1, 1], 2) == 4


def test_no_tasks_take_no_time() -> None:
    assert makespan([], 3, Costs(1, 1, 1)) == 0
    assert limits([], 3) == {"work": 0, "longest cell": 0, "driver": 0}


def test_the_driver_holds_back_a_cluster_of_many() -> None:
    costs = Costs(submit=0.01, receive=0.09)
    assert makespan([1.0] * 1000, 1000, costs) == pytest.approx(100, rel=0.02)
    assert max(limits([1.0] * 1000, 1000, costs), key=limits([1.0] * 1000, 1000, costs).__getitem__) == "driver"
