"""Timing two ways of doing the same thing."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.device import wait_for_device


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The least of `repeats` timings: what the machine can do when nothing else disturbs it."""
    best = float("inf")
    for _ in range(repeats):
        wait_for_device()
        start = time.perf_counter()
        work()
        wait_for_device()
        best = min(best, time.perf_counter() - start)
    return best


def report(what: str, ours: float, plain: float, unit: str = "s") -> None:
    """One line: both times and their ratio."""
    print(f"{what:66} ours {ours:9.4f} {unit}   plain {plain:9.4f} {unit}   {plain / ours:7.1f} times", flush=True)
