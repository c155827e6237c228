"""A Ray cluster of several nodes on the loopback interface, and the directory in which something happens on it."""

from __future__ import annotations

import os
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

from fsgc.tables.plan import load_works
from fsgc.tables.status import status_of
from tests.cluster.faults import Faulty
from tests.small_tables import PARAMS

STORE = 80 * 2**20  # bytes of a node's object store, little above the least that Ray takes
# So that a dead node is found dead in a second. Ray's own setting takes 15, in which it goes on giving it tasks.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_failure_threshold": 3,
    "health_check_timeout_ms": 5000,
}
# A node whose memory is taken to be full whatever runs on it.
FULL = {"RAY_memory_usage_threshold": "0.0001", "RAY_memory_monitor_refresh_ms": "100"}
PATIENCE = 300  # seconds; not an expectation, only so that a scene ends


class Stage:
    """The cluster, and the directory in which a scene is played.

    Args:
        project: a project with stores and no cells.
        scratch: a directory with a short name, since Ray makes sockets below it.
    """

    def __init__(self, project: Path, scratch: Path) -> None:
        self.project, self.faults, self.scenes = project, scratch / "faults", 0
        self.scratch = scratch
        os.environ["FSGC_FAULTS"] = str(self.faults)
        # Where Ray notes the address of the cluster: not where a user's own is noted.
        os.environ["RAY_TMPDIR"] = str(scratch)
        (scratch / "ray").mkdir()
        self.cluster = patiently(self._start)
        self.heal()
        ray.init(address=self.cluster.address, log_to_driver=False)

    def _start(self) -> Cluster:
        cluster = Cluster()
        head: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False, "temp_dir": str(self.scratch / "ray")}
        cluster.add_node(**head, object_store_memory=STORE, _system_config=HEALTH)
        return cluster

    def heal(self) -> None:
        """See that two nodes have a CPU each."""
        while len(self.cluster.worker_nodes) < 2:
            self.add_node()

    def add_node(self, **options: Any) -> Any:
        """Start a node with a CPU."""
        return patiently(lambda: self.cluster.add_node(num_cpus=1, object_store_memory=STORE, **options))

    def open(self, **faults: str) -> None:
        """Begin a scene: a fresh copy of the project, no notes, these faults."""
        self.heal()
        self.scenes += 1
        shutil.rmtree(self.faults, ignore_errors=True)
        self.faults.mkdir()
        for model, fault in faults.items():
            (self.faults / model).write_text(fault)
        os.chdir(shutil.copytree(self.project, self.scratch / f"scene{self.scenes}"))

    def run(self, model: str | None = None, **options: Any) -> dict[str, Any]:
        """Compute all cells that are not current, or those of a model; what came of it."""
        ended: dict[str, str | None] = {}
        started: list[str] = []
        runner = Faulty(PARAMS, **options)
        works = load_works()
        chosen = [work for work in works if model in (None, work.cell.model)]
        todo = [work for work in chosen if status_of(work).state != "current"]
        runner.run(
            todo,
            lambda cell: started.append(cell.name),
            lambda outcome: ended.update({outcome.cell.name: outcome.reason}),
        )
        return {
            "project": str(Path.cwd()),
            "started": started,
            "ended": ended,
            "states": {work.cell.name: str(status_of(work).state) for work in works},
            "commits": [list(each) for each in runner.notes.commits],
            **self.counts(),
        }

    def counts(self) -> dict[str, Any]:
        """How often the task of each model began and ended, and the epochs that were computed, in their order."""
        log = [line.split() for line in self.log()]
        counts: dict[str, Any] = {
            word: Counter(line[1] for line in log if line[0] == word) for word in ("begin", "end")
        }
        return {**counts, "epochs": [int(line[2]) for line in log if line[0] == "epoch"]}

    def log(self) -> list[str]:
        path = self.faults / "log"
        return path.read_text().splitlines() if path.exists() else []

    def noted(self, start: str) -> list[str]:
        """The words of the first note that starts so, once there is one."""
        words: list[str] = wait_for(lambda: next((line.split() for line in self.log() if line.startswith(start)), None))
        return words


def patiently(start: Callable[[], Any]) -> Any:
    """Start a node, which Ray gives up after 30 seconds on a machine with much else to do; then once more."""
    try:
        return start()
    except Exception:
        traceback.print_exc()
        return start()


def wait_for(found: Callable[[], Any]) -> Any:
    """What `found` returns once that is something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.02)
    raise TimeoutError
