"""What a worker does: stores in, the result files of one model and its cells out.

It is the function that computes cells on one machine, `fsgc.tables.worker.compute`, in a temporary project of its own.
"""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fsgc.cluster.parcels import Parcel, pack, unpack
from fsgc.errors import FsgcError, SettingsError
from fsgc.provenance import commit
from fsgc.recipes import digest, recorded
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work, work_of
from fsgc.tables.processes import LINES_OF_A_REASON
from fsgc.tables.status import METRICS

MODEL_FILES = ("model.pt", "model.json", "curves", "trained_from.json")
CELL_FILES = ("outcomes.bin", "episodes.parquet", "scores.zarr", METRICS)  # the record last: with it, a cell is done


@dataclass(frozen=True)
class Order:
    """What is to be computed: the cells of one model.

    Attributes:
        cells: their names.
        params: the content of `params.yaml`.
        recipes: cell -> step -> digest of its recipe where the order was given.
        stores: where each store goes below `tables/`.
        state: a directory that all machines share, for checkpoints; empty if there is none.
        threads: of the numerical libraries.
        commit: of the driver's code, to be recorded: a worker may have the package without its repository.
    """

    cells: tuple[str, ...]
    params: Mapping[str, Any]
    recipes: Mapping[str, Mapping[str, str]]
    stores: tuple[str, ...]
    state: str = ""
    threads: int = 1
    commit: str = ""


@dataclass(frozen=True)
class Answer:
    """What came of an order.

    Attributes:
        files: place below `tables/` -> what belongs there; whatever was finished, also before a failure.
        reason: why not everything was; empty if all went well.
    """

    files: Mapping[str, Parcel]
    reason: str = ""


def stores_of(works: Sequence[Work]) -> tuple[str, ...]:
    """The stores, below `tables/`, that the cells of a model need."""
    paths: dict[str, None] = {}
    for work in works:
        paths |= dict.fromkeys(
            (
                f"data/graphs/{work.cell.dataset}.zarr",
                f"data/splits/{work.split}.json",
                f"data/episodes/{work.episodes}.zarr",
            )
        )
        if work.prepared:
            paths[f"data/prepared/{work.prepared}"] = None
    return tuple(paths)


def model_places(work: Work) -> tuple[str, ...]:
    """The files and directories, below `tables/`, of the model of a cell."""
    return tuple(f"models/{work.model}/{name}" for name in MODEL_FILES)


def cell_places(work: Work) -> tuple[str, ...]:
    """The files and directories, below `tables/`, of the result of a cell; the record is the last."""
    return tuple(f"cells/{work.cell.name}/{name}" for name in CELL_FILES)


def places_of(works: Sequence[Work]) -> tuple[str, ...]:
    """All that may come of the cells of a model, in the order in which to write it."""
    return (*model_places(works[0]), *(place for work in works for place in cell_places(work)))


class Orders:
    """Gives orders for the cells of the project in the current directory.

    Args:
        params: the content of `params.yaml`.
        state: a directory that all machines share; empty if there is none.
        threads: of the numerical libraries.
    """

    def __init__(self, params: Mapping[str, Any], state: str = "", threads: int = 1) -> None:
        self.params, self.state, self.threads = params, state, threads
        self.commit = commit()

    def of(self, works: Sequence[Work]) -> Order:
        """The order that computes the cells of a model; a model that is there already goes with it.

        Raises:
            StoreError: what they read is missing, or is not what the code and settings at hand make.
        """
        from fsgc.tables.stores import check_stores
        from fsgc.tables.trained import is_trained
        from fsgc.tables.worker import MODELS

        check_stores(works)
        recipes = {work.cell.name: _digests(work) for work in works}
        stores, first = stores_of(works), works[0]
        if is_trained(MODELS / first.model, first.experiment):
            stores += model_places(first)
        return Order(tuple(recipes), self.params, recipes, stores, self.state, self.threads, self.commit)


def fulfil(order: Order, *stores: Parcel) -> Answer:
    """Compute the cells of an order; an error is an answer, not an exception, so that it is not retried."""
    try:
        with tempfile.TemporaryDirectory(prefix="fsgc-cell-", ignore_cleanup_errors=True) as directory:
            answer = _answer(order, stores, Path(directory))
            # Paths as the driver knows them.
            return replace(answer, reason=answer.reason.replace(f"{directory}/", ""))
    except Exception as error:
        return Answer({}, _reason(error))


def _answer(order: Order, stores: Sequence[Parcel], project: Path) -> Answer:
    works = [_work(name, order) for name in order.cells]
    for place, parcel in zip(order.stores, stores, strict=True):
        unpack(parcel, project / TABLES / place)
    if order.state:
        training = project / TABLES / "data" / ".training"
        Path(order.state).mkdir(parents=True, exist_ok=True)
        training.symlink_to(Path(order.state).resolve(), target_is_directory=True)
    reason = ""
    try:
        _compute(works, project, order.threads)
    except Exception as error:
        reason = _reason(error)
    return Answer(_finished(works, project, order), reason)


def _compute(works: list[Work], project: Path, threads: int) -> None:
    """Compute cells with so many threads, as a process that was started with that number does."""
    import torch
    from threadpoolctl import threadpool_limits

    from fsgc.tables.worker import compute  # PyTorch and the methods: only where cells are computed

    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        compute(works, project)


def _finished(works: Sequence[Work], project: Path, order: Order) -> dict[str, Parcel]:
    """The model, unless it was sent, and the cells that have got their record, which is written last."""
    from fsgc.evaluation.results import write_json
    from fsgc.tables.trained import is_trained
    from fsgc.tables.worker import MODELS

    places: list[str] = []
    first = works[0]
    if is_trained(project / MODELS / first.model, first.experiment):
        places += (place for place in model_places(first) if place not in order.stores)
    for work in works:
        record = project / TABLES / cell_places(work)[-1]
        if record.exists():
            write_json(record, {**json.loads(record.read_text(encoding="utf-8")), "commit": order.commit})
            places += cell_places(work)
    return {place: pack(project / TABLES / place) for place in places}


def _reason(error: Exception) -> str:
    """Why an order could not be fulfilled: our own sentence, what the system says, or the last lines of a traceback."""
    if isinstance(error, FsgcError):
        return str(error)
    if isinstance(error, OSError):
        return f"on the worker: {error}"
    lines = "".join(traceback.format_exception(error)).rstrip().splitlines()
    return "\n".join(lines[-LINES_OF_A_REASON:])


def _work(name: str, order: Order) -> Work:
    """A cell under the code that is installed here, which must be the code that the order was given by."""
    cell = CellKey.parse(name)
    if cell is None:
        raise SettingsError(f"{name!r} is not the name of a cell")
    work = work_of(cell, order.params)
    here, there = _digests(work), dict(order.recipes[name])
    if here != there:
        steps = ", ".join(step for step in there if here.get(step) != there[step])
        raise SettingsError(
            f"{name}: the code or settings of this worker are not the driver's (they differ in {steps}); install the "
            f"same version of fsgc on all machines"
        )
    return work


def _digests(work: Work) -> dict[str, str]:
    return {step: digest(each) for step, each in recorded(work.experiment).items()}
