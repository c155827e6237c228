"""Computing cells: a function from recipes and stores to result files, run in a process of its own.

`python -m fsgc.tables.worker CELL…` computes cells that share a model; with `--stores` first, what any cells need; with
`--into DIR` before all else, in another directory than the project's. Its standard input is a pipe from the process
that started it: when that ends, however it ends, the pipe closes and the worker ends with it.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tqdm import tqdm

from fsgc.api import ensure_episodes, ensure_stores
from fsgc.errors import FsgcError, SettingsError
from fsgc.recipes import digest, recipe, recorded
from fsgc.settings import PARAMS_FILE, load_params
from fsgc.steps import evaluate, train
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work, work_of
from fsgc.tables.preparation import timed_preparation
from fsgc.tables.status import METRICS
from fsgc.training.model_file import read_report
from fsgc.workspace import Workspace

MODELS = TABLES / "models"
EXIT_FAILED = 1
STORES_ONLY = "--stores"
INTO = "--into"
ERROR = "Error: "


def compute(works: list[Work], project: Path = Path()) -> None:
    """Train the model that cells share, unless it is there, and test it in each of them."""
    workspace = Workspace(project / TABLES / "data")
    first = works[0]
    model = project / MODELS / first.model
    identity = digest(recipe("train", first.experiment))
    if not is_trained(model, identity):
        print(train.run(workspace, first.experiment, model / "model.pt", model / "curves", identity), flush=True)
    for work in works:
        out = project / CELLS / work.cell.name
        made_by = recorded(work.experiment)
        evaluate.run(workspace, work.experiment, model / "model.pt", out, made_by, METRICS)
        print(f"{work.cell.name} done", flush=True)


def prepare_stores(works: list[Work], project: Path = Path()) -> list[str]:
    """Make what cells share (graphs, splits, episodes, prepared stores), each once; why a dataset's could not be."""
    workspace, failed = Workspace(project / TABLES / "data"), {}
    for work in tqdm(works, desc="stores", unit="cell", disable=None):
        if work.cell.dataset not in failed:
            try:
                ensure_episodes(workspace, work.experiment)
                with timed_preparation(work, workspace, project):
                    ensure_stores(workspace, work.experiment)
            except FsgcError as error:
                failed[work.cell.dataset] = str(error)
    return list(failed.values())


def is_trained(model: Path, identity: str) -> bool:
    """Whether the model is there, and was trained by this recipe."""
    try:
        return (model / "model.pt").exists() and read_report(model / "model.pt").recipe == identity
    except FsgcError:
        return False


def _end_with_parent() -> None:
    """End the process when the pipe on its standard input closes."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(EXIT_FAILED)

    threading.Thread(target=wait, daemon=True).start()


def main(names: list[str]) -> int:
    """Compute the named cells."""
    _end_with_parent()
    try:
        params = load_params(PARAMS_FILE)
        project = Path()
        if names[:1] == [INTO]:
            project, names = Path(names[1]), names[2:]
        stores_only = names[:1] == [STORES_ONLY]
        cells = [CellKey.parse(name) for name in names[stores_only:]]
        if not cells or None in cells:
            raise SettingsError(f"these are not names of cells: {' '.join(names)}")
        works = [work_of(cell, params) for cell in cells if cell]
        if stores_only:
            failed = prepare_stores(works, project)
            for reason in failed:
                print(f"{ERROR}{reason}", flush=True)
            return EXIT_FAILED if failed else 0
        compute(works, project)
    except FsgcError as error:
        print(f"{ERROR}{error}", flush=True)
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
