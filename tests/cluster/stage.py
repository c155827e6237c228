"""A Ray cluster of several nodes on the loopback interface, and what happens on it.

`python -m tests.cluster.stage PROJECT`, run in a network namespace of its own, starts the cluster and then plays the
scene that each line of its standard input names, in a copy of the project. A line of JSON tells what came of it.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

from fsgc.cluster.runner import OOM_RETRIES
from fsgc.tables.lock import unrecorded
from fsgc.tables.plan import load_works
from fsgc.tables.status import status_of
from tests.cluster.faults import EPOCH, PADDING, WAITS, Faulty
from tests.cluster.namespace import bring_up_loopback
from tests.cluster.small import PARAMS

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


def all_well(stage: Stage) -> dict[str, Any]:
    """Nothing happens; then a second run finds nothing to do."""
    stage.open()
    first = stage.run()
    return {**first, "again": stage.run()}


def node_dies(stage: Stage, **options: Any) -> dict[str, Any]:
    """A node is killed in the middle of the training of `gin`."""
    stage.open(gin=WAITS)

    def kill() -> None:
        process = int(stage.noted(f"epoch gin {EPOCH}")[3])
        identity = stage.noted("begin gin")[2]
        node = next(each for each in stage.cluster.worker_nodes if each.node_id == identity)
        stage.cluster.remove_node(node, allow_graceful=False)
        with suppress(ProcessLookupError):  # it ends when it finds its node gone; here at once
            os.kill(process, signal.SIGKILL)
        (stage.faults / "gin").unlink()

    thread = threading.Thread(target=kill)
    thread.start()
    result = stage.run(**options)
    thread.join()
    return result


def node_dies_and_training_resumes(stage: Stage) -> dict[str, Any]:
    """The same with a directory that all machines share."""
    shared = stage.scratch / "shared"
    result = node_dies(stage, state=str(shared))
    return {**result, "left": [path.name for path in shared.iterdir()]}


def worker_is_out_of_memory(stage: Stage) -> dict[str, Any]:
    """Ray ends the process that computes `gin` each time, because the memory of its node is full."""
    stage.open()
    node = stage.add_node(resources={"full": 1}, env_vars=FULL)
    try:
        return stage.run("gin", retries=int(os.environ[OOM_RETRIES]), resources={"full": 1})
    finally:
        stage.cluster.remove_node(node, allow_graceful=False)


def worker_dies(stage: Stage) -> dict[str, Any]:
    """The process that computes `gin` is killed each time, as one that takes too much memory is."""
    stage.open(gin="dies")
    result = stage.run(retries=1)
    (stage.faults / "gin").unlink()
    return {**result, "again": stage.run()}


def cell_fails(stage: Stage) -> dict[str, Any]:
    """The episodes of one cell are damaged, the prepared store of another is gone, and a third raises an error."""
    stage.open(untrained="raises")
    episodes = Path("tables/data/episodes/triangles_gen-3shot-seed0.zarr")
    for chunk in (path for path in episodes.rglob("c/**/*") if path.is_file()):
        chunk.write_bytes(chunk.read_bytes()[:-1] + b"\0")
    shutil.rmtree("tables/data/prepared")
    return stage.run()


def store_is_full(stage: Stage) -> dict[str, Any]:
    """Neither what is sent nor what comes back fits into the object stores."""
    stage.open(**dict.fromkeys(("gin", "wl", "untrained"), "pads"))
    held = [ray.put(bytes(PADDING)) for _ in range(3)]
    result = stage.run()
    return {**result, "held": len(held), "escaped": Path("padding").exists()}


def driver_dies(stage: Stage) -> dict[str, Any]:
    """The command is killed when its first cell is there, and started again; DVC is real."""
    project = Path(os.environ["FSGC_DVC_PROJECT"])
    os.chdir(project)
    cells = project / "tables" / "cells"
    words = [sys.executable, "-m", "fsgc", "tables", "run", "--ray", stage.cluster.address]
    output = (project / "first.txt").open("w")
    first = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
    wait_for(lambda: list(cells.glob("*/metrics.json")) or first.poll() is not None)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = {path.parent.name: path.stat().st_mtime_ns for path in cells.glob("*/metrics.json")}
    second = subprocess.run(words, capture_output=True, text=True)
    after = {path.parent.name: path.stat().st_mtime_ns for path in cells.glob("*/metrics.json")}
    works = load_works()
    return {
        "first": (project / "first.txt").read_text(),
        "before": before,
        "after": after,
        "second": [second.returncode, second.stdout, second.stderr],
        "states": [str(status_of(work).state) for work in works],
        "unrecorded": [work.cell.name for work in unrecorded(works)],
    }


SCENES = {
    scene.__name__: scene
    for scene in (
        all_well,
        node_dies,
        node_dies_and_training_resumes,
        worker_dies,
        worker_is_out_of_memory,
        cell_fails,
        store_is_full,
        driver_dies,
    )
}


def scenes_asked_for() -> Iterator[str]:
    """The lines of the standard input. If that ends in the middle of a scene, this process ends and all others do.

    The process that asks may be killed; a cluster must not outlive it.
    """
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    idle = threading.Event()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        if not idle.is_set():
            os._exit(1)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        idle.set()
        line = lines.get()
        idle.clear()
        if line is None:
            return
        yield line


def main() -> None:
    bring_up_loopback()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray and the cells print is not an answer
    with tempfile.TemporaryDirectory(prefix="fsgc-ray-", ignore_cleanup_errors=True) as scratch:
        stage = Stage(Path(sys.argv[1]), Path(scratch))
        for name in scenes_asked_for():
            try:
                result = SCENES[name](stage)
            except BaseException:
                result = {"error": traceback.format_exc()}
            print(json.dumps(result), file=answers, flush=True)
        ray.shutdown()
        stage.cluster.shutdown()


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
    os._exit(0)  # whatever threads are left: with this process end all others of its namespace
