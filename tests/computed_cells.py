"""The project of `tests/tables/conftest.py`, whose cells are computed for real: its settings, and edits of records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsgc.tables import worker
from fsgc.tables.grid import CELLS
from fsgc.tables.plan import Work, load_works
from fsgc.tables.status import METRICS
from tests.small_tables import PARAMS as SMALL

PARAMS: dict[str, Any] = {**SMALL, "train": {"default": {"max_epochs": 1, "accelerator": "cpu"}}}
LISTS = {"datasets": ["triangles_gen"], "shots": [2, 3], "models": ["gin", "wl"], "seeds": [0]}
PACKAGE = Path(worker.__file__).parents[1]
GIN2, GIN3, WL2 = (f"triangles_gen-{cell}-seed0" for cell in ("2shot-gin", "3shot-gin", "2shot-wl"))


def works_of(project: Path) -> dict[str, Work]:
    """The cells by name."""
    return {work.cell.name: work for work in load_works(project)}


def edit(project: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a cell's record, as damage or another version would."""
    path = project / CELLS / name / METRICS
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
