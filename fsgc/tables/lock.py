"""What DVC has taken over already: the files that `tables/dvc.lock` names, compared with those on disk.

A cell's files are written first and recorded in DVC afterwards, many cells at a time. A run killed in between leaves
cells that are current but not recorded: they are not computed again, only recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from fsgc.tables.grid import CELLS, TABLES
from fsgc.tables.plan import Work
from fsgc.tables.status import METRICS

LOCK = TABLES / "dvc.lock"
_OUTPUTS = (METRICS, "outcomes.bin", "episodes.parquet", "scores.zarr")


def unrecorded(works: Iterable[Work], project: Path = Path()) -> list[Work]:
    """Those of the given cells whose files, and whose model's, are all there, but not as `dvc.lock` has them.

    In a clone without models and scores nothing is unrecorded: what was not computed here is not ours to record.
    """
    recorded = _recorded(project / LOCK)
    found = []
    for work in works:
        cell, model = project / CELLS / work.cell.name, project / TABLES / "models" / work.model
        if not all(path.exists() for path in (*(cell / name for name in _OUTPUTS), model / "model.pt")):
            continue
        files = (cell / METRICS, model / "model.json")
        if any(recorded.get(path.relative_to(project / TABLES).as_posix()) != _md5(path) for path in files):
            found.append(work)
    return found


def _recorded(path: Path) -> dict[str, str]:
    """Output -> MD5 of all stages of a lock file; one that is damaged records nothing, and DVC will say so."""
    try:
        stages: Any = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["stages"]  # noqa: S506
        return {out["path"]: out["md5"] for stage in stages.values() for out in stage.get("outs", ())}
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError):
        return {}


def _md5(path: Path) -> str:
    try:
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    except OSError:
        return ""
