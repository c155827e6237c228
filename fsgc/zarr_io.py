"""Named NumPy arrays in a Zarr 3 group: written whole or not at all, and read only as they were written.

The attributes of the group list the SHA-256 of every other file of the store, and carry one of their own. A reader
takes a file's bytes into memory, compares its digest, and only then lets Zarr decode them: Zarr would fill a missing
chunk with zeros, and a decompressor is no place for damaged bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.codecs import BloscCodec, BloscShuffle
from zarr.core.buffer import cpu
from zarr.storage import MemoryStore

from fsgc.errors import StoreError
from fsgc.files import replacing, settled, sha256_of
from fsgc.integrity import REMEDY, digest_of, plain

Array = npt.NDArray[Any]
_METADATA = "zarr.json"
_INTEGRITY = "integrity"


def write_arrays(
    path: Path,
    arrays: Mapping[str, Array],
    attributes: Mapping[str, Any],
    chunk_rows: Mapping[str, int] | None = None,
) -> None:
    """Write `arrays` and `attributes` as a Zarr group at `path`; an existing one is replaced in one step.

    Args:
        path: the directory of the group.
        arrays: name -> array.
        attributes: everything JSON can hold.
        chunk_rows: rows per chunk of the arrays named here; every other array is one chunk, so one file.
    """
    codec = BloscCodec(cname="zstd", clevel=1, shuffle=BloscShuffle.bitshuffle)
    with replacing(path) as partial:
        group = zarr.open_group(partial, mode="w", zarr_format=3)
        for name, array in arrays.items():
            rows = (chunk_rows or {}).get(name, len(array))
            chunks = tuple(max(1, size) for size in (rows, *array.shape[1:]))
            group.create_array(
                name,
                data=array,
                chunks=chunks,
                compressors=codec,
                config={"write_empty_chunks": True},  # so that a missing file is always an error
            )
        files = sorted(file for file in partial.rglob("*") if file.is_file() and file != partial / _METADATA)
        digests = {file.relative_to(partial).as_posix(): sha256_of(file) for file in files}
        content = {**plain(attributes), _INTEGRITY: {"files": digests}}
        content[_INTEGRITY]["attributes"] = digest_of(content)
        group.attrs.update(content)


@dataclass(frozen=True, eq=False)
class ArrayGroup:
    """A group whose attributes have been checked; an array is checked when it is read.

    Attributes:
        path: the directory of the group.
        attributes: as given to `write_arrays`.
    """

    path: Path
    attributes: Mapping[str, Any]
    _digests: Mapping[str, str] = field(repr=False)

    def read(self, name: str, rows: slice = slice(None)) -> Array:
        """The rows of an array; only the chunks that hold them are read.

        Raises:
            StoreError: the array is missing or damaged.
        """
        try:
            return settled(self.path, lambda: self._read(name, rows))
        except StoreError:
            if _open(self.path, self.attributes["kind"])._digests != self._digests:
                raise StoreError(f"{self.path} was replaced by another process while in use; run this again") from None
            raise

    def _read(self, name: str, rows: slice) -> Array:
        stored: dict[str, Any] = {}
        try:
            self._load(f"{name}/{_METADATA}", stored)
            array = zarr.open_array(MemoryStore(stored), path=name, mode="r")
            start, stop, _ = rows.indices(array.shape[0])
            for chunk in range(start // array.chunks[0], -(-stop // array.chunks[0]) if array.size else 0):
                self._load("/".join([name, "c", str(chunk)] + ["0"] * (array.ndim - 1)), stored)
            return np.asarray(array[rows])
        except StoreError:
            raise
        except Exception as error:  # zarr and its codecs raise many types; all mean the same to the user
            raise StoreError(f"{self.path} is damaged ({error!r}); {REMEDY}") from error

    def _load(self, file: str, stored: dict[str, Any]) -> None:
        """Add the checked bytes of a file to those Zarr may see."""
        try:
            data = (self.path / file).read_bytes()
        except OSError as error:
            raise StoreError(f"{self.path} is damaged: {file} cannot be read ({error.strerror}); {REMEDY}") from error
        if hashlib.sha256(data).hexdigest() != self._digests.get(file):
            raise StoreError(f"{self.path} is damaged: {file} is not as it was written; {REMEDY}")
        stored[file] = cpu.Buffer.from_bytes(data)


def read_arrays(path: Path, kind: str, names: tuple[str, ...]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the arrays `names` and the attributes of the group at `path`.

    While another process replaces the group, this reads the old or the new one, never some of both.

    Raises:
        StoreError: there is no such group, an array is missing or damaged, or it holds something other than `kind`.
    """

    def read() -> tuple[dict[str, Array], dict[str, Any]]:
        group = _open(path, kind)
        return {name: group._read(name, slice(None)) for name in names}, dict(group.attributes)

    return settled(path, read)


def open_group(path: Path, kind: str) -> ArrayGroup:
    """Open the group at `path` for reading and check its attributes, and that `kind` is as expected."""
    return settled(path, lambda: _open(path, kind))


def _open(path: Path, kind: str) -> ArrayGroup:
    if not path.exists():
        raise StoreError(f"{path} does not exist; run 'dvc repro', or build it with 'fsgc build'")
    try:
        attributes = dict(json.loads((path / _METADATA).read_bytes())["attributes"])
    except Exception as error:  # whatever is there, it is no group of ours
        raise StoreError(f"{path} is not a readable Zarr store ({error!r}); {REMEDY}") from error
    found = attributes.get("kind")
    if found != kind:
        raise StoreError(f"{path} holds {found!r}, expected {kind!r}")
    integrity = attributes.get(_INTEGRITY)
    if not isinstance(integrity, dict):
        raise StoreError(f"{path} has no digests: it is damaged, or was written by an older version; {REMEDY}")
    digest = integrity.pop("attributes", None)
    if digest != digest_of(attributes):
        raise StoreError(f"{path} is damaged: its attributes are not as they were written; {REMEDY}")
    del attributes[_INTEGRITY]
    return ArrayGroup(path, attributes, dict(integrity["files"]))
