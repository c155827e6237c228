"""DVC's commands in the tables' repository, with the locks of dead processes cleared first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from fsgc.errors import FsgcError
from fsgc.files import remove


class Dvc:
    """DVC in one repository.

    Args:
        directory: the repository.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def repro(self, *targets: str) -> None:
        """Reproduce stages and what they depend on."""
        self._run("dvc", "--wait-for-lock", "repro", *targets, echo=True)

    def commit(self, *targets: str, may_fail: bool = False) -> None:
        """Take over the outputs of stages that were computed outside DVC."""
        self._run("fsgc.tables.record", *targets, may_fail=may_fail)

    def _run(self, module: str, *words: str, echo: bool = False, may_fail: bool = False) -> None:
        for line in clear_dead_locks(self.directory):
            print(line, file=sys.stderr)
        process = subprocess.Popen(  # noqa: S603  (the words are names from our own lists)
            [sys.executable, "-m", module, *words],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            # The stages call `python`: it must be the one that runs this.
            env={**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])},
        )
        lines = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip())
                if echo:
                    print(line, end="", file=sys.stderr)
            code = process.wait()
        finally:
            _end(process)
        if code and not may_fail:
            said = [line for line in lines if line.startswith(("ERROR", "Error"))] or lines[-3:]
            raise FsgcError(f"'{module} {' '.join(words[:3])}' in {self.directory} failed: {'; '.join(said)}")


def _end(process: subprocess.Popen[str]) -> None:
    """End DVC and the stage it runs, if they still run."""
    if process.poll() is not None:
        return
    family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for each in family:
        try:
            each.terminate()
        except psutil.NoSuchProcess:
            continue
    for each in psutil.wait_procs(family, timeout=5)[1]:
        each.kill()


def clear_dead_locks(repository: Path) -> list[str]:
    """Remove from DVC's list of running commands those whose process is dead; a line for each thing done.

    A killed DVC leaves itself in `.dvc/tmp/rwlock`, or that file half-written, and every later command refuses to run.
    """
    path = repository / ".dvc" / "tmp" / "rwlock"
    if not path.exists():
        return []
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        held = None
    read, write = (held.get("read", {}), held.get("write", {})) if isinstance(held, dict) else (None, None)
    if not isinstance(read, dict) or not isinstance(write, dict):
        remove(path)
        return [f"{path} was left damaged by a command that was killed; removed"]
    readers = {
        file: [each for each in holders if _runs(each)] if isinstance(holders, list) else []
        for file, holders in read.items()
    }
    writers = {file: holder for file, holder in write.items() if _runs(holder)}
    if readers == read and writers == write:
        return []
    kept = {"read": {file: holders for file, holders in readers.items() if holders}, "write": writers}
    path.write_text(json.dumps(kept), encoding="utf-8")
    return [f"{path}: locks of commands that were killed are cleared"]


def _runs(holder: Any) -> bool:
    return isinstance(holder, dict) and isinstance(holder.get("pid"), int) and psutil.pid_exists(holder["pid"])
