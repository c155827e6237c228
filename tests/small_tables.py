"""A project with a few cheap cells and all the stores they need, without DVC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fsgc.api import ensure_stores
from fsgc.tables.grid import CELLS
from fsgc.tables.plan import Work, load_works
from fsgc.tables.status import METRICS
from fsgc.workspace import Workspace

PARAMS: dict[str, Any] = {
    "episodes": {"queries": 3, "train_epochs": 1, "train_per_epoch": 8, "val": 5, "test": 20},
    "train": {"default": {"max_epochs": 3, "accelerator": "cpu"}},
    "embedder": {"default": {"width": 4}},
}
LISTS = {"datasets": ["triangles_gen"], "shots": [2, 3], "models": ["wl", "untrained", "gin"], "seeds": [0]}


def make_project(project: Path, params: Mapping[str, Any] = PARAMS, lists: Mapping[str, Any] = LISTS) -> list[Work]:
    """Write the settings of a project and compute its stores, but no cell."""
    (project / "tables").mkdir(parents=True)
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    (project / "tables" / "params.yaml").write_text(yaml.safe_dump({"small": lists}))
    works, workspace = load_works(project), Workspace(project / "tables" / "data")
    for work in works:
        ensure_stores(workspace, work.experiment)
    return works


def timeless(project: Path, cell: str) -> str:
    """The text of a cell's record without the time and memory it took."""
    record = json.loads((project / CELLS / cell / METRICS).read_text())
    del record["test_seconds"], record["train"]["seconds"], record["train"]["peak_memory"]
    return json.dumps(record, indent=2)


def outcomes(project: Path, cell: str) -> bytes:
    """The outcome of every query of a cell."""
    return (project / CELLS / cell / "outcomes.bin").read_bytes()
