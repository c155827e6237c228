"""The cells of the tables as they are on disk: one directory per dataset, number of shots, model and seed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import OUTCOMES, Outcomes
from fsgc.report.metrics import Metrics, read_metrics
from fsgc.report.project import Project
from fsgc.tables.grid import CellKey
from fsgc.tables.status import FAILED, METRICS, State
from fsgc.workspace import Workspace


@dataclass(frozen=True)
class Protocol:
    """What two cells must share to be compared in pairs: the same test episodes, in the same order.

    Attributes:
        dataset: key of the dataset.
        way: N.
        shots: K.
        queries: Q of the test episodes.
        episodes: how many there are.
        fingerprint: of the test episodes' graph indices; empty where the metrics do not have it.
    """

    dataset: str
    way: int
    shots: int
    queries: int
    episodes: int
    fingerprint: str


@dataclass(frozen=True)
class Cell:
    """A cell with a result, and what is known of it.

    Attributes:
        key: what it is the result of.
        path: its directory.
        model: the directory of its model, whether it is there or not.
        metrics: its record.
        stale: which code and settings have changed since it was computed.
    """

    key: CellKey
    path: Path
    model: Path
    metrics: Metrics
    stale: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """`CURRENT` or `STALE`."""
        return State.STALE if self.stale else State.CURRENT

    @cached_property
    def outcomes(self) -> Outcomes:
        """Which test queries were answered correctly."""
        return Outcomes.load(self.path / OUTCOMES)

    @property
    def protocol(self) -> Protocol:
        """The test episodes it was computed on."""
        m = self.metrics
        return Protocol(m.dataset, m.way, m.shots, m.queries, m.episodes, m.test_episodes)

    def curves(self) -> dict[str, list[float]]:
        """The curves of its training, one value per epoch; empty where nothing was trained or they are not here."""
        files = sorted((self.model / "curves" / "plots" / "metrics").glob("*.tsv"))
        return {file.stem: values for file in files if (values := _curve(file))}


@dataclass(frozen=True)
class FaultyCell:
    """A cell without a result.

    Attributes:
        key: what it would be the result of.
        state: `FAILED`, `MISSING` or `DAMAGED`.
        reason: why, in words.
        command: what was run, where a failed cell says so.
    """

    key: CellKey
    state: State
    reason: str
    command: str = ""


def workspace_of(root: Path) -> Workspace:
    """Where the data of the cells below `root` is: beside them, as in the tables' pipeline, or where all data is."""
    beside = root.parent / "data"
    return Workspace(beside) if (beside / "episodes").is_dir() else Workspace.find()


def find_cells(root: Path) -> list[Cell | FaultyCell]:
    """All cells below `root`, and those that its project wants but does not have, in the order of their keys.

    A missing root has none, a bad cell says what is wrong.
    """
    project = Project(root)
    paths = {key: path for path in root.glob("*-*shot-*") if path.is_dir() and (key := CellKey.parse(path.name))}
    failed = {key: path for path in (root.parent / FAILED.name).glob("*.json") if (key := CellKey.parse(path.stem))}
    keys = sorted({*paths, *failed, *project.wanted()})
    return [read_cell(key, root / key.name, failed.get(key), project) for key in keys]


def read_cell(key: CellKey, path: Path, failed: Path | None, project: Project) -> Cell | FaultyCell:
    """Read and check one cell; nothing in its files makes this raise."""
    if failed is not None and not project.is_current(key):  # it may have been computed since, by whatever command
        return _failed(key, failed)
    missing = [name for name in (METRICS, OUTCOMES) if not (path / name).exists()]
    if missing:
        reason = "it has not been computed yet" if len(missing) == 2 else f"{path / missing[0]} is missing"
        return FaultyCell(key, State.MISSING if len(missing) == 2 else State.DAMAGED, reason)
    try:
        cell = Cell(key, path, project.model_directory(key), read_metrics(path / METRICS), project.staleness(key))
        _check(cell)
    except StoreError as error:
        return FaultyCell(key, State.DAMAGED, str(error))
    return cell


def _check(cell: Cell) -> None:
    """Refuse metrics of another experiment than the directory's name says, or another accuracy than the outcomes'."""
    key, metrics, correct = cell.key, cell.metrics, cell.outcomes.correct
    found = CellKey(metrics.dataset, metrics.shots, metrics.model, metrics.seed, key.features)
    if found != key:
        raise StoreError(f"{cell.path / METRICS} is damaged: it is of {found.name}")
    shape = (metrics.episodes, metrics.way * metrics.queries)
    if correct.shape != shape:
        raise StoreError(
            f"{cell.path / OUTCOMES} is damaged: it has the outcomes of {correct.shape[0]} episodes with "
            f"{correct.shape[1]} queries, {METRICS} says {shape[0]} with {shape[1]}"
        )
    if abs(correct.mean() - metrics.accuracy) > 1e-9:
        raise StoreError(
            f"{cell.path / METRICS} is damaged: it says the accuracy is {metrics.accuracy:.6f}, "
            f"{OUTCOMES} says {correct.mean():.6f}"
        )


def _failed(key: CellKey, path: Path) -> FaultyCell:
    try:
        content = json.loads(path.read_bytes())
        reason, command = (_printable(content[name]) for name in ("reason", "command"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        reason, command = f"{path} does not say why", ""
    return FaultyCell(key, State.FAILED, reason, command)


def _printable(text: str) -> str:
    """A text without control characters, which a terminal would obey, and without half characters."""
    kept = "".join(character if character.isprintable() or character == "\n" else "�" for character in str(text))
    return kept.encode("utf-8", "replace").decode()


def _curve(file: Path) -> list[float]:
    """One curve as DVCLive writes it: a head, then step and value of every epoch."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        return [float(line.split("\t")[1]) for line in lines]
    except (OSError, ValueError, IndexError):
        return []
