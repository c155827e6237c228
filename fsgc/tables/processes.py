"""Workers as processes of their own: how one is started, how it ends, and why it failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from fsgc.tables.worker import ERROR

LINES_OF_A_REASON = 3
# For glibc: what a training step frees stays with the process; else the next step faults it in again, page by page.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33), "MALLOC_TOP_PAD_": str(2**26)}


def start_worker(words: Sequence[str], threads: int) -> subprocess.Popen[str]:
    """Start `fsgc.tables.worker` in the current directory; it ends when its standard input is closed."""
    return subprocess.Popen(  # noqa: S603  (the words are names from our own lists)
        [sys.executable, "-m", "fsgc.tables.worker", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)), **KEEP_MEMORY},
        start_new_session=True,
    )


def end_of(worker: subprocess.Popen[str]) -> str | None:
    """Wait for a worker; why it failed, or None if it did not."""
    with worker:
        assert worker.stdout is not None
        lines = [line.rstrip() for line in worker.stdout]
        code = worker.wait()
    return None if code == 0 else _reason(lines, code)


def _reason(lines: list[str], code: int) -> str:
    """Our own words if the worker printed some, else its last lines."""
    said = [line for line in lines if line]
    ours = [place for place, line in enumerate(said) if line.startswith(ERROR)]
    if ours:
        return "\n".join(said[ours[-1] :]).removeprefix(ERROR)
    if code < 0:
        return f"killed by {signal.Signals(-code).name}" + (
            "; perhaps out of memory" if code == -signal.SIGKILL else ""
        )
    return "\n".join(said[-LINES_OF_A_REASON:]) or f"exit code {code}"
