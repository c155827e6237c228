from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fsgc.errors import StoreError
from fsgc.zarr_io import Array, open_group, read_arrays, write_arrays

ARRAYS: dict[str, Array] = {
    "rows": np.arange(60, dtype=np.int32).reshape(6, 5, 2),
    "zeros": np.zeros((4, 3)),
    "flat": np.arange(7) % 2,
    "empty": np.zeros((5, 0), np.float32),
    "none": np.zeros((0, 0)),
}
ATTRIBUTES = {"kind": "test", "seed": 3, "classes": {2: "a", 10: "b"}, "pair": (1, 2.5)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_arrays(tmp_path / "x.zarr", ARRAYS, ATTRIBUTES, chunk_rows={"rows": 2})
    return tmp_path / "x.zarr"


def _flip(file: Path, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    file.write_bytes(data)


def test_what_was_written_is_read(path: Path) -> None:
    arrays, attributes = read_arrays(path, "test", tuple(ARRAYS))
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)
    assert attributes == {"kind": "test", "seed": 3, "classes": {"2": "a", "10": "b"}, "pair": [1, 2.5]}


def test_rows_are_read_from_their_chunks_alone(path: Path) -> None:
    group = open_group(path, "test")
    for rows in (slice(2, 4), slice(1, 3), slice(5, None), slice(3, 3), slice(None, -1)):
        np.testing.assert_array_equal(group.read("rows", rows), ARRAYS["rows"][rows], strict=True)
    _flip(path / "rows" / "c" / "0" / "0" / "0", 100)
    np.testing.assert_array_equal(group.read("rows", slice(2, 6)), ARRAYS["rows"][2:])
    with pytest.raises(StoreError, match=r"x\.zarr is damaged: rows/c/0/0/0 is not as it was written; delete it"):
        group.read("rows", slice(0, 2))


def test_a_missing_chunk_is_never_zeros(path: Path) -> None:
    """Zarr takes a missing chunk for one of zeros, whether or not it was."""
    for name in ("rows", "zeros", "flat"):
        shutil.rmtree(path / name / "c")
        with pytest.raises(StoreError, match=f"damaged.*{name}/c/0.*delete it"):
            read_arrays(path, "test", (name,))


def test_every_flipped_bit_is_noticed(path: Path) -> None:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    assert len(files) > 10
    rng = np.random.default_rng(0)
    for file in files:
        whole = file.read_bytes()
        for bit in rng.integers(8 * len(whole), size=12):
            _flip(file, int(bit))
            try:
                arrays, attributes = read_arrays(path, "test", tuple(ARRAYS))
            except StoreError:
                pass
            else:  # a blank of the JSON became another
                assert file == path / "zarr.json"
                assert json.loads(file.read_bytes())["attributes"] == json.loads(whole)["attributes"]
                assert attributes["seed"] == 3
                np.testing.assert_array_equal(arrays["rows"], ARRAYS["rows"])
            file.write_bytes(whole)


def test_exchanged_files_are_noticed(path: Path) -> None:
    first, second = (path / "rows" / "c" / chunk / "0" / "0" for chunk in "01")
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(StoreError, match="rows/c/0/0/0 is not as it was written"):
        read_arrays(path, "test", ("rows",))


def test_a_store_without_digests_is_refused(path: Path) -> None:
    content = json.loads((path / "zarr.json").read_text())
    del content["attributes"]["integrity"]
    (path / "zarr.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match=r"has no digests.*older version; delete it and make it again"):
        open_group(path, "test")


def test_a_store_replaced_while_in_use_is_not_called_damaged(path: Path) -> None:
    group = open_group(path, "test")
    write_arrays(path, {**ARRAYS, "flat": np.arange(7)}, ATTRIBUTES, chunk_rows={"rows": 2})
    np.testing.assert_array_equal(group.read("zeros"), ARRAYS["zeros"])  # the same bytes as before
    with pytest.raises(StoreError, match="was replaced by another process while in use; run this again"):
        group.read("flat")
