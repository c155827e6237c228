from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.errors import SettingsError
from fsgc.settings import (
    Count,
    CountOrNone,
    NonNegative,
    Positive,
    Seed,
    Share,
    from_mapping,
    load_params,
    settings,
    shown,
)


@settings
class Oven:
    """Settings of a kind that fsgc does not have."""

    degrees: Positive
    minutes: Count = 30
    rest: CountOrNone = 0
    salt: NonNegative = 0.0
    air: Share = 0.0
    seed: Seed = 0
    fan: bool = False
    place: Literal["top", "middle", "bottom"] = "middle"
    name: str = "oven"


def test_a_mapping_becomes_settings() -> None:
    assert from_mapping("oven", Oven, {"degrees": 180, "fan": True}) == Oven(degrees=180.0, fan=True)
    assert isinstance(from_mapping("oven", Oven, {"degrees": 180}).degrees, float), "equal settings, equal recipes"


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("degrees", "hot", "a number"),
        ("degrees", None, "a number"),
        ("degrees", [180], "a number"),
        ("degrees", 0, "above 0"),
        ("degrees", -0.1, "above 0"),
        ("degrees", math.inf, "a finite number"),
        ("degrees", math.nan, "a finite number"),
        ("minutes", 1.5, "a whole number"),
        ("minutes", "3", "a whole number"),
        ("minutes", True, "a whole number"),
        ("minutes", 0, "at least 1"),
        ("minutes", 10**12, "at most 10000000"),
        ("rest", -1, "at least 0"),
        ("salt", -1e-9, "at least 0"),
        ("air", 1.0, "below 1"),
        ("air", -0.5, "at least 0"),
        ("seed", -1, "at least 0"),
        ("seed", 2**31, "below 2147483648"),
        ("fan", 1, "true or false"),
        ("fan", "yes", "true or false"),
        ("place", "side", "'top', 'middle' or 'bottom'"),
        ("place", ["top"], "'top', 'middle' or 'bottom'"),
        ("name", 5, "a word"),
        ("name", {"a": 1}, "a word"),
    ],
)
def test_a_bad_value_names_the_key_the_value_and_what_is_allowed(key: str, value: Any, wanted: str) -> None:
    expected = f"{key} must be {wanted}, got {value!r}"
    with pytest.raises(SettingsError, match=f"^{re.escape(expected)}$") as caught:
        Oven(**{"degrees": 180.0, key: value})
    assert caught.value.key == key
    with pytest.raises(SettingsError, match=f"^{re.escape(f'kitchen.oven.{expected}')}$"):
        from_mapping("kitchen.oven", Oven, {"degrees": 180.0, key: value})
    with pytest.raises(SettingsError, match=f"^{re.escape(f'kitchen.small.{expected}')}$") as caught:
        from_mapping("oven", Oven, {"degrees": 180.0, key: value}, {key: f"kitchen.small.{key}"})
    assert caught.value.key == f"kitchen.small.{key}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"minutes": 3}, "oven.degrees is missing"),
        (
            {"degrees": 1, "minuts": 3},
            "oven.minuts is unknown; did you mean 'minutes'? The keys here are degrees, minut",
        ),
        ({"degrees": 1, "colour": 3}, "oven.colour is unknown. The keys here are degrees, minutes, rest, salt, air"),
        ({"degrees": 1, 5: 3}, "oven: the key 5 must be a word"),
        ({"degrees": 1, None: 3}, "oven: the key None must be a word"),
        ({"degrees": 1, (1, 2): 3}, "oven: the key (1, 2) must be a word"),
    ],
)
def test_missing_and_unknown_keys_are_named(values: dict[Any, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}"):
        from_mapping("oven", Oven, values)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Oven(degrees=180.0).minutes = 3  # type: ignore[misc]


def test_a_value_is_shown_on_one_short_line() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 10_000)) == 78
    assert shown(10**5000) == "a number with thousands of digits"


def _file(tmp_path: Path, content: bytes) -> Path:
    file = tmp_path / "params.yaml"
    file.write_bytes(content)
    return file


def _bomb() -> str:
    """Nine levels of ten aliases: a billion words in a few hundred bytes."""
    levels = [f"a{level}: &a{level} [{', '.join(['*a' + str(level - 1)] * 10)}]" for level in range(1, 10)]
    return "\n".join(["a0: &a0 lol", *levels])


HOSTILE = {
    "not UTF-8": (b"dataset: \xff\xfe\n", "is not UTF-8 text (byte 9); save it as UTF-8"),
    "UTF-16": ("dataset: enzymes".encode("utf-16"), "is not UTF-8 text (byte 0)"),
    "zeros": (b"\0" * 100, "is not valid YAML"),
    "a control character": (b"dataset: \x07\n", "is not valid YAML"),
    "an open bracket": (b"a: [", "is not valid YAML"),
    "tabs": (b"a:\n\tb: 1\n", "is not valid YAML"),
    "a list": (b"- 1", "must have keys and values at the top level"),
    "a word": (b"fsgc", "must have keys and values at the top level"),
    "nothing": (b"", "must have keys and values at the top level"),
    "two documents": (b"a: 1\n---\nb: 2\n", "is not valid YAML"),
    "deep lists": (b"a: " + b"[" * 5000 + b"]" * 5000, "line 1: nested more than 12 levels deep"),
    "deep keys": ("".join(f"{' ' * n}a:\n" for n in range(400)).encode(), "nested more than 12 levels deep"),
    "an endless integer": (b"seed: " + b"9" * 4500, "line 1: a value of 4500 characters"),
    "an alias": (b"a: &x 1\nb: *x\n", "line 2: *x is an alias, which is not supported; write it out"),
    "an alias bomb": (_bomb().encode(), "line 2: *a0 is an alias"),
    "a merge": (b"a: &x {b: 1}\nc: {<<: *x}\n", "line 2: *x is an alias"),
    "a circle": (b"&a a: *a\n", "is an alias"),
    "a large file": (b"a: 1 " + b"#" * 1_000_001, "is larger than 1000000 bytes"),
    "code": (b"a: !!python/object/apply:os.system [echo]\n", "is not valid YAML"),
    "a key that is a list": (b"? [a, b]\n: 1\n", "is not valid YAML"),
    "a section twice": (b"pn:\n  a: 1\nsvc:\n  b: 1\npn:\n  c: 1\n", "'pn' comes twice"),
    "a date": (b"a: 2001-99-99\n", "has a value that cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    content, message = HOSTILE[name]
    file = _file(tmp_path, content)
    with pytest.raises(SettingsError, match=re.escape(message)) as caught:
        load_params(file)
    assert str(caught.value).startswith(str(file))
    asked = CliRunner().invoke(main, ["train", "pn", "triangles_gen", "--params", str(file), "-o", str(tmp_path / "x")])
    assert (asked.exit_code, asked.output) == (1, f"Error: {caught.value}\n")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"params\.yaml does not exist in .*; run this from the project's root"):
        load_params(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").mkdir()
    with pytest.raises(SettingsError, match=r"params\.yaml cannot be read: Is a directory"):
        load_params(tmp_path / "params.yaml")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(SettingsError, match=r"loop\.yaml cannot be read: "):
        load_params(tmp_path / "loop.yaml")


def test_the_projects_own_file_is_read_as_yaml_reads_it() -> None:
    path = Path(__file__).parents[1] / "params.yaml"
    assert load_params(path) == yaml.safe_load(path.read_text())
