"""The cells of the tables as they lie on disk: one directory a dataset, number of shots, model and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fsgc.errors import StoreError
from fsgc.statistics.intervals import Floats
from fsgc.tables.grid import CellKey
from fsgc.tables.runner import FAILED
from fsgc.workspace import Workspace
from fsgc.zarr_io import read_arrays

SCORES_KIND = "fsgc.scores"
_NEEDED = ("model", "dataset", "way", "shots", "queries", "seed", "episodes", "accuracy", "accuracy_std")


class State(StrEnum):
    """How far a cell has come."""

    DONE = "done"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Protocol:
    """What two cells must share to be compared in pairs: the same test episodes, in the same order.

    Attributes:
        dataset: key of the dataset.
        way: N.
        shots: K.
        queries: Q of the test episodes.
        episodes: how many there are.
        fingerprint: of the test episodes' graph indices; empty where the metrics do not tell.
    """

    dataset: str
    way: int
    shots: int
    queries: int
    episodes: int
    fingerprint: str


@dataclass(frozen=True)
class Cell:
    """A cell and what is known of it.

    Attributes:
        key: what it is the result of.
        path: its directory.
        state: how far it has come.
        reason: why it is not done; empty if it is.
        metrics: the content of `metrics.json`; empty unless done.
        command: what was run, where a failed cell tells.
    """

    key: CellKey
    path: Path
    state: State
    reason: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    @cached_property
    def accuracy(self) -> Floats:
        """The accuracy of every test episode, `[E]`."""
        return _accuracies(self.path)

    @property
    def protocol(self) -> Protocol:
        """The test episodes it was computed on."""
        values = {name: self.metrics[name] for name in ("dataset", "way", "shots", "queries", "episodes")}
        return Protocol(**values, fingerprint=str(self.metrics.get("test_episodes", "")))

    def scores(self) -> npt.NDArray[np.float32]:
        """The scores of all queries, `[E, N·Q, N]`."""
        return read_arrays(self.path / "scores.zarr", SCORES_KIND, ("scores",))[0]["scores"]

    def curves(self) -> dict[str, list[float]]:
        """The curves of its training, a value an epoch; none where nothing was trained or a file is damaged."""
        files = sorted((self.path / "curves" / "plots" / "metrics").glob("*.tsv"))
        return {file.stem: values for file in files if (values := _curve(file))}

    def hyperparameters(self) -> dict[str, Any]:
        """The settings and node features its model was trained with; none where the model file is not at hand."""
        from fsgc.training.checkpoint import peek  # PyTorch takes seconds to load, and only this needs it

        try:
            content = peek(self.path / "model.pt")
        except StoreError:
            return {}
        return {**content["settings"], "features": " ".join(content["features"])}


def workspace_of(root: Path) -> Workspace:
    """Where the episodes of the cells below `root` are: beside them, as in the tables' pipeline, or where all are."""
    beside = root.parent / "data"
    return Workspace(beside) if (beside / "episodes").is_dir() else Workspace.find()


def find_cells(root: Path) -> list[Cell]:
    """All cells below `root` in the order of their keys; a missing root has none, a bad cell says what is wrong."""
    keys = [(CellKey.parse(path.name), path) for path in root.glob("*-seed*") if path.is_dir()]
    return [read_cell(key, path) for key, path in sorted((key, path) for key, path in keys if key)]


def read_cell(key: CellKey, path: Path) -> Cell:
    """Read and check one cell; nothing in its directory makes this raise."""
    if (path / FAILED).exists():
        return _failed(key, path)
    missing = [name for name in ("metrics.json", "episodes.parquet") if not (path / name).exists()]
    if missing:
        return Cell(key, path, State.UNFINISHED, f"no {' and no '.join(missing)} yet")
    try:
        metrics = json.loads((path / "metrics.json").read_text(encoding="utf-8"))
        _check(key, metrics, _accuracies(path))
    except StoreError as error:
        return Cell(key, path, State.DAMAGED, str(error))
    except (OSError, ValueError, TypeError) as error:
        return Cell(key, path, State.DAMAGED, f"metrics.json cannot be read ({error})")
    return Cell(key, path, State.DONE, metrics=metrics)


def _failed(key: CellKey, path: Path) -> Cell:
    try:
        content = json.loads((path / FAILED).read_text(encoding="utf-8"))
        reason, command = str(content["reason"]), str(content.get("command", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        reason, command = f"{FAILED} does not say why", ""
    return Cell(key, path, State.FAILED, reason, command=command)


def _accuracies(path: Path) -> Floats:
    try:
        return pl.read_parquet(path / "episodes.parquet")["accuracy"].cast(pl.Float64).to_numpy()
    except Exception as error:  # a damaged file makes polars raise nearly anything
        raise StoreError(f"episodes.parquet cannot be read ({error})") from error


def _curve(file: Path) -> list[float]:
    """One curve as DVCLive writes it: a head, then step and value of every epoch."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        return [float(line.split("\t")[1]) for line in lines]
    except (OSError, ValueError, IndexError):
        return []


def _check(key: CellKey, metrics: Any, accuracy: Floats) -> None:
    """Refuse metrics of another experiment than the directory's name says, or another accuracy than the episodes'."""
    absent = [name for name in _NEEDED if name not in metrics] if isinstance(metrics, dict) else list(_NEEDED)
    if absent:
        raise StoreError(f"metrics.json lacks {', '.join(absent)}")
    found = CellKey(metrics["dataset"], metrics["shots"], metrics["model"], metrics["seed"])
    if found != key:
        raise StoreError(f"metrics.json is of {found.name}")
    if len(accuracy) != metrics["episodes"] or not len(accuracy):
        raise StoreError(f"episodes.parquet has {len(accuracy)} rows, metrics.json speaks of {metrics['episodes']}")
    if not (np.isfinite(accuracy).all() and np.isclose(accuracy.mean(), metrics["accuracy"], rtol=0, atol=1e-9)):
        raise StoreError(
            f"the episodes' mean accuracy is {accuracy.mean():.6f}, metrics.json says {metrics['accuracy']:.6f}"
        )
