from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsgc.data.pickles import load_pickle
from fsgc.errors import DataFormatError


def _file(tmp_path: Path, data: bytes) -> Path:
    file = tmp_path / "some.pickle"
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value",
    [{"a": [1, 2.5, (3, "x")], "b": {1: [True, None]}}, ["4", "3"], list(range(1000)), {"long": 2**80}],
)
def test_plain_values_come_back_the_same(tmp_path: Path, value: Any, protocol: int) -> None:
    assert load_pickle(_file(tmp_path, pickle.dumps(value, protocol))) == value


@pytest.mark.parametrize("protocol", range(5))  # protocol 5 holds arrays in byte buffers, which are refused
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i8", ">i4", "u1", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numbers_come_back_the_same(tmp_path: Path, protocol: int, dtype: str, order: Any) -> None:
    value = np.asarray(np.arange(6).reshape(3, 2), dtype=dtype, order=order)
    loaded = load_pickle(_file(tmp_path, pickle.dumps(value, protocol)))
    np.testing.assert_array_equal(loaded, value)
    assert loaded.shape == (3, 2)


def test_numpy_scalars_become_numbers(tmp_path: Path) -> None:
    assert load_pickle(_file(tmp_path, pickle.dumps([np.int64(3), np.float32(0.5)], 4))) == [3, 0.5]


class _Calls:
    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "hostile",
    [
        _Calls(os.system, "touch owned"),
        _Calls(eval, "open('owned', 'w')"),
        _Calls(getattr, "x", "upper"),
        _Calls(io.open, "owned", "w"),
        _Calls(np.load, "x", None, True),
        {"nested": [_Calls(os.mkdir, "owned")]},
        Path("a path"),
    ],
)
def test_nothing_but_containers_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: Any, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataFormatError, match="not admitted"):
        load_pickle(_file(tmp_path, pickle.dumps(hostile, protocol)))
    assert not (tmp_path / "owned").exists()


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match="not an array of numbers"):
        load_pickle(_file(tmp_path, pickle.dumps(np.array([{}, []], dtype=object), 4)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a pickle",
        pickle.dumps([1, 2, 3])[:-3],
        b"\x80\x04]r\xff\xff\xff\x7f.",  # a memo of 2**31 entries
        b"\x80\x05\x96\xff\xff\xff\xff\xff\x00\x00\x00.",  # a byte array of terabytes
        b"\x80\x03X\xff\xff\xff\x7fabc.",  # a string longer than the file
        b"\x80\x03cnumpy.core.multiarray\n_reconstruct\n)R(K\x01K\x02e.",
        b"\x80\x03cnumpy\nndarray\n)R.",  # an array that never got its content
    ],
)
def test_broken_and_greedy_pickles_are_our_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataFormatError, match=r"some\.pickle"):
        load_pickle(_file(tmp_path, data))


def test_an_array_whose_bytes_do_not_fill_its_shape_is_refused(tmp_path: Path) -> None:
    data = pickle.dumps(np.arange(6, dtype="<i8").reshape(3, 2), 3)
    assert data.count(b"K\x03K\x02\x86") == 1
    with pytest.raises(DataFormatError, match="do not fill"):
        load_pickle(_file(tmp_path, data.replace(b"K\x03K\x02\x86", b"K\x04K\x02\x86")))


NESTED = b")" + 100_000 * b"\x85"  # a tuple in a tuple in a tuple


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x80\x04}" + b"".join(b")" if n == 0 else b"q%ch%c\x86" % (n, n) for n in range(40)) + b"K\x01s.", "twice"),
        (b"\x80\x04})" + 40 * b"2\x86" + b"K\x01s.", "DUP at byte .* is not admitted"),
        (b"\x80\x04\x8f(" + b")" + b"".join(b"\x94h%c\x86" % n for n in range(40)) + b"\x90.", "twice"),
        (b"\x80\x04}" + NESTED + b"K\x01s.", "nests more than 32 levels"),
        (b"\x80\x04" + 100_000 * b"](" + b"K\x01" + 100_000 * b"e" + b".", "nests more than 32 levels"),
        (b"\x80\x04" + 100_000 * b"]q\x00" + 99_999 * b"a" + b".", "nests more than 32 levels"),
    ],
)
def test_bombs_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """Nested tuples as a key or in a set: their hash takes for ever, or overflows the stack of the process."""
    with pytest.raises(DataFormatError, match=reason):
        load_pickle(_file(tmp_path, data))


def test_a_text_turned_into_bytes_thousands_of_times_is_refused(tmp_path: Path) -> None:
    """A pickle of 140 kB that would take gigabytes."""
    text = b"X" + (70_000).to_bytes(4, "little") + 70_000 * b"a" + b"q\x00"
    head = b"\x80\x03](c_codecs\nencode\nq\x01" + text + b"X\x06\x00\x00\x00latin1q\x02\x86R"
    data = head + 8_000 * b"h\x01h\x00h\x02\x86R" + b"e."
    assert len(data) < 150_000
    with pytest.raises(DataFormatError, match="repeats texts to many times the size of the file"):
        load_pickle(_file(tmp_path, data))
    few = head + 8 * b"h\x01h\x00h\x02\x86R" + b"e."
    assert load_pickle(_file(tmp_path, few)) == 9 * [70_000 * b"a"]


def test_a_pickle_cannot_change_the_functions_that_read_it(tmp_path: Path) -> None:
    """BUILD on a function would set its attributes, such as the defaults of its arguments."""
    data = b"\x80\x03c_codecs\nencode\nN}X\x0c\x00\x00\x00__defaults__X\x01\x00\x00\x00x\x85s\x86b."
    with pytest.raises(DataFormatError, match=r"BUILD at byte \d+ on anything but what a function made is not"):
        load_pickle(_file(tmp_path, data))


def test_a_side_of_an_empty_array_has_a_bound(tmp_path: Path) -> None:
    data = pickle.dumps(np.zeros((2, 0), dtype="<i8"), 3)
    assert data.count(b"K\x02K\x00\x86") == 1
    with pytest.raises(DataFormatError, match="do not fill"):
        load_pickle(_file(tmp_path, data.replace(b"K\x02K\x00\x86", b"\x8a\x05\x00\x00\x00\x00\x10K\x00\x86")))
