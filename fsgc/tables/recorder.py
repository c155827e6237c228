"""When cells are recorded in DVC: several in one command, so that recording takes a small part of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from fsgc.tables.plan import Work

TOGETHER = 60.0
"""Seconds within which cells are recorded together; a run that is killed before records them when it resumes."""
MOST_RECORDING = 0.05
"""The share of the time that recording may take: what takes longer to record is recorded less often."""


class Recorder:
    """Collects computed cells and records them from time to time, the first at once.

    A command of DVC takes seconds of a core however little it does, the more the larger the tables are.

    Args:
        record: records some cells in one command.
    """

    def __init__(self, record: Callable[[Sequence[Work]], None]) -> None:
        self._record = record
        self._waiting: list[Work] = []
        self._due = monotonic()

    def add(self, works: Iterable[Work]) -> None:
        """Take cells whose files are there."""
        self._waiting += works

    def patience(self) -> float | None:
        """Seconds for which more cells may be waited for; None if nothing has to be recorded."""
        return max(0.0, self._due - monotonic()) if self._waiting else None

    def record_if_due(self) -> None:
        """Record what has been collected, if it is time."""
        if self._waiting and monotonic() >= self._due:
            self.record()

    def record(self) -> None:
        """Record what has been collected."""
        began = monotonic()
        if self._waiting:
            self._record(self._waiting)
        now, self._waiting = monotonic(), []
        self._due = now + max(TOGETHER, (now - began) / MOST_RECORDING)
