"""Named NumPy arrays in a Zarr 3 group: written whole or not at all, read whole in one go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.codecs import BloscCodec, BloscShuffle

from fsgc.errors import StoreError
from fsgc.files import replacing

Array = npt.NDArray[Any]


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
            group.create_array(name, data=array, chunks=chunks, compressors=codec)
        group.attrs.update(dict(attributes))


def read_arrays(path: Path, kind: str, names: tuple[str, ...]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the arrays `names` and the attributes of the group at `path`.

    Raises:
        StoreError: there is no such group, an array is missing or damaged, or it holds something other than `kind`.
    """
    group = open_group(path, kind)
    try:
        arrays = {name: np.asarray(group[name]) for name in names}
    except Exception as error:  # zarr and its codecs raise many types; all mean the same to the user
        raise StoreError(f"{path} is damaged ({error!r}); delete it and build it again") from error
    return arrays, dict(group.attrs)


def open_group(path: Path, kind: str) -> zarr.Group:
    """Open the group at `path` for reading and check that its attribute `kind` is as expected."""
    if not path.exists():
        raise StoreError(f"{path} does not exist; run 'dvc repro', or build it with 'fsgc build'")
    try:
        group = zarr.open_group(path, mode="r")
        found = group.attrs.get("kind")
    except Exception as error:  # as above
        raise StoreError(f"{path} is not a readable Zarr store ({error!r}); delete it and build it again") from error
    if found != kind:
        raise StoreError(f"{path} holds {found!r}, expected {kind!r}")
    return group
