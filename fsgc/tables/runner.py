"""Running the cells of the tables side by side on one machine.

What the cells share (graphs, splits, episodes, prepared stores) is reproduced by DVC first. Then every model with its
cells is computed by a worker, several at once; DVC only records the results, one command at a time, so nothing ever
waits for its locks. A cell that fails leaves its reason and stops no other.
"""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from threading import Lock, Thread

from fsgc.errors import FsgcError
from fsgc.files import remove, replacing
from fsgc.tables.dvc import Dvc
from fsgc.tables.grid import CELLS, TABLES, CellKey
from fsgc.tables.plan import Work
from fsgc.tables.processes import Worker
from fsgc.tables.recorder import Recorder
from fsgc.tables.status import FAILED, METRICS, State, status_of
from fsgc.tables.stores import made_stages
from fsgc.tables.worker import STORES_ONLY


@dataclass(frozen=True)
class Outcome:
    """How a cell ended: `reason` is None if well."""

    cell: CellKey
    reason: str | None

    def line(self) -> str:
        """The cell and how it ended, in a line."""
        if self.reason is not None:
            return f"{self.cell.name} failed: {self.reason}"
        metrics = json.loads((CELLS / self.cell.name / METRICS).read_text(encoding="utf-8"))
        return f"{self.cell.name} {100 * metrics['accuracy']:.2f}"


Result = tuple[list[Work], str | None]  # the cells of a model, and why not all of them were computed
News = tuple[list[Work], str | bool | None]  # the same, or True: they have begun


class Runner:
    """Computes cells of the project in the current directory.

    Args:
        jobs: how many models at once.
        threads: threads of the numerical libraries of each; results may differ in the last digits between numbers of
            threads, so each records its own.
    """

    def __init__(self, jobs: int, threads: int = 1) -> None:
        self.jobs, self.threads = jobs, threads
        self.dvc = Dvc(TABLES)
        self._workers: list[Worker] = []
        self._lock = Lock()
        self._stopped = False

    def prepare(self, works: Sequence[Work]) -> None:
        """Compute what the cells share; what fails here makes the cells that need it fail later, each with a reason."""
        self.dvc.repro("recipes")
        with self._worker() as worker:
            why = worker.compute([STORES_ONLY, *(work.cell.name for work in works)])
        if why is not None:
            print(f"Not all stores could be made: {why}", file=sys.stderr)
        # With an older store in the place of one that failed, DVC would take it for what the recipe makes.
        self.dvc.commit(*dict.fromkeys(stage for work in works for stage in made_stages(work)), may_fail=True)

    def run(self, works: Sequence[Work], started: Callable[[CellKey], None], ended: Callable[[Outcome], None]) -> None:
        """Compute the given cells, those of one model together; the callbacks are called from this thread.

        However this ends, even by SIGKILL, no process is left behind.
        """
        groups = list(by_model(works).values())
        todo: queue.SimpleQueue[list[Work]] = queue.SimpleQueue()
        for group in groups:
            todo.put(group)
        news: queue.SimpleQueue[News] = queue.SimpleQueue()
        threads = [
            Thread(target=self._work, args=(todo, news), daemon=True) for _ in range(min(self.jobs, len(groups)))
        ]
        for thread in threads:
            thread.start()
        try:
            left, recorder = len(groups), Recorder(self.record)
            while left:
                for group, message in _arrived(news, recorder.patience()):
                    if isinstance(message, bool):
                        for work in group:
                            started(work.cell)
                    else:
                        left -= 1
                        recorder.add(self.settle(group, message, ended))
                recorder.record_if_due()
            recorder.record()
        finally:
            self._stop()

    def _work(
        self,
        todo: queue.SimpleQueue[list[Work]],
        news: queue.SimpleQueue[News],
    ) -> None:
        with self._worker() as worker:
            while not self._stopped:
                try:
                    group = todo.get_nowait()
                except queue.Empty:
                    return
                news.put((group, True))
                news.put((group, worker.compute([work.cell.name for work in group])))

    def _worker(self) -> Worker:
        """A worker that ends with the run."""
        worker = Worker(self.threads)
        with self._lock:
            self._workers.append(worker)
            if self._stopped:
                worker.kill()
        return worker

    def record(self, works: Sequence[Work]) -> None:
        """Record cells in DVC whose files, and whose models', are there; should that fail, the next run does it."""
        targets = (stage for work in works for stage in (f"train@{work.model}", f"evaluate@{work.cell.name}"))
        try:
            self.dvc.commit(*dict.fromkeys(targets))
        except FsgcError as error:
            print(f"Computed, but not recorded in DVC; the next run records it: {error}", file=sys.stderr)

    def settle(self, group: Sequence[Work], why: str | None, ended: Callable[[Outcome], None]) -> list[Work]:
        """Tell which cells of a model are computed, and note why others are not; those that are to be recorded."""
        finished: list[Work] = []
        for work in group:
            mark = FAILED / f"{work.cell.name}.json"
            reason = None if why is None or _is_fresh(work) else why
            if reason is None:
                remove(mark)
                finished.append(work)
            else:
                command = f"cd tables && dvc repro evaluate@{work.cell.name}"
                with replacing(mark) as partial:
                    partial.write_text(json.dumps({"reason": reason, "command": command}, indent=2) + "\n")
            ended(Outcome(work.cell, reason))
        return finished

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for worker in self._workers:
                worker.kill()


def _arrived(news: queue.SimpleQueue[News], patience: float | None) -> list[News]:
    """All news there are; the first is waited for, at most so many seconds."""
    arrived: list[News] = []
    try:
        arrived.append(news.get(timeout=patience))
        while True:
            arrived.append(news.get_nowait())
    except queue.Empty:
        return arrived


def by_model(works: Iterable[Work]) -> dict[str, list[Work]]:
    """The cells that share a model, by its name."""
    groups: dict[str, list[Work]] = {}
    for work in works:
        groups.setdefault(work.model, []).append(work)
    return groups


def starting_order(works: Iterable[Work], seconds: Mapping[CellKey, float], patterns: Sequence[str] = ()) -> list[Work]:
    """Cells in the order in which to begin them: those that fit the first pattern, then the second, and so on.

    Among these, the models that take longest come first: a long one that begins last would run alone, on one of many
    machines, when all others are done.
    """

    def place(group: list[Work]) -> tuple[int, float]:
        fits = (any(fnmatchcase(work.cell.name, pattern) for work in group) for pattern in patterns)
        wanted = next((place for place, fit in enumerate(fits) if fit), len(patterns))
        return wanted, -sum(seconds.get(work.cell, 0.0) for work in group)

    return [work for group in sorted(by_model(works).values(), key=place) for work in group]


def _is_fresh(work: Work) -> bool:
    """Whether a cell of a group that failed was finished before the failure."""
    return status_of(work).state is State.CURRENT
