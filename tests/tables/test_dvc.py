from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsgc.tables.dvc import clear_dead_locks


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _lock(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / ".dvc" / "tmp" / "rwlock"
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def _holder(pid: int) -> dict[str, Any]:
    return {"pid": pid, "cmd": "dvc repro"}


def test_without_locks_nothing_is_done(tmp_path: Path) -> None:
    assert clear_dead_locks(tmp_path) == []


def test_the_locks_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path, dead: int) -> None:
    alive = os.getpid()
    held = {
        "read": {"a": [_holder(alive), _holder(dead)], "b": [_holder(dead)]},
        "write": {"c": _holder(dead), "d": _holder(alive)},
    }
    path = _lock(tmp_path, held)
    assert clear_dead_locks(tmp_path) == [f"{path}: locks of commands that were killed are cleared"]
    assert json.loads(path.read_text()) == {"read": {"a": [_holder(alive)]}, "write": {"d": _holder(alive)}}
    assert clear_dead_locks(tmp_path) == []


@pytest.mark.parametrize("content", ["", '{"read": {', "[]", "5", "\x00"])
def test_a_torn_file_is_removed(tmp_path: Path, content: str) -> None:
    path = _lock(tmp_path, content)
    assert clear_dead_locks(tmp_path) == [f"{path} was left damaged by a command that was killed; removed"]
    assert not path.exists()


@pytest.mark.parametrize(
    "held", [{"read": 5}, {"write": []}, {"read": {"a": 5}}, {"read": {"a": ["x"]}, "write": {"b": 1}}]
)
def test_a_file_of_another_kind_is_in_nobodys_way(tmp_path: Path, held: Any) -> None:
    path = _lock(tmp_path, held)
    assert len(clear_dead_locks(tmp_path)) == 1
    assert not path.exists() or json.loads(path.read_text()) == {"read": {}, "write": {}}


def test_dvc_takes_what_is_left(tmp_path: Path, dead: int) -> None:
    """DVC's own reader of the file is the judge."""
    from dvc.rwlock import RWLOCK_FILE, SCHEMA

    path = _lock(tmp_path, {"read": {"a": [_holder(dead)]}, "write": {"b": _holder(os.getpid())}})
    assert path.name == RWLOCK_FILE
    clear_dead_locks(tmp_path)
    assert SCHEMA(json.loads(path.read_text()))["write"] == {"b": _holder(os.getpid())}
