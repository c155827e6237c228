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
        raise StoreError(f"{path} does not exist; run 'fsgc tables run' without --ray once, or 'dvc repro' in tables/")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(path, arcname=".", filter=_nameless)
    return buffer.getvalue()


def unpack(parcel: Parcel, path: Path) -> None:
    """Put what was packed at `path`, whole or not at all."""
    with tarfile.open(fileobj=io.BytesIO(parcel)) as archive:
        is_file = archive.getmembers()[0].isfile()
        with replacing(path) as partial:
            if is_file:
                content = archive.extractfile(archive.getmembers()[0])
                assert content is not None
                partial.write_bytes(content.read())
            else:
                archive.extractall(partial, filter="data")


def _nameless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner and time, so that equal files give equal bytes."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member
