from __future__ import annotations

import hashlib
import io
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.archive import extract_members, save_verified, store
from fsgc.data.catalog import Member, RawFile
from fsgc.errors import ChecksumError

A, B = b"1, 2\n2, 1\n" * 50_000, b"0\n1\n"


def member(name: str, content: bytes) -> Member:
    return Member(name, len(content), hashlib.sha256(content).hexdigest())


MEMBERS = (member("X_A.txt", A), member("X_labels.txt", B))


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about repeated names, which are wanted here
        for name, content in entries:
            archive.writestr(name, content)
    return stream


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


@pytest.mark.parametrize("prefix", ["", "X/", "X//", "deep/er//", "../../", "/abs/", "C:\\X\\"])
def test_members_are_stored_by_base_name_whatever_their_path(tmp_path: Path, prefix: str) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    archive = zipped((f"{prefix}X_A.txt", A), (f"{prefix}X_labels.txt", B), (f"{prefix}MAX_A.txt", b"not asked for"))
    extract_members(archive, MEMBERS, directory)
    assert (directory / "X_A.txt").read_bytes() == A
    assert (directory / "X_labels.txt").read_bytes() == B
    assert names(tmp_path) == {"in", "in/X_A.txt", "in/X_labels.txt"}


def test_stored_without_compression(tmp_path: Path) -> None:
    extract_members(zipped(("X_A.txt", A), ("X_labels.txt", B), method=zipfile.ZIP_STORED), MEMBERS, tmp_path)
    assert (tmp_path / "X_A.txt").read_bytes() == A


def test_a_missing_member(tmp_path: Path) -> None:
    with pytest.raises(ChecksumError, match=r"one member X_labels\.txt in the archive, found 0"):
        extract_members(zipped(("X_A.txt", A), ("X_labels.txt/", b"")), MEMBERS, tmp_path)


def test_a_repeated_member_is_refused_even_if_both_are_right(tmp_path: Path) -> None:
    with pytest.raises(ChecksumError, match=r"one member X_A\.txt in the archive, found 2"):
        extract_members(zipped(("X/X_A.txt", A), ("Y/X_A.txt", A), ("X_labels.txt", B)), MEMBERS, tmp_path)
    assert names(tmp_path) == set()


def test_wrong_bytes_of_the_right_size(tmp_path: Path) -> None:
    wrong = b"0\n2\n"
    with pytest.raises(ChecksumError) as caught:
        extract_members(zipped(("X_A.txt", A), ("X_labels.txt", wrong)), MEMBERS, tmp_path)
    assert MEMBERS[1].sha256 in str(caught.value)
    assert hashlib.sha256(wrong).hexdigest() in str(caught.value)
    assert not (tmp_path / "X_labels.txt").exists()


def test_a_short_member(tmp_path: Path) -> None:
    with pytest.raises(ChecksumError, match="expected 4 bytes, found 2"):
        extract_members(zipped(("X_A.txt", A), ("X_labels.txt", b"0\n")), MEMBERS, tmp_path)


def lying_about_its_size(bomb: bytes, claimed: int) -> io.BytesIO:
    """A zip of `bomb` whose headers claim another uncompressed size."""
    content = zipped(("X_labels.txt", bomb)).getvalue()
    return io.BytesIO(content.replace(struct.pack("<I", len(bomb)), struct.pack("<I", claimed)))


def test_a_bomb_is_stopped_at_the_expected_size(tmp_path: Path) -> None:
    bomb = zipped(("X_labels.txt", bytes(100_000_000)))
    tracemalloc.start()
    with pytest.raises(ChecksumError, match="expected 4 bytes, found more"):
        extract_members(bomb, MEMBERS[1:], tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert names(tmp_path) == set()


@pytest.mark.parametrize("claimed", [4, 0])
def test_a_bomb_that_claims_to_be_small(tmp_path: Path, claimed: int) -> None:
    archive = lying_about_its_size(bytes(1_000_000), claimed)
    assert zipfile.ZipFile(archive).infolist()[0].file_size == claimed
    with pytest.raises(ChecksumError):
        extract_members(archive, MEMBERS[1:], tmp_path)
    assert names(tmp_path) == set()


def test_an_encrypted_member(tmp_path: Path) -> None:
    content = bytearray(zipped(("X_labels.txt", B)).getvalue())
    content[6] |= 1  # the flag of the local header
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and of the central directory
    with pytest.raises(ChecksumError, match=r"X_labels\.txt.*encrypted"):
        extract_members(io.BytesIO(content), MEMBERS[1:], tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>Not found</html>", zipped(("X_labels.txt", B)).getvalue()[:40]],
    ids=["empty", "page", "cut"],  # the bytes of a zip hold the time
)
def test_what_is_not_a_zip(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ChecksumError, match="expected a zip archive"):
        extract_members(io.BytesIO(content), MEMBERS, tmp_path)


@given(st.data())
def test_a_damaged_zip_gives_the_right_bytes_or_our_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("damaged")
    content = bytearray(zipped(("X/X_labels.txt", B)).getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = directory / "x.zip"
    path.write_bytes(content)
    try:
        with path.open("rb") as stream:
            extract_members(stream, MEMBERS[1:], directory)
    except ChecksumError:
        assert names(directory) == {"x.zip"}
    else:
        assert (directory / "X_labels.txt").read_bytes() == B


def test_store_of_a_plain_file(tmp_path: Path) -> None:
    file = RawFile("a.txt", "m/a.txt", (), len(A), hashlib.sha256(A).hexdigest())
    store(file, io.BytesIO(A), tmp_path)
    assert (tmp_path / "a.txt").read_bytes() == A


@pytest.mark.parametrize("content", [A[:-1], A + b"!", b"?" + A[1:], b""])
def test_a_plain_file_with_other_bytes_is_not_kept(tmp_path: Path, content: bytes) -> None:
    file = RawFile("a.txt", "m/a.txt", (), len(A), hashlib.sha256(A).hexdigest())
    with pytest.raises(ChecksumError, match=r"a\.txt: expected"):
        store(file, io.BytesIO(content), tmp_path)
    assert names(tmp_path) == set()


def test_an_endless_stream_is_not_read_on(tmp_path: Path) -> None:
    read = 0

    def endless() -> bytes:
        nonlocal read
        read += 1
        return b"0\n"

    with pytest.raises(ChecksumError, match="found more"):
        save_verified(iter(endless, b""), MEMBERS[1], tmp_path)
    assert read == 3


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_cannot_be_decompressed_in_bounded_pieces_is_not_begun(tmp_path: Path, method: int) -> None:
    """A kilobyte of bzip2 becomes gigabytes before the first piece of it can be looked at."""
    archive = zipped(("X_A.txt", bytes(50_000_000)), ("X_labels.txt", B), method=method)
    tracemalloc.start()
    try:
        with pytest.raises(
            ChecksumError, match=rf"X_A\.txt is compressed by method {method}; only stored and deflated"
        ):
            extract_members(archive, MEMBERS, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert names(tmp_path) == set()
