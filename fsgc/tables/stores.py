"""Whether what cells read is what the code and settings at hand make: graphs, splits, episodes, prepared stores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fsgc.api import stores_not_made
from fsgc.errors import StoreError
from fsgc.tables.grid import TABLES
from fsgc.tables.plan import Work, stages_of
from fsgc.workspace import Workspace


def check_stores(works: Iterable[Work], project: Path = Path()) -> None:
    """Refuse to compute cells from stores that are missing or that other code or settings have made.

    What is trained or tested on such a store would be recorded as made by the code and settings at hand.
    """
    for work in works:
        for path in _not_made(work, project).values():
            what = "was made by other code or settings" if path.exists() else "does not exist"
            raise StoreError(f"{path} {what}; 'fsgc tables run' makes it when it begins")


def made_stages(work: Work, project: Path = Path()) -> list[str]:
    """The stages before the training of a cell whose outputs are there, made by the code and settings at hand."""
    missing = set(_not_made(work, project))
    if "graphs" in missing:  # they are checked against the raw files, of which nothing else is known
        missing.add("download")
    later = {"train", "evaluate"}
    return [f"{step}@{name}" for step, name in stages_of(work).items() if step not in missing | later]


def _not_made(work: Work, project: Path) -> dict[str, Path]:
    return stores_not_made(Workspace(project / TABLES / "data"), work.experiment)
