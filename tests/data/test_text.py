from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.text import read_floats, read_integers, read_text
from fsgc.errors import DataFormatError

INTEGERS = st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "numbers.txt"


@given(
    lines=st.lists(st.lists(INTEGERS, max_size=6), min_size=1, max_size=20),
    separator=st.sampled_from([" ", ", ", "\t"]),
)
def test_integers_agree_with_python(scratch: Path, lines: list[list[int]], separator: str) -> None:
    while lines and not lines[-1]:
        lines.pop()
    scratch.write_text("\n".join(separator.join(map(str, line)) for line in lines) + "\n")
    read = read_integers(scratch)
    assert read.values.tolist() == [value for line in lines for value in line]
    assert read.tokens_per_line.tolist() == [len(line) for line in lines]


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ("1 2\n3 x4\n", 2, "'x4'"),
        ("1\n\n--3\n", 3, "'--3'"),
        ("1 2-3", 1, "'2-3'"),
        ("7\n-", 2, "'-'"),
        ("1.5", 1, "'1.5'"),
        ("1\n1234567890123456789", 2, "18 digits"),
        ("1\n\xff", 2, "integer"),
    ],
)
def test_what_is_not_an_integer_is_named_with_its_line(tmp_path: Path, content: str, line: int, what: str) -> None:
    file = tmp_path / "bad.txt"
    file.write_bytes(content.encode("latin1"))
    with pytest.raises(DataFormatError, match=f"line {line}") as caught:
        read_integers(file)
    assert what in str(caught.value)
    assert caught.value.line == line


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.write_text("\n \n")
    assert len(read_integers(file).tokens_per_line) == 0


def test_table_names_the_line_that_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text("1, 2\n3, 4\n5\n")
    with pytest.raises(DataFormatError, match="line 3: expected 2"):
        read_integers(file).table(2)


@given(st.lists(st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * 3), min_size=1, max_size=20))
def test_floats_agree_with_python(scratch: Path, rows: list[tuple[float, ...]]) -> None:
    scratch.write_text("\n".join(", ".join(map(repr, row)) for row in rows) + "\n")
    np.testing.assert_array_equal(read_floats(scratch), np.array(rows))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("1, 2\n3\n", 2),
        ("1, nan\n", 1),
        ("1\ninf\n", 2),
        ("1\n1e39\n", 2),
        ("1, \n", 1),
        ("1\n\n2\n", 2),
        ("a", 1),
        ("", 1),
    ],
)
def test_what_is_not_a_number_is_named_with_its_line(tmp_path: Path, content: str, line: int) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(content)
    with pytest.raises(DataFormatError) as caught:
        read_floats(file)
    assert caught.value.line == line


def test_missing_and_undecodable_files_are_our_errors(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match=r"no\.txt: the raw file cannot be read"):
        read_integers(tmp_path / "no.txt")
    file = tmp_path / "latin.txt"
    file.write_bytes(b"a\nb\xe9")
    with pytest.raises(DataFormatError, match="line 2: byte 0xe9 is not UTF-8"):
        read_text(file)
