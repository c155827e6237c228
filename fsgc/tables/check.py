"""Computing cells of the tables again, from the raw files on, and comparing them with what is recorded."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsgc.evaluation.outcomes import OUTCOMES, Outcomes
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work
from fsgc.tables.processes import Worker
from fsgc.tables.status import METRICS
from fsgc.tables.worker import INTO, STORES_ONLY
from fsgc.workspace import Workspace


@dataclass(frozen=True)
class Compared:
    """A recorded cell beside the same cell computed again.

    Attributes:
        cell: which.
        recorded: its accuracy as recorded, between 0 and 1.
        found: its accuracy now; None if it could not be computed.
        queries: how many queries its test episodes have.
        changed: how many of them are answered correctly in only one of the two.
        same_confusion: whether each class is taken for each other one as often in both.
        reason: why it could not be computed.
    """

    cell: CellKey
    recorded: float
    found: float | None = None
    queries: int = 0
    changed: int = 0
    same_confusion: bool = True
    reason: str = ""

    @property
    def same(self) -> bool:
        """Whether the same queries are answered correctly, and the others as often with each other class."""
        return self.found is not None and not self.changed and self.same_confusion


def check(works: Sequence[Work]) -> Iterator[Compared]:
    """Compute recorded cells of the project in the current directory again, one after the other, in another one.

    Nothing is taken from what is stored, neither graphs nor episodes nor models, but the downloaded raw files. Each
    has as many threads as it had: with another number results may differ in the last digits.
    """
    with tempfile.TemporaryDirectory(prefix="fsgc-check-") as name:
        scratch = Path(name)
        for work in works:
            _share_raw_files(work, scratch)
            yield _compared(work, scratch)


def _compared(work: Work, scratch: Path) -> Compared:
    before = CELLS / work.cell.name
    record = json.loads((before / METRICS).read_text(encoding="utf-8"))
    accuracy = float(record["accuracy"])
    with Worker(int(record["threads"])) as worker:
        for options in ([STORES_ONLY], []):
            reason = worker.compute([INTO, str(scratch), *options, work.cell.name])
            if reason is not None:
                return Compared(work.cell, accuracy, reason=reason)
    recorded, found = (Outcomes.load(root / OUTCOMES) for root in (before, scratch / before))
    if (recorded.stream, recorded.test_episodes) != (found.stream, found.test_episodes):
        return Compared(work.cell, accuracy, reason="its test episodes are others")
    changed = int(np.sum(recorded.correct != found.correct))
    same = bool(np.array_equal(recorded.confusion, found.confusion))
    return Compared(work.cell, accuracy, float(found.accuracy.mean()), recorded.correct.size, changed, same)


def _share_raw_files(work: Work, scratch: Path) -> None:
    stored, used = (Workspace(root / TABLES / "data").raw(work.cell.dataset) for root in (Path(), scratch))
    if stored.exists() and not used.exists():
        used.parent.mkdir(parents=True, exist_ok=True)
        used.symlink_to(stored.resolve())
