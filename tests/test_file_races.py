"""Two processes that write the same store: what each may find the other has just done."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fsgc import files
from fsgc.errors import StoreError
from fsgc.files import remove, replacing, sweep

RENAME = Path.rename


@pytest.fixture
def two_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot exchange two directories in one step."""
    monkeypatch.setattr(files, "_renameat2", lambda: None)


def _store(path: Path, content: str) -> None:
    path.mkdir()
    (path / "content").write_text(content)


@pytest.mark.usefixtures("two_renames")
def test_another_process_is_faster_between_the_two_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x"
    _store(target, "old")
    others = iter(("theirs", "theirs, once more"))

    def rename(path: Path, to: Path) -> Path:
        done = RENAME(path, to)
        other = next(others, None) if path == target else None
        if other is not None:
            _store(target, other)
        return done

    monkeypatch.setattr(Path, "rename", rename)
    with replacing(target) as partial:
        _store(partial, "ours")
    assert next(others, None) is None, "it was overtaken twice"
    assert (target / "content").read_text() == "ours"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.usefixtures("two_renames")
def test_what_stood_aside_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x"
    _store(target, "old")

    def rename(path: Path, to: Path) -> Path:
        if to == target and not path.name.endswith("-old"):
            raise OSError(errno.EIO, "Input/output error")
        return RENAME(path, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(StoreError, match="x cannot be written: Input/output error"), replacing(target) as partial:
        _store(partial, "ours")
    assert (target / "content").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_living_process_is_making_anew_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is written may be gone for a moment: its writer deletes and makes it."""
    partial = tmp_path / f".x.partial-{os.getppid()}-abc"
    _store(partial, "half")

    def missing(_path: Path) -> os.stat_result:
        raise FileNotFoundError(errno.ENOENT, "gone")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", missing)
        sweep(tmp_path)
    assert partial.exists()


def test_what_a_living_process_put_aside_is_left_alone_however_old_it_is(tmp_path: Path) -> None:
    aside = tmp_path / f".x.partial-{os.getppid()}-abc-old"
    _store(aside, "old")
    os.utime(aside, (1, 1))
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [aside]


def test_what_becomes_a_directory_while_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, looked = tmp_path / "x", Path.is_dir

    def not_yet(found: Path) -> bool:
        if found == path and not path.exists():
            _store(path, "new")
            return False
        return looked(found)

    monkeypatch.setattr(Path, "is_dir", not_yet)
    remove(path)
    assert not path.exists()
