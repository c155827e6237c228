"""Files and directories as bytes, so that they can travel between machines that share no file system."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from fsgc.errors import StoreError
from fsgc.files import replacing

Parcel = bytes


def pack(path: Path) -> Parcel:
    """A file or directory as an uncompressed archive: stores are compressed already."""
    if not path.exists():
        raise StoreError(f"{path} does not exist; run 'fsgc tables run' again, which computes what is missing")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(path, arcname=".", filter=_nameless)
    return buffer.getvalue()


def unpack(parcel: Parcel, path: Path) -> None:
    """Put what was packed at `path`, whole or not at all; nothing is ever written beside it."""
    try:
        with tarfile.open(fileobj=io.BytesIO(parcel), mode="r:") as archive, replacing(path) as partial:
            members = archive.getmembers()
            strange = [each.name for each in members if not (each.isfile() or each.isdir())]
            if not members or strange:
                what = f"holds {strange[0]!r}, which is neither a file nor a directory" if strange else "is empty"
                raise StoreError(f"{path}: what was sent {what}")
            if members[0].isfile():
                content = archive.extractfile(members[0])
                assert content is not None
                partial.write_bytes(content.read())
            else:
                archive.extractall(partial, filter="data")
    except tarfile.TarError as error:
        raise StoreError(f"{path}: what was sent is not an archive that can be unpacked: {error}") from None


def _nameless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner, time and permissions, so that equal files give equal bytes."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o755 if member.isdir() else 0o644
    return member
