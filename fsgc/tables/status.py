"""How far every cell has come: current, stale, missing or failed; and how long the rest will take."""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import OUTCOMES, read_outcomes
from fsgc.experiment import as_settings
from fsgc.recipes import digest, recorded
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work

METRICS = "metrics.json"
FAILED = TABLES / "failed"


class State(StrEnum):
    """How far a cell has come."""

    CURRENT = "current"
    STALE = "stale"
    MISSING = "missing"
    FAILED = "failed"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class CellStatus:
    """A cell's state, and why it is not current.

    Attributes:
        cell: which.
        state: how far it has come.
        reasons: why it is not current.
        seconds: what it took, its training included.
        training: what its training took, which other cells may share.
    """

    cell: CellKey
    state: State
    reasons: tuple[str, ...] = ()
    seconds: float | None = None
    training: float | None = None


def status_of(work: Work, project: Path = Path()) -> CellStatus:
    """How far a cell has come; what failed once and was computed since, by whatever command, has not failed."""
    found = _compared(work, project)
    failed = project / FAILED / f"{work.cell.name}.json"
    if found.state is not State.CURRENT and failed.exists():
        return replace(found, state=State.FAILED, reasons=(_reason(failed),))
    return found


def _compared(work: Work, project: Path) -> CellStatus:
    """Compare the recorded recipes of a cell with those of the code and settings at hand."""
    cell, path = work.cell, project / CELLS / work.cell.name / METRICS
    if not path.exists():
        return CellStatus(cell, State.MISSING)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        times = _times(record)
        made_by, code, settings = dict(record["recipes"]), dict(record["code"]), dict(record["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        return CellStatus(cell, State.DAMAGED, (f"{path} cannot be read ({error!r}); delete it and compute it again",))
    try:
        read_outcomes(path.with_name(OUTCOMES))
    except StoreError as error:
        return CellStatus(cell, State.DAMAGED, (f"{error}; 'fsgc tables run' does",))
    now = recorded(work.experiment)
    if made_by == {step: digest(each) for step, each in now.items()}:
        return CellStatus(cell, State.CURRENT, (), *times)
    reasons = _differences(code, settings, now, json.loads(json.dumps(as_settings(work.experiment))))
    steps = [step for step, each in now.items() if made_by.get(step) != digest(each)]
    return CellStatus(cell, State.STALE, tuple(reasons) or (f"the recipe of {', '.join(steps)}",), *times)


def _differences(
    code: Mapping[str, str], settings: Mapping[str, Any], now: Mapping[str, Any], current: Mapping[str, Any]
) -> list[str]:
    modules = {name: value for each in now.values() for name, value in each.get("code", {}).items()}
    changed = sorted(name for name in {**code, **modules} if code.get(name) != modules.get(name))
    before, after = dict(_leaves(settings)), dict(_leaves(current))
    values = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    return [
        *(f"code of {name}" for name in changed),
        *(f"{name} was {before.get(name)!r}, is {after.get(name)!r}" for name in values),
    ]


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _leaves(each, f"{path}{key}.")
        else:
            yield f"{path}{key}", each


def _reason(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"{path} does not say why"


def recorded_times(without: Collection[CellKey], project: Path = Path()) -> list[CellStatus]:
    """What recorded cells took, all but some, for `expected_seconds`; their recipes are not looked at."""
    found = []
    for path in sorted((project / CELLS).glob(f"*/{METRICS}")):
        cell = CellKey.parse(path.parent.name)
        if cell is not None and cell not in without:
            with suppress(OSError, ValueError, KeyError, TypeError):
                times = _times(json.loads(path.read_text(encoding="utf-8")))
                found.append(CellStatus(cell, State.CURRENT, (), *times))
    return found


def _times(record: Mapping[str, Any]) -> tuple[float, float]:
    """What a cell took, and its training alone."""
    training = float(record["train"]["seconds"])
    return float(record["test_seconds"]) + training, training


def minutes_left(statuses: Sequence[CellStatus], models: Mapping[CellKey, str]) -> float | None:
    """One core's minutes for the cells that are not current, by what others took; None if too little is known.

    Args:
        statuses: of those cells and of others, whose times are known.
        models: the model of each that is not current; cells of the same one share its training.
    """
    expected = expected_seconds(statuses)
    if not expected:
        return None
    training = expected_seconds([replace(each, seconds=each.training) for each in statuses])
    left = [each.cell for each in statuses if each.state is not State.CURRENT]
    shared: dict[str, list[float]] = {}
    for cell in left:
        shared.setdefault(models[cell], []).append(training.get(cell, 0.0))
    saved = sum(sum(times) - max(times) for times in shared.values())
    return (sum(expected[cell] for cell in left) - saved) / 60


def expected_seconds(statuses: Sequence[CellStatus]) -> dict[CellKey, float]:
    """How long each cell will take on one core; empty if no cell's time is known.

    A cell is taken to last as long as it did before, else as the median of the cells most like it: other seeds, then
    other shots, then other node inputs, then all cells of its method, then all cells.
    """
    known: dict[tuple[object, ...], list[float]] = {}
    for each in statuses:
        if each.seconds is not None:
            for kind in _kinds(each.cell):
                known.setdefault(kind, []).append(each.seconds)
    if not known:
        return {}
    medians = {kind: statistics.median(seconds) for kind, seconds in known.items()}
    return {
        each.cell: each.seconds
        if each.seconds is not None
        else next(medians[kind] for kind in _kinds(each.cell) if kind in medians)
        for each in statuses
    }


def _kinds(cell: CellKey) -> list[tuple[object, ...]]:
    """The cells that one is compared with, those most like it first."""
    parts = (cell.model, cell.dataset, cell.features, cell.shots)
    return [parts[:count] for count in range(len(parts), -1, -1)]
