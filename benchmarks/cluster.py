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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fsgc.cluster.parcels import pack
from fsgc.cluster.runner import RayRunner
from fsgc.cluster.task import Answer, Order, places_of, stores_of
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work, stages_of, work_of, write_plan
from fsgc.tables.runner import Outcome
from tests.cluster.namespace import bring_up_loopback, inside, token_of_its_own

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
    """Runs tasks that compute nothing, and adds up what the driver's parts take."""

    task = staticmethod(nothing)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seconds, self.commits = dict.fromkeys(("submit", "receive", "record"), 0.0), 0

    def _submit(self, *arguments: Any) -> Any:
        return self._timed("submit", super()._submit, *arguments)

    def _receive(self, *arguments: Any) -> Any:
        return self._timed("receive", super()._receive, *arguments)

    def record(self, works: Sequence[Work]) -> None:
        """Record cells in DVC."""
        self.commits += bool(works)
        self._timed("record", super().record, works)

    def _timed(self, what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            self.seconds[what] += time.perf_counter() - start


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
        runner = Trivial(DEFAULTS)
        ended: list[Outcome] = []
        start = time.perf_counter()
        runner.run(works, lambda _: None, ended.append)
        total = time.perf_counter() - start
        failed = [outcome for outcome in ended if outcome.reason is not None]
        ray.shutdown()
    parts = ", ".join(f"{what} {1000 * each / count:.0f} ms" for what, each in runner.seconds.items())
    print(
        f"{count} cells that compute nothing, {WORKERS} workers: {1000 * total / count:.0f} ms a cell; of the driver:"
    )
    print(f"{parts}, with {runner.commits} commands of DVC; {len(failed)} cells failed")


def _load() -> None:
    """Load what a task needs, so that it is not part of what is measured."""
    import fsgc.tables.worker  # noqa: F401


def main() -> None:
    """Measure in namespaces of its own."""
    words = [sys.executable, "-m", "benchmarks.cluster", "--inside", *sys.argv[1:2]]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(prefix="fsgc-ray-") as scratch:
        environment = {**os.environ, "PYTHONPATH": paths, **token_of_its_own(Path(scratch))}
        subprocess.run(inside(words), check=True, cwd=ROOT, env=environment)


if __name__ == "__main__":
    if "--inside" in sys.argv:
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else CELLS)
    else:
        main()
