"""Workers as processes of their own: what they are told, how they end, and why they failed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from fsgc.tables.worker import ENDED, ERROR

LINES_OF_A_REASON = 3
# For glibc: what a training step frees stays with the process; else the next step faults it in again, page by page.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**33), "MALLOC_TOP_PAD_": str(2**26)}


class Worker:
    """A process that computes one order of cells after the other (`fsgc.tables.worker`) in the current directory.

    It is started by the first order, and again by the next one should it have died. It ends when its standard input is
    closed: when this process closes the worker, or ends, however that may be.

    Args:
        threads: of the numerical libraries.
    """

    def __init__(self, threads: int) -> None:
        numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        self._environment = {**os.environ, **numbers, **KEEP_MEMORY}
        self._process: subprocess.Popen[str] | None = None
        self._killed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leave()

    def compute(self, words: Sequence[str]) -> str | None:
        """Fulfil an order, the words of `fsgc.tables.worker`; why that failed, or None if it did not."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        lines: list[str] = []
        try:
            process.stdin.write(json.dumps(list(words)) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith(ENDED):
                    code = int(line.removeprefix(ENDED))
                    return None if code == 0 else reason_of(lines, code)
                lines.append(line.rstrip())
        except BrokenPipeError:
            lines += [line.rstrip() for line in process.stdout]
        return reason_of(lines, self._leave())

    def kill(self) -> None:
        """End it, and what it computes, for good; may be called from another thread than `compute`."""
        self._killed, process = True, self._process
        if process is not None:
            _kill(process)

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fsgc.tables.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            start_new_session=True,
        )
        if self._killed:
            _kill(self._process)
        return self._process

    def _leave(self) -> int:
        """Close the process's pipes and wait for its end: its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # what was not written yet cannot be any more
                pipe.close()
        return process.wait()


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.killpg(process.pid, signal.SIGKILL)


def reason_of(lines: list[str], code: int) -> str:
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
