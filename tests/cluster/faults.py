"""A task that notes when it begins and ends, and has the faults that a test asks for.

Faults and notes are files in a directory that `FSGC_FAULTS` names: `MODEL` holds a fault, `log` the notes.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fsgc.cluster.runner import RayRunner
from fsgc.cluster.task import Answer, Order, fulfil
from fsgc.tables.dvc import Dvc

PADDING = 50 * 2**20
WAITS = "waits in training"
EPOCH = 2  # in which a training waits to be killed; two epochs are done


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
    with watched_training(directory, model, waits=kind == WAITS):
        answer = fulfil(order, *stores)
    if kind == "pads":
        answer = Answer({**answer.files, "../padding": bytes(PADDING)}, answer.reason)
    note(directory, "end", model)
    return answer


def watched_training(directory: Path, model: str, waits: bool) -> Any:
    """Training that notes every epoch it computes, and by whom, and that may wait in its midst while it has a fault."""
    from fsgc.training.callbacks import SeedEachEpoch

    plain = SeedEachEpoch.on_train_epoch_start

    def noted(self: SeedEachEpoch, trainer: Any, module: Any) -> None:
        note(directory, "epoch", model, str(trainer.current_epoch), str(os.getpid()))
        while waits and trainer.current_epoch == EPOCH and (directory / model).exists():
            time.sleep(0.05)
        plain(self, trainer, module)

    return patch.object(SeedEachEpoch, "on_train_epoch_start", noted)


def note(directory: Path, *words: str) -> None:
    """Add a line to the log, in one write, so that lines of several processes do not mix."""
    with (directory / "log").open("a") as file:
        file.write(" ".join(words) + "\n")


class Faulty(RayRunner):
    """Runs tasks with faults, and notes what DVC is asked to record instead of asking it.

    Args:
        resources: what a node must have to be given the tasks, beside a CPU.
    """

    task = staticmethod(faulty)

    def __init__(self, *arguments: Any, resources: dict[str, float] | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if resources:
            self._remote = self._ray.remote(self.task).options(
                num_cpus=1, max_retries=self.retries, retry_exceptions=False, resources=resources
            )
        self.notes = Notes()
        self.dvc = self.notes


class Notes(Dvc):
    """Takes the place of DVC."""

    def __init__(self) -> None:
        self.commits: list[tuple[str, ...]] = []

    def commit(self, *targets: str, may_fail: bool = False) -> None:  # noqa: ARG002
        self.commits.append(targets)
