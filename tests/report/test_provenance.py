from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from fsgc.report.cells import find_cells
from fsgc.report.provenance import cell_command, current_commit, dataset_title, origin_notes
from fsgc.report.results import Results
from fsgc.tables.grid import CellKey
from tests.report.made_cells import outcomes, write_cell


def _git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_and_whether_files_have_changed_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert current_commit(tmp_path) == "unknown (no git repository)"
    _git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "-qm", "one")
    commit = _git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "untracked").write_text("report.html is no change of the code")
    assert current_commit(tmp_path) == commit[:12]
    (tmp_path / "a").write_text("2")
    assert current_commit(tmp_path) == f"{commit[:12]}, with uncommitted changes"
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert current_commit(tmp_path) == "unknown (no git)"


@pytest.mark.parametrize(
    ("commits", "threads", "told"),
    [
        (("abc", "abc"), (1, 1), "Computed at commit abc, 1 thread."),
        (("abc", "def+"), (1, 2), "Computed at 2 commits, 1 or 2 threads."),
        (("abc", ""), (2, None), "Computed at commit abc, 2 threads."),
    ],
)
def test_where_results_come_from(
    tmp_path: Path, commits: tuple[str, str], threads: tuple[int, int | None], told: str
) -> None:
    for seed in range(2):
        key = CellKey("enzymes", 5, "pn", seed)
        write_cell(tmp_path, key, outcomes(seed, 0.7), commit=commits[seed], threads=threads[seed])
    notes = origin_notes(list(Results(find_cells(tmp_path)).found.values()))
    assert notes[0] == told
    assert notes[1].startswith(f"Written by fsgc {version('fsgc')}, commit ")


def test_names() -> None:
    assert cell_command(CellKey("reddit", 10, "gsm", 2)) == "dvc repro tables/dvc.yaml:evaluate@reddit-10-gsm-2"
    assert (dataset_title("coil_del"), dataset_title("gone")) == ("COIL-DEL", "gone")
