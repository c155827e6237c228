"""A task that notes when it begins and ends, and has the faults that a test asks for.

Faults and notes are files in a directory that `FSGC_FAULTS` names: `MODEL` holds a fault, `log` the notes.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from fsgc.cluster.runner import RayRunner
from fsgc.cluster.task import Answer, Order, fulfil
from fsgc.tables.dvc import Dvc

PADDING = 50 * 2**20


def faulty(order: Order, *stores: bytes) -> Answer:
    """Fulfil an order unless its model has a fault."""
    import ray

    directory, model = Path(os.environ["FSGC_FAULTS"]), order.cells[0].split("-")[2]
    fault = directory / model
    note(directory, "begin", model, ray.get_runtime_context().get_node_id())
    kind = fault.read_text() if fault.exists() else ""
    if kind == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "raises":
        raise RuntimeError("not ours")
    while kind == "waits" and fault.exists():
        time.sleep(0.05)
    answer = fulfil(order, *stores)
    if kind == "pads":
        answer = Answer({**answer.files, "../padding": bytes(PADDING)}, answer.reason)
    note(directory, "end", model)
    return answer


def note(directory: Path, *words: str) -> None:
    """Add a line to the log, in one write, so that lines of several processes do not mix."""
    with (directory / "log").open("a") as file:
        file.write(" ".join(words) + "\n")


class Faulty(RayRunner):
    """Runs tasks with faults, and notes what DVC is asked to record instead of asking it."""

    task = staticmethod(faulty)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.notes = Notes()
        self.dvc = self.notes


class Notes(Dvc):
    """Takes the place of DVC."""

    def __init__(self) -> None:
        self.commits: list[tuple[str, ...]] = []

    def commit(self, *targets: str, may_fail: bool = False) -> None:  # noqa: ARG002
        self.commits.append(targets)
