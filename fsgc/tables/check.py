"""Computing cells of the tables again, from the raw files on, and comparing them with what is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsgc.evaluation.outcomes import OUTCOMES, Outcomes
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work
from fsgc.tables.runner import reason_of
from fsgc.tables.status import METRICS
from fsgc.tables.worker import ERROR, INTO, STORES_ONLY
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
        reason: why it could not be computed.
    """

    cell: CellKey
    recorded: float
    found: float | None = None
    queries: int = 0
    changed: int = 0
    reason: str = ""

    @property
    def same(self) -> bool:
        """Whether every query has the same outcome."""
        return self.found is not None and not self.changed


def check(works: Sequence[Work], project: Path = Path()) -> Iterator[Compared]:
    """Compute recorded cells again, one after the other, in a directory that is removed afterwards.

    Nothing is taken from what is stored, neither graphs nor episodes nor models, but the downloaded raw files. Each
    has as many threads as it had: with another number results may differ in the last digits.
    """
    with tempfile.TemporaryDirectory(prefix="fsgc-check-") as name:
        scratch = Path(name)
        for work in works:
            _share_raw_files(work, project, scratch)
            yield _compared(work, project, scratch)


def _compared(work: Work, project: Path, scratch: Path) -> Compared:
    before, after = (root / CELLS / work.cell.name for root in (project, scratch))
    record = json.loads((before / METRICS).read_text(encoding="utf-8"))
    for options in ([STORES_ONLY], []):
        reason = _work([INTO, str(scratch), *options, work.cell.name], int(record["threads"]), project)
        if reason:
            return Compared(work.cell, float(record["accuracy"]), reason=reason)
    recorded, found = Outcomes.load(before / OUTCOMES), Outcomes.load(after / OUTCOMES)
    if (recorded.stream, recorded.test_episodes) != (found.stream, found.test_episodes):
        return Compared(work.cell, float(record["accuracy"]), reason="its test episodes are others")
    changed = int(np.sum(recorded.correct != found.correct))
    was, now = (float(each.correct.mean()) for each in (recorded, found))
    return Compared(work.cell, was, now, recorded.correct.size, changed)


def _share_raw_files(work: Work, project: Path, scratch: Path) -> None:
    stored, used = (Workspace(root / TABLES / "data").raw(work.cell.dataset) for root in (project, scratch))
    if stored.exists() and not used.exists():
        used.parent.mkdir(parents=True, exist_ok=True)
        used.symlink_to(stored.resolve())


def _work(words: Sequence[str], threads: int, project: Path) -> str | None:
    """Why a worker could not do what it was told; None if it did."""
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))}
    with subprocess.Popen(  # noqa: S603  (the words are names from our own lists)
        [sys.executable, "-m", "fsgc.tables.worker", *words],
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [line.rstrip() for line in process.stdout]
        code = process.wait()
    # What is wrong with the stores of one dataset does not make a worker fail.
    return reason_of(lines, code) if code or any(line.startswith(ERROR) for line in lines) else None
