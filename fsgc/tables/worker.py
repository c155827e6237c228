"""Computing cells: a function from recipes and stores to result files, run in a process of its own.

An order is a list of words: the names of cells that share a model; with `--stores` first, of any cells, for what they
need; with `--into DIR` before all else, in another directory than the project's. `python -m fsgc.tables.worker` takes
orders from its standard input, a line of JSON each, and says when one has ended. Each is fulfilled in a copy of the
process (fork), which has loaded the code already, 8 s of a core for a method that learns, and has computed nothing yet.
The standard input is a pipe from the process that started it: when that ends, however it ends, the pipe closes and the
worker ends with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from tqdm import tqdm

from fsgc.api import ensure_episodes, ensure_stores
from fsgc.errors import FsgcError, SettingsError
from fsgc.methods.registry import METHODS
from fsgc.recipes import Recipe, changed_since, digest, recorded
from fsgc.settings import PARAMS_FILE, load_params
from fsgc.steps import evaluate, train
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work, work_of
from fsgc.tables.preparation import timed_preparation
from fsgc.tables.status import METRICS
from fsgc.tables.stores import check_stores
from fsgc.tables.trained import MODEL, is_trained, write_note
from fsgc.workspace import Workspace

MODELS = TABLES / "models"
EXIT_FAILED = 1
STORES_ONLY = "--stores"
INTO = "--into"
ERROR = "Error: "
ENDED = "ended: "
STARTED = time.time()  # what this process loads is older


def compute(works: list[Work], project: Path = Path()) -> None:
    """Train the model that cells share, unless it is there, and test it in each of them."""
    workspace = Workspace(project / TABLES / "data")
    first = works[0]
    model = project / MODELS / first.model
    if not is_trained(model, first.experiment):
        identity = digest(_recipes(first)["train"])
        print(train.run(workspace, first.experiment, model / MODEL, model / "curves", identity), flush=True)
        write_note(model, first.experiment)
    for work in works:
        out = project / CELLS / work.cell.name
        evaluate.run(workspace, work.experiment, model / MODEL, out, _recipes(work), METRICS)
        print(f"{work.cell.name} done", flush=True)


def _recipes(work: Work) -> dict[str, Recipe]:
    """The recipes of a cell by the files on disk, which must be those that this process has loaded."""
    found = recorded(work.experiment)
    changed = changed_since(STARTED, (module for made in found.values() for module in made.get("code", ())))
    if changed:
        raise FsgcError(f"the code has changed since this run began ({', '.join(changed)}); begin another")
    return found


def prepare_stores(works: list[Work], project: Path = Path()) -> list[str]:
    """Make what cells share, each once; why some of it could not be made.

    Without graphs, splits or episodes no cell of a dataset can be computed; a prepared store that fails concerns the
    methods that want it alone.
    """
    workspace = Workspace(project / TABLES / "data")
    failed: dict[str, str] = {}
    for work in tqdm(works, desc="stores", unit="cell", disable=None):
        if {work.cell.dataset, work.prepared} & failed.keys():
            continue
        blamed = work.cell.dataset
        try:
            ensure_episodes(workspace, work.experiment)
            blamed = work.prepared
            with timed_preparation(work, workspace, project):
                ensure_stores(workspace, work.experiment)
        except FsgcError as error:
            failed[blamed] = str(error)
    return list(failed.values())


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
        check_stores(works, project)
        compute(works, project)
    except FsgcError as error:
        print(f"{ERROR}{error}", flush=True)
        return EXIT_FAILED
    return 0


def take_orders() -> int:
    """Fulfil orders until there are no more; returns in every copy of the process, each time with an exit code."""
    for line in iter(sys.stdin.readline, ""):
        words: list[str] = json.loads(line)
        _load_code(words)
        copy = os.fork()
        if copy == 0:
            return main(words)
        _, status = os.waitpid(copy, 0)
        print(f"\n{ENDED}{os.waitstatus_to_exitcode(status)}", flush=True)  # a copy may have died within a line
    return 0


def _load_code(words: list[str]) -> None:
    """Load the methods of an order, those that are part of the package, so that later orders find them loaded."""
    for cell in map(CellKey.parse, words):
        if cell is not None and cell.model in METHODS:
            METHODS[cell.model].method()


if __name__ == "__main__":
    sys.exit(take_orders())
