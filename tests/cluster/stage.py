"""A Ray cluster of several nodes on the loopback interface, and what happens on it.

`python -m tests.cluster.stage PROJECT`, run in a network namespace of its own, starts the cluster and then plays the
scene that each line of its standard input names, in a copy of the project. A line of JSON tells what came of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
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
from tests.cluster.faults import PADDING, Faulty
from tests.cluster.namespace import bring_up_loopback
from tests.cluster.small import PARAMS

STORE = 80 * 2**20  # bytes of a node's object store, little above the least that Ray takes
PATIENCE = 120  # seconds; not an expectation, only so that a scene ends


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
        head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": str(scratch / "ray")}
        self.cluster = Cluster()
        patiently(lambda: self.cluster.add_node(**head, object_store_memory=STORE))
        self.heal()
        ray.init(address=self.cluster.address, log_to_driver=False)

    def heal(self) -> None:
        """See that two nodes have a CPU each."""
        while len(self.cluster.worker_nodes) < 2:
            patiently(lambda: self.cluster.add_node(num_cpus=1, object_store_memory=STORE))

    def open(self, **faults: str) -> None:
        """Begin a scene: a fresh copy of the project, no notes, these faults."""
        self.heal()
        self.scenes += 1
        shutil.rmtree(self.faults, ignore_errors=True)
        self.faults.mkdir()
        for model, fault in faults.items():
            (self.faults / model).write_text(fault)
        os.chdir(shutil.copytree(self.project, self.scratch / f"scene{self.scenes}"))

    def run(self, **options: Any) -> dict[str, Any]:
        """Compute all cells that are not current; what came of it."""
        ended: dict[str, str | None] = {}
        started: list[str] = []
        runner = Faulty(PARAMS, **options)
        works = load_works()
        todo = [work for work in works if status_of(work).state != "current"]
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
        """How often the task of each model began and ended."""
        log = [line.split() for line in self.log()]
        return {word: Counter(line[1] for line in log if line[0] == word) for word in ("begin", "end")}

    def log(self) -> list[str]:
        path = self.faults / "log"
        return path.read_text().splitlines() if path.exists() else []

    def node_of(self, model: str) -> Any:
        """The node on which the task of a model has begun."""
        words = wait_for(lambda: next((line.split() for line in self.log() if line.startswith(f"begin {model}")), None))
        return next(node for node in self.cluster.worker_nodes if node.node_id == words[2])


def patiently(start: Callable[[], object]) -> None:
    """Start a node, which Ray gives up after 30 seconds on a machine with much else to do; then once more."""
    try:
        start()
    except Exception:
        traceback.print_exc()
        start()


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


def node_dies(stage: Stage) -> dict[str, Any]:
    """A node is killed while it computes the cells of `gin`."""
    stage.open(gin="waits")

    def kill() -> None:
        node = stage.node_of("gin")
        (stage.faults / "gin").unlink()
        stage.cluster.remove_node(node, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    result = stage.run()
    thread.join()
    return result


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
    third = subprocess.run(words, capture_output=True, text=True)
    return {
        "first": (project / "first.txt").read_text(),
        "before": before,
        "after": after,
        "second": [second.returncode, second.stdout, second.stderr],
        "third": [third.returncode, third.stdout, third.stderr],
    }


SCENES = {scene.__name__: scene for scene in (all_well, node_dies, worker_dies, cell_fails, store_is_full, driver_dies)}


def main() -> None:
    bring_up_loopback()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray and the cells print is not an answer
    with tempfile.TemporaryDirectory(prefix="fsgc-ray-", ignore_cleanup_errors=True) as scratch:
        stage = Stage(Path(sys.argv[1]), Path(scratch))
        for line in sys.stdin:
            try:
                result = SCENES[line.strip()](stage)
            except BaseException:
                result = {"error": traceback.format_exc()}
            print(json.dumps(result), file=answers, flush=True)
        ray.shutdown()
        stage.cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
