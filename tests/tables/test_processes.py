"""Workers as real processes: orders one after the other, what their end looks like, and what is left of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import psutil
import pytest

from fsgc.tables.grid import CELLS
from fsgc.tables.plan import Work
from fsgc.tables.processes import Worker, reason_of
from fsgc.tables.status import METRICS
from fsgc.tables.worker import STORES_ONLY
from tests.small_tables import LISTS, make_project


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Work]]:
    """The cells of a project, which is the working directory."""
    project = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        found = make_project(project, lists={**LISTS, "models": ["wl"]})
        patch.chdir(project)
        yield found


def _workers() -> list[psutil.Process]:
    """The workers of this process."""
    return [each for each in psutil.Process().children() if "fsgc.tables.worker" in each.cmdline()]


def _copies() -> list[psutil.Process]:
    """The copies of workers that compute."""
    return [copy for worker in _workers() for copy in worker.children()]


def test_one_process_fulfils_order_after_order_and_says_what_was_wrong_with_one(
    works: list[Work], tmp_path: Path
) -> None:
    with Worker(threads=1) as worker:
        assert worker.compute([STORES_ONLY, *(work.cell.name for work in works)]) is None
        (process,) = _workers()
        for work in works:
            assert worker.compute([work.cell.name]) is None
            assert (CELLS / work.cell.name / METRICS).exists()
        assert worker.compute(["../../docs"]) == "these are not names of cells: ../../docs"
        for options in ([STORES_ONLY], []):
            words = ["--into", str(tmp_path), *options, works[0].cell.name]
            assert worker.compute(words) is None, "an order that failed stops no other"
        assert _workers() == [process], "the same one all the time"
    assert (tmp_path / CELLS / works[0].cell.name / METRICS).exists()
    assert not process.is_running()


def test_a_killed_worker_is_said_to_be_and_the_next_order_is_fulfilled(works: list[Work]) -> None:
    stores, ends = [STORES_ONLY, *(work.cell.name for work in works)], []
    with Worker(threads=1) as worker:
        for part in ("copy", "all"):
            thread = Thread(target=lambda: ends.append(worker.compute(stores)))
            thread.start()
            while not (copies := _copies()):
                time.sleep(0.001)
            if part == "copy":
                copies[0].kill()
            else:
                os.killpg(os.getpgid(copies[0].pid), signal.SIGKILL)
            thread.join()
        assert ends == ["killed by SIGKILL; perhaps out of memory"] * 2
        assert worker.compute(stores) is None


def test_one_that_was_killed_for_good_computes_nothing_more(works: list[Work]) -> None:
    with Worker(threads=1) as worker:
        worker.kill()
        assert worker.compute([works[0].cell.name]) == "killed by SIGKILL; perhaps out of memory"
    assert not _workers()


def test_a_worker_that_failed_is_quoted_whole() -> None:
    said = ["loading", "", "Error: the disk is full", "Free some space"]
    assert reason_of(said, 1) == "the disk is full\nFree some space"
    assert reason_of(["one", "two", "", "three", "four"], 1) == "two\nthree\nfour"
    assert reason_of([], 3) == "exit code 3"
    assert reason_of(said[:1], -signal.SIGTERM) == "killed by SIGTERM"
