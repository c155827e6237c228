"""What happens on a cluster.

`python -m tests.cluster.scenes PROJECT`, run in a network namespace of its own, starts a cluster and then plays the
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
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray

from fsgc.cluster.runner import OOM_RETRIES
from fsgc.tables.lock import unrecorded
from fsgc.tables.plan import load_works
from fsgc.tables.status import status_of
from tests.cluster.faults import EPOCH, PADDING, WAITS
from tests.cluster.namespace import bring_up_loopback
from tests.cluster.stage import FULL, Stage, wait_for


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
