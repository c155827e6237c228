from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from fsgc.cluster.parcels import pack, unpack
from fsgc.errors import StoreError
from tests.pipeline.project import tree


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.zarr"
    (path / "c" / "deep").mkdir(parents=True)
    (path / "zarr.json").write_text("{}")
    (path / "c" / "deep" / "0").write_bytes(bytes(range(256)) * 40)
    (path / "empty").touch()
    return path


def _archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_a_directory_comes_out_as_it_went_in_and_replaces_what_was_there(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "b.zarr"
    target.mkdir(parents=True)
    (target / "old").touch()
    unpack(pack(store), target)
    assert tree(target) == tree(store)
    assert [path.name for path in target.parent.iterdir()] == ["b.zarr"]


def test_a_file_comes_out_as_it_went_in(tmp_path: Path) -> None:
    (tmp_path / "split.json").write_bytes(b"\x00\xff{}")
    unpack(pack(tmp_path / "split.json"), tmp_path / "new" / "other.json")
    assert (tmp_path / "new" / "other.json").read_bytes() == b"\x00\xff{}"


def test_equal_files_are_equal_bytes_whenever_and_by_whomever_they_were_written(store: Path, tmp_path: Path) -> None:
    parcel = pack(store)
    again = tmp_path / "again"
    for name, content in reversed(tree(store).items()):
        (again / name).parent.mkdir(parents=True, exist_ok=True)
        (again / name).write_bytes(content)
        (again / name).chmod(0o600)
    assert pack(again) == parcel
    (again / "empty").write_text("x")
    assert pack(again) != parcel


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"graphs\.zarr does not exist; run 'fsgc tables run' again"):
        pack(tmp_path / "graphs.zarr")


_DIRECTORY = (_member(".", tarfile.DIRTYPE), b"")


@pytest.mark.parametrize(
    ("parcel", "reason"),
    [
        (b"", "not an archive"),
        (b"not an archive" * 100, "not an archive"),
        (_archive(), "is empty"),
        (_archive(_DIRECTORY, (_member("../beside"), b"x")), "not an archive that can be unpacked"),
        (_archive(_DIRECTORY, (_member("a/../../beside"), b"x")), "not an archive that can be unpacked"),
        (_archive(_DIRECTORY, (_member("out", tarfile.SYMTYPE, "/etc"), b"")), "'out', which is neither"),
        (_archive((_member("out", tarfile.SYMTYPE, "beside"), b"")), "'out', which is neither"),
        (_archive(_DIRECTORY, (_member("out", tarfile.LNKTYPE, "../beside"), b"")), "'out', which is neither"),
        (_archive(_DIRECTORY, (_member("pipe", tarfile.FIFOTYPE), b"")), "'pipe', which is neither"),
        (_archive(_DIRECTORY, (_member("null", tarfile.CHRTYPE), b"")), "'null', which is neither"),
    ],
)
def test_a_hostile_archive_is_refused_and_changes_nothing(tmp_path: Path, parcel: bytes, reason: str) -> None:
    (tmp_path / "beside").write_text("mine")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "file").write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(StoreError, match=reason):
        unpack(parcel, tmp_path / "target")
    assert tree(tmp_path) == before


def test_an_absolute_name_stays_inside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    unpack(_archive(_DIRECTORY, (_member(str(outside)), b"x")), tmp_path / "target")
    assert not outside.exists()
