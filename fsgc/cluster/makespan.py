"""How long a list of tasks takes on a cluster, by simulation."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """What a cluster costs beside the computing itself, in seconds.

    Attributes:
        submit: of the driver, for each task it hands over; one after the other, before anything arrives.
        receive: of the driver, for each result it writes and records; one after the other.
        transfer: of a worker, for the stores of each task.
    """

    submit: float = 0.0
    receive: float = 0.0
    transfer: float = 0.0


# Handing over, and receiving and recording, as `python -m benchmarks.cluster` measured; 100 MB of stores at 1 Gbit/s.
MEASURED = Costs(submit=0.007, receive=0.076, transfer=1.0)


def makespan(seconds: Iterable[float], workers: int, costs: Costs = Costs()) -> float:  # noqa: B008  (it is frozen)
    """When the last result is recorded, if tasks begin in the given order, each on the worker that is free first.

    Args:
        seconds: how long each task computes.
        workers: how many run at once.
        costs: what else takes time.
    """
    free = [0.0] * workers
    ends = []
    for number, duration in enumerate(seconds, start=1):
        begin = max(heapq.heappop(free), number * costs.submit)
        end = begin + costs.transfer + duration
        heapq.heappush(free, end)
        ends.append(end)
    driver = len(ends) * costs.submit
    for end in sorted(ends):
        driver = max(driver, end) + costs.receive
    return driver


def limits(seconds: Sequence[float], workers: int, costs: Costs = Costs()) -> dict[str, float]:  # noqa: B008
    """What no order of the tasks can beat, by name; the largest is what holds a cluster back."""
    count, longest = len(seconds), max(seconds, default=0.0)
    return {
        "work": (sum(seconds) + count * costs.transfer) / workers,
        "longest cell": longest + costs.transfer if seconds else 0.0,
        "driver": count * (costs.submit + costs.receive),
    }
