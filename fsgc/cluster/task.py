"""What a worker does: stores in, the result files of one model and its cells out.

It is the function that computes cells on one machine, `fsgc.tables.worker.compute`, in a temporary project of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsgc.cluster.parcels import Parcel, pack, unpack
from fsgc.errors import FsgcError, SettingsError
from fsgc.recipes import digest, recorded
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work, work_of
from fsgc.tables.status import METRICS

MODEL_FILES = ("model.pt", "model.json", "curves")
CELL_FILES = (METRICS, "outcomes.bin", "episodes.parquet", "scores.zarr")


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
    """

    cells: tuple[str, ...]
    params: Mapping[str, Any]
    recipes: Mapping[str, Mapping[str, str]]
    stores: tuple[str, ...]
    state: str = ""
    threads: int = 1


@dataclass(frozen=True)
class Answer:
    """What came of an order: the files below `tables/`, or why there are none."""

    files: Mapping[str, Parcel]
    reason: str = ""


def stores_of(works: list[Work]) -> tuple[str, ...]:
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


def results_of(works: list[Work]) -> tuple[str, ...]:
    """The files and directories, below `tables/`, that come of the cells of a model."""
    model = [f"models/{works[0].model}/{name}" for name in MODEL_FILES]
    return (*model, *(f"cells/{work.cell.name}/{name}" for work in works for name in CELL_FILES))


def order_for(works: list[Work], params: Mapping[str, Any], state: str = "", threads: int = 1) -> Order:
    """The order that computes the cells of a model."""
    recipes = {work.cell.name: _digests(work) for work in works}
    return Order(tuple(recipes), params, recipes, stores_of(works), state, threads)


def fulfil(order: Order, *stores: Parcel) -> Answer:
    """Compute the cells of an order; an error of ours is an answer, not an exception, so that it is not retried."""
    try:
        with tempfile.TemporaryDirectory(prefix="fsgc-cell-") as directory:
            return _compute(order, stores, Path(directory))
    except FsgcError as error:
        return Answer({}, str(error))
    except OSError as error:
        return Answer({}, f"the worker's disk: {error}")


def _compute(order: Order, stores: tuple[Parcel, ...], project: Path) -> Answer:
    import torch

    from fsgc.tables.worker import compute  # PyTorch and the methods: only where cells are computed

    works = [_work(name, order) for name in order.cells]
    for place, parcel in zip(order.stores, stores, strict=True):
        unpack(parcel, project / TABLES / place)
    if order.state:
        training = project / TABLES / "data" / ".training"
        Path(order.state).mkdir(parents=True, exist_ok=True)
        training.symlink_to(Path(order.state).resolve(), target_is_directory=True)
    torch.set_num_threads(order.threads)
    compute(works, project)
    return Answer({place: pack(project / TABLES / place) for place in results_of(works)})


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
