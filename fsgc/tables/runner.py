"""Running the cells of the tables side by side on one machine.

DVC runs one stage at a time; here several `dvc repro`, each of one cell, run at once. What the cells share is computed
first, so that no two of them want to write the same thing. A cell that fails leaves its reason and stops no other.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from fsgc.errors import FsgcError
from fsgc.files import remove, replacing
from fsgc.tables.grid import CELLS, CellKey
from fsgc.tables.recipes import OF_METHODS

PIPELINE = "tables/dvc.yaml"
FAILED = "failed.json"
LINES_OF_A_REASON = 3


@dataclass(frozen=True)
class Outcome:
    """How a cell ended: `reason` is None if well."""

    cell: CellKey
    reason: str | None

    def line(self) -> str:
        """The cell and how it ended, in a line."""
        if self.reason is not None:
            return f"{self.cell.name} failed: {self.reason}"
        metrics = json.loads((CELLS / self.cell.name / "metrics.json").read_text(encoding="utf-8"))
        return f"{self.cell.name} {100 * metrics['accuracy']:.2f} ± {100 * metrics['accuracy_ci95']:.2f}"


class Runner:
    """Runs `dvc repro` for cells of the project in the current directory.

    Args:
        jobs: how many cells at once.
        threads: threads of the numerical libraries of each; by default the cores are shared equally.
    """

    def __init__(self, jobs: int, threads: int | None = None) -> None:
        self.jobs = jobs
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.threads = threads or max(1, cores // jobs)
        self._processes: set[subprocess.Popen[str]] = set()
        self._lock = Lock()
        self._stopped = False

    def prepare(self, cells: Sequence[CellKey]) -> None:
        """Compute what the cells share; a dataset that fails here makes its cells fail later, each with a reason."""
        code, output = self._dvc("repro", "--single-item", f"{PIPELINE}:recipes")
        if code:
            raise FsgcError(f"the recipes of the tables cannot be written: {_reason(output)}")
        self._dvc("repro", "--keep-going", *dict.fromkeys(_shared(cells)), echo=True)

    def run(
        self, cells: Sequence[CellKey], started: Callable[[CellKey], None], ended: Callable[[Outcome], None]
    ) -> None:
        """Run the given cells; the callbacks are called from several threads, one at a time.

        However this ends, short of SIGKILL, no process is left behind.
        """
        report = Lock()

        def one(cell: CellKey) -> None:
            if self._stopped:
                return
            with report:
                started(cell)
            outcome = Outcome(cell, self._run_cell(cell))
            if not self._stopped:
                with report:
                    ended(outcome)

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for future in as_completed([pool.submit(one, cell) for cell in cells]):
                    future.result()
            finally:
                self._stop()

    def _run_cell(self, cell: CellKey) -> str | None:
        """Train and test one cell; the reason if that failed."""
        targets = [f"{PIPELINE}:{stage}@{cell.target}" for stage in OF_METHODS]
        # Only these two stages: with the shared ones checked for every cell, two cells would wait for each other.
        code, output = self._dvc("repro", "--single-item", *targets)
        mark = CELLS / cell.name / FAILED
        if code == 0:
            remove(mark)
            return None
        reason = _reason(output)
        if not self._stopped:
            command = shlex.join(["dvc", "repro", targets[-1]])
            with replacing(mark) as partial:
                partial.write_text(json.dumps({"reason": reason, "command": command}, indent=2) + "\n")
        return reason

    def _dvc(self, *arguments: str, echo: bool = False) -> tuple[int, str]:
        """Run DVC; its exit code and what it printed, which `echo` also passes on."""
        threads = {name: str(self.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        process = subprocess.Popen(  # noqa: S603  (the words are names from our own lists)
            [sys.executable, "-m", "dvc", "--wait-for-lock", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            # The stages call `python`: it must be the one that runs this.
            env={
                **os.environ,
                **threads,
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            },
            start_new_session=True,
        )
        with self._lock:
            self._processes.add(process)
        lines = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if echo:
                sys.stderr.write(line)
        code = process.wait()
        with self._lock:
            self._processes.discard(process)
        return code, "".join(lines)

    def _stop(self) -> None:
        self._stopped = True
        with self._lock:
            for process in self._processes:
                os.killpg(process.pid, signal.SIGTERM)


def _shared(cells: Iterable[CellKey]) -> Iterator[str]:
    """What DVC calls the shared stages that end in what the cells need; those before them it finds itself."""
    for cell in cells:
        yield f"{PIPELINE}:episodes@{cell.dataset}-{cell.shots}-{cell.seed}"
        yield f"{PIPELINE}:kernel@{cell.dataset}-{cell.model}"
        yield f"{PIPELINE}:superclasses@{cell.dataset}-{cell.model}-{cell.seed}"


def _reason(output: str) -> str:
    """Why a `dvc repro` failed: our own sentence if it printed one, else its last lines."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    ours = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
    return ours[0] if ours else "\n".join(lines[-LINES_OF_A_REASON:])
