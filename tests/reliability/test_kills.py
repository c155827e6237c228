"""Every step killed at random moments: nothing half-written is left, and the next run ends as an undisturbed one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fsgc.files import remove
from tests.reliability.damage import take
from tests.reliability.nursery import STEPS, target

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its children")
QUICK, FULL = 2, 30  # kills of a step
OUTDATED = {"test": 150}  # other episodes, which a step finds and replaces


@dataclass
class Nursery:
    """Starts steps and kills them.

    Attributes:
        process: see `tests.reliability.nursery`.
        reference: where each step has run undisturbed.
        seconds: how long that took.
    """

    process: subprocess.Popen[str]
    reference: Path
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, step: str, root: Path, **counts: int) -> int:
        """Start a step; its process id."""
        assert self.process.stdin is not None
        words = [step, str(root), *(f"{name}={value}" for name, value in counts.items())]
        print("\t".join(words), file=self.process.stdin, flush=True)
        return int(self._line())

    def end(self) -> int:
        """Wait for the step; how it ended."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return int(self._line())

    def run(self, step: str, root: Path, **counts: int) -> None:
        """Run a step to its end."""
        begin = time.monotonic()
        self.start(step, root, **counts)
        code = self.end()
        assert code == 0, (root.parent / "output").read_text()
        self.seconds.setdefault(step, time.monotonic() - begin)

    def kill(self, step: str, root: Path, after: float) -> bool:
        """Kill a step after so many seconds; False if it had ended before."""
        child = self.start(step, root)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        return self.end() == -signal.SIGKILL

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.reliability.nursery"]
    project = Path(__file__).parents[2]
    root = tmp_path_factory.mktemp("reference") / "data"
    with subprocess.Popen(
        command, cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        made = Nursery(process, root)
        assert made._line() == "ready\n"
        for step in STEPS:
            made.run(step, root)
        yield made
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_step(nursery: Nursery, step: str, tmp_path: Path, full: bool) -> None:
    root, rng = tmp_path / "data", random.Random(step)
    shutil.copytree(nursery.reference, root)
    path, whole = target(step, root), _content(target(step, nursery.reference))
    allowed = [whole]
    if step == "episodes":
        nursery.run(step, root, **OUTDATED)
        allowed.append(_content(path))
        assert allowed[0] != allowed[1]
    hits = tries = 0
    while hits < (FULL if full else QUICK):
        tries += 1
        assert tries < 10 * FULL, "the step is too quick to be killed"
        if step != "episodes":
            remove(path)  # as DVC does before it runs a stage; episodes replace what is there
        hits += nursery.kill(step, root, rng.uniform(0, 1.1 * nursery.seconds[step]))
        assert not path.exists() or _content(path) in allowed
        if tries % 3 == 0:
            nursery.run(step, root)
            assert _content(path) == whole
    if step != "episodes":
        remove(path)
    nursery.run(step, root)
    assert _content(path) == whole
    left = [file for file in root.rglob(".*partial-*") if file.parent == path.parent]
    assert left == [], "the last run has swept"
    print(f"{step}: {hits} kills, in each case the old store, the new one or none, and the same bytes in the end")


def _content(path: Path) -> object:
    return take(path) if path.is_dir() else path.read_bytes()
