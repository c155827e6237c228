from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fsgc.files import remove, replacing, sha256_of


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "x.txt"
    with replacing(target) as partial:
        partial.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_a_directory_replaces_an_older_one(tmp_path: Path) -> None:
    target = tmp_path / "d"
    for content in ("old", "new"):
        with replacing(target) as partial:
            partial.mkdir()
            (partial / content).write_text(content)
    assert [p.name for p in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_after_an_error_what_was_there_is_there(tmp_path: Path) -> None:
    target = tmp_path / "d"
    target.mkdir()
    (target / "old").touch()

    def fail() -> None:
        with replacing(target) as partial:
            partial.mkdir()
            (partial / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [p.name for p in target.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [target]


def _dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_of_dead_writers_are_swept_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    dead = tmp_path / f".x.partial-{_dead_process()}-abc"
    living = tmp_path / f".x.partial-{os.getppid()}-abc"
    for leftover in (dead, living):
        leftover.mkdir()
        (leftover / "half").touch()
    with replacing(tmp_path / "x") as partial:
        partial.write_text("whole")
    assert not dead.exists()
    assert living.exists()


def test_a_writer_killed_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    """The old target stands aside when the writer dies; the next writer, though it fails, puts it back."""
    aside = tmp_path / f".d.partial-{_dead_process()}-abc-old"
    aside.mkdir()
    (aside / "old").touch()

    def fail() -> None:
        with replacing(tmp_path / "d"):
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["old"]


def test_a_killed_writer_leaves_the_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "x.txt"
    target.write_text("old")
    code = (
        "import sys, time; from pathlib import Path; from fsgc.files import replacing\n"
        f"with replacing(Path({str(target)!r})) as p:\n"
        "    p.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(target) as partial:
        partial.write_text("new")
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == "new"


def test_remove_and_sha256(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    remove(tmp_path / "x")
    remove(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
