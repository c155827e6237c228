"""What a cell costs on a cluster beside computing it: 1000 cells that compute nothing, with Ray and DVC for real.

`python -m benchmarks.cluster [CELLS]` runs itself in a network namespace of its own, where Ray has the loopback
interface and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fsgc.cluster.parcels import pack
from fsgc.cluster.runner import RayRunner
from fsgc.cluster.task import Answer, Order, places_of, stores_of
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work, stages_of, work_of, write_plan
from tests.cluster.namespace import bring_up_loopback, inside

ROOT = Path(__file__).parents[1]
CELLS = 1000
WORKERS = 2
DEFAULTS: dict[str, Any] = {}


def nothing(order: Order, *_stores: bytes) -> Answer:
    """Answer an order with files that say nothing."""
    works = [work_of(cell, order.params) for cell in map(CellKey.parse, order.cells) if cell]
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "file"
        file.write_text(order.cells[0])
        return Answer(dict.fromkeys(places_of(works), pack(file)))


class Trivial(RayRunner):
    """Runs tasks that compute nothing, and adds up the time that DVC takes."""

    task = staticmethod(nothing)
    recording, commits = 0.0, 0

    def record(self, works: Any) -> None:
        """Record cells in DVC."""
        start = time.perf_counter()
        super().record(works)
        self.recording += time.perf_counter() - start
        self.commits += bool(works)


def make_project(count: int) -> list[Work]:
    """A repository of tables in the current directory, whose stores are a few bytes each."""
    works = [work_of(CellKey("triangles_gen", 5, "untrained", seed), DEFAULTS) for seed in range(count)]
    subprocess.run(["git", "init", "--quiet"], check=True)  # noqa: S607
    (TABLES / ".dvc").mkdir(parents=True)
    for name in ("dvc.yaml", ".gitignore", ".dvcignore", ".dvc/config", ".dvc/.gitignore"):
        shutil.copy(ROOT / TABLES / name, TABLES / name)
    write_plan(works)
    (TABLES / "recipes").mkdir()
    (TABLES / "recipes" / "nothing.json").write_text("{}")
    for work in works:
        for step, name in stages_of(work).items():
            (TABLES / "recipes" / f"{step}-{name}.json").write_text(name)
        for place in stores_of([work]):
            path = TABLES / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(place)
    return works


def measure(count: int) -> None:
    """Start a cluster and compute so many cells."""
    import ray

    bring_up_loopback()
    with tempfile.TemporaryDirectory(prefix="fsgc-ray-", ignore_cleanup_errors=True) as scratch:
        (Path(scratch) / "project").mkdir()
        os.chdir(Path(scratch) / "project")
        works = make_project(count)
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, _temp_dir=f"{scratch}/ray")
        ray.get([ray.remote(_load).remote() for _ in range(WORKERS)])
        runner, ended = Trivial(DEFAULTS), []
        start = time.perf_counter()
        runner.run(works, lambda _: None, ended.append)
        total = time.perf_counter() - start
        failed = [outcome for outcome in ended if outcome.reason is not None]
        ray.shutdown()
    print(
        f"{count} cells that compute nothing, {WORKERS} workers: {1000 * total / count:.0f} ms a cell; of that, "
        f"{1000 * runner.recording / count:.0f} ms for DVC, in {runner.commits} commands; {len(failed)} failed"
    )


def _load() -> None:
    """Load what a task needs, so that it is not part of what is measured."""
    import fsgc.tables.worker  # noqa: F401


def main() -> None:
    """Measure in namespaces of its own."""
    words = [sys.executable, "-m", "benchmarks.cluster", "--inside", *sys.argv[1:2]]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(inside(words), check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths})


if __name__ == "__main__":
    if "--inside" in sys.argv:
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else CELLS)
    else:
        main()
