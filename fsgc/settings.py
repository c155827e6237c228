"""Settings from `params.yaml`: a section of the file becomes a dataclass, or an error that names the key."""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fsgc.errors import SettingsError

PARAMS_FILE = Path("params.yaml")
T = TypeVar("T")


def load_params(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """The whole file as nested dictionaries."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist in {Path.cwd()}; run this from the project's root") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: expected keys and values at the top level")
    return content


def section(name: str, kind: type[T], path: Path = PARAMS_FILE) -> T:
    """The section `name` of the file as a `kind`; unknown, missing or ill-typed keys are errors."""
    values = load_params(path).get(name)
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: the section '{name}' is missing or has no keys")
    return from_mapping(name, kind, values)


def from_mapping(name: str, kind: type[T], values: dict[str, Any]) -> T:
    """Make a dataclass of `values`, whose keys are spoken of as `name.<key>`."""
    types = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in fields:
            raise SettingsError(f"{name}.{key}: unknown; the keys of '{name}' are {', '.join(fields)}")
        wanted = types[key]
        fits = isinstance(value, int | float if wanted is float else wanted) and not (
            isinstance(value, bool) and wanted is not bool
        )
        if not fits:
            raise SettingsError(f"{name}.{key}: {value!r} is not of type {wanted.__name__}")
    missing = [key for key, field in fields.items() if key not in values and field.default is dataclasses.MISSING]
    if missing:
        raise SettingsError(f"{name}.{missing[0]}: missing")
    try:
        return kind(**values)
    except SettingsError as error:
        prefix = "" if str(error).startswith(f"{name}.") else f"{name}."
        raise SettingsError(f"{prefix}{error}") from error
