from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fsgc.errors import SettingsError
from fsgc.settings import load_params, section


@dataclass(frozen=True)
class Oven:
    degrees: float
    minutes: int = 30
    fan: bool = False
    name: str = "oven"


def _file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    return file


def test_a_section_becomes_a_dataclass(tmp_path: Path) -> None:
    file = _file(tmp_path, "oven: {degrees: 180, fan: true}\n")
    assert section("oven", Oven, file) == Oven(180, fan=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oven: {degrees: hot}", r"oven\.degrees: 'hot' is not of type float"),
        ("oven: {degrees: 180, minutes: 1.5}", r"oven\.minutes: 1\.5 is not of type int"),
        ("oven: {degrees: 180, minutes: true}", r"oven\.minutes: True is not of type int"),
        ("oven: {degrees: 180, fan: 1}", r"oven\.fan: 1 is not of type bool"),
        ("oven: {degrees: 180, colour: red}", r"oven\.colour: unknown; the keys of 'oven' are degrees, minutes, fan"),
        ("oven: {minutes: 3}", r"oven\.degrees: missing"),
        ("oven:", "the section 'oven' is missing or has no keys"),
        ("stove: {}", "the section 'oven' is missing"),
        ("- 1", "expected keys and values at the top level"),
        ("a: [", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        section("oven", Oven, _file(tmp_path, text))


def test_a_missing_file_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="run this from the project's root"):
        load_params(tmp_path / "params.yaml")
