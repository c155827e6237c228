"""Unpacking a zip of graphs that somebody sent."""

from __future__ import annotations

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from fsgc.errors import DataFormatError

MAX_UNPACKED = 16 << 30
# What Python decompresses in bounded pieces; of the others it takes a whole block at once, however large it becomes.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unpacked(file: Path, target: Path) -> Path:
    """Unpack `file` into the empty directory `target`, and give the folder or file that its graphs are in.

    What would leave the directory, is no plain file, or is too much for a disk is refused. `zipfile` reads no more of a
    member than its stated size, and checks its sum.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            for info, inner in _members(archive, file):
                out = target / inner
                out.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as stream, out.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, 1 << 16)
    except DataFormatError:
        raise
    except Exception as error:  # a damaged zip raises many types
        raise DataFormatError(f"the archive cannot be read ({error})", file=file) from error
    inside = list(target.iterdir())
    return inside[0] if len(inside) == 1 else target  # most archives hold one folder with everything in it


def _members(archive: zipfile.ZipFile, file: Path) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    members = []
    for info in archive.infolist():
        inner = PurePosixPath(info.filename.replace("\\", "/"))
        if stat.S_ISLNK(info.external_attr >> 16) or inner.is_absolute() or ".." in inner.parts:
            raise DataFormatError(f"the member {info.filename!r} would leave the archive's folder", file=file)
        if info.compress_type not in _BOUNDED:
            raise DataFormatError(
                f"the member {info.filename!r} is compressed by method {info.compress_type}; only stored and deflated "
                "ones are read: zip it again by an ordinary program",
                file=file,
            )
        if not info.is_dir() and not inner.name.startswith(".") and "__MACOSX" not in inner.parts:
            members.append((info, inner))
    if sum(info.file_size for info, _ in members) > MAX_UNPACKED:
        raise DataFormatError(f"would unpack to more than {MAX_UNPACKED >> 30} GiB", file=file)
    return members
