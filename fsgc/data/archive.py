"""Verified copies of a stream of bytes, or of the expected members of a zip.

Nothing an archive says about itself is trusted: members are found by base name and written under the name in
the catalog, so no path of theirs is used, and decompression stops once it passes the size in the catalog.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from fsgc.data.catalog import Member, RawFile
from fsgc.errors import ChecksumError

_CHUNK = 1 << 16
# What Python decompresses in bounded pieces; of the others it takes a whole block at once, however large it becomes.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def store(file: RawFile, stream: BinaryIO, directory: Path) -> None:
    """Store what `stream` holds of `file` in `directory`: the file itself, or a zip's expected members.

    Args:
        file: what is expected.
        stream: the downloaded bytes; seekable.
        directory: an existing directory; what fails verification is not left there.

    Raises:
        ChecksumError: the bytes are not what the catalog expects.
    """
    if file.members:
        extract_members(stream, file.members, directory)
    else:
        chunks = iter(lambda: stream.read(_CHUNK), b"")
        save_verified(chunks, Member(file.name, file.size, file.sha256), directory)


def save_verified(chunks: Iterable[bytes], expected: Member, directory: Path) -> None:
    """Write `chunks` to `directory` under the expected name; keep the file only if its bytes are as expected.

    Raises:
        ChecksumError: size or SHA-256 differ. No more than the expected size is ever written.
    """
    destination = directory / expected.name
    try:
        with destination.open("wb") as out:
            _copy_verified(chunks, expected, out)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def _copy_verified(chunks: Iterable[bytes], expected: Member, out: BinaryIO) -> None:
    digest = hashlib.sha256()
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > expected.size:
            raise ChecksumError(f"{expected.name}: expected {expected.size} bytes, found more")
        digest.update(chunk)
        out.write(chunk)
    if size != expected.size:
        raise ChecksumError(f"{expected.name}: expected {expected.size} bytes, found {size}")
    found = digest.hexdigest()
    if found != expected.sha256:
        raise ChecksumError(f"{expected.name}: expected SHA-256 {expected.sha256}, found {found}")


def extract_members(archive: BinaryIO, members: Sequence[Member], directory: Path) -> None:
    """Store the expected `members` of a zip in `directory`, each under its own base name; ignore all others.

    Raises:
        ChecksumError: the zip is damaged or encrypted, or a member is missing, repeated or not as expected.
    """
    try:
        opened = zipfile.ZipFile(archive)
    except Exception as error:  # a damaged zip raises many types; all mean the same to the user
        raise ChecksumError(f"expected a zip archive, found something else or a damaged one ({error})") from error
    with opened:
        for member in members:
            save_verified(_decompressed(opened, _find(opened, member.name)), member, directory)


def _find(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """The one member with this base name, whatever its path (`COIL-DEL//COIL-DEL_A.txt`)."""
    found = [info for info in archive.infolist() if info.filename.replace("\\", "/").rpartition("/")[2] == name]
    if len(found) != 1:
        raise ChecksumError(f"expected one member {name} in the archive, found {len(found)}")
    if found[0].compress_type not in _BOUNDED:
        raise ChecksumError(
            f"{name} is compressed by method {found[0].compress_type}; only stored and deflated are read"
        )
    return found[0]


def _decompressed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The member's bytes in bounded chunks; a generator, so that failing to write is not taken for damage."""
    try:
        with archive.open(info) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except Exception as error:  # as above: zipfile, zlib and others, each with their own types
        raise ChecksumError(f"the archive's member {info.filename!r} cannot be read ({error})") from error
