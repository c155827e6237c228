"""How long the stores took that methods have prepared: the one cost of a cell that its record does not have.

`tables/preparation.json` has it, a line for each store, in git beside the cells.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsgc.files import replacing
from fsgc.steps.prepare import store_of
from fsgc.tables.grid import TABLES
from fsgc.tables.plan import Work
from fsgc.workspace import Workspace

SECONDS = TABLES / "preparation.json"


@contextmanager
def timed_preparation(work: Work, workspace: Workspace, project: Path = Path()) -> Iterator[None]:
    """Note how long the body takes if it makes the prepared store of a cell."""
    store = store_of(workspace, work.experiment)
    before, start = _made(workspace, store), time.perf_counter()
    yield
    if _made(workspace, store) != before:
        seconds = {**preparation_seconds(project), work.prepared: round(time.perf_counter() - start, 1)}
        with replacing(project / SECONDS) as partial:
            partial.write_text(json.dumps(seconds, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def preparation_seconds(project: Path = Path()) -> dict[str, float]:
    """Name of a prepared store -> the seconds it took; what cannot be read is not known."""
    try:
        content = json.loads((project / SECONDS).read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in content.items() if float(seconds) >= 0}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _made(workspace: Workspace, store: Path | None) -> int | None:
    """When the store was made, by the note that is written then."""
    note = workspace.note(store.parent) if store else None
    return note.stat().st_mtime_ns if note and note.exists() else None
