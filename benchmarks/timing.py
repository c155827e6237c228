"""Timing two ways of doing the same thing."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from benchmarks.device import DEVICE, wait_for_device


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The least of `repeats` timings: what the machine can do when nothing else disturbs it."""
    return min(_once(work) for _ in range(repeats))


def seconds_in_turn(repeats: int, *works: Callable[[], object]) -> list[float]:
    """The same of several, one after the other in every turn; a turn before does not count."""
    turns = [[_once(work) for work in works] for _ in range(repeats + 1)]
    return [min(times) for times in zip(*turns[1:], strict=True)]


def _once(work: Callable[[], object]) -> float:
    """Of one thread on the host its processor time, which other processes disturb less; else that on the wall."""
    alone = DEVICE.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    wait_for_device()
    start = clock()
    work()
    wait_for_device()
    return clock() - start


def report(what: str, ours: float, plain: float, unit: str = "s") -> None:
    """One line: both times and their ratio."""
    print(f"{what:66} ours {ours:9.4f} {unit}   plain {plain:9.4f} {unit}   {plain / ours:7.1f} times", flush=True)
