"""Settings: classes that check themselves, and `params.yaml` read with suspicion.

A settings class is a dataclass decorated with `settings`; its annotations say what is allowed (`lr: Positive`), its
defaults are the only defaults there are. A bad value is a `SettingsError` that names the key, the value and what is
allowed.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_type_hints

import yaml
from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

from fsgc.errors import SettingsError

PARAMS_FILE = Path("params.yaml")
T = TypeVar("T")

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
CountOrNone = Annotated[int, Field(ge=0, le=10_000_000)]
Layers = Annotated[int, Field(ge=1, le=64)]
Width = Annotated[int, Field(ge=1, le=16_384)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]

_LARGEST_FILE = 1_000_000
_DEEPEST = 12
_LONGEST_VALUE = 1000


@dataclass_transform(frozen_default=True)
def settings(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose values are checked against their annotations when it is made."""
    made = pydantic_dataclass(cls, frozen=True, config=ConfigDict(extra="forbid", strict=True))
    check = made.__init__

    @functools.wraps(check)
    def init(self: Any, *args: Any, **values: Any) -> None:
        try:
            check(self, *args, **values)
        except ValidationError as error:
            raise _sentence(made, error) from None

    made.__init__ = init  # type: ignore[method-assign]
    return made  # type: ignore[return-value]


def _sentence(kind: type[Any], error: ValidationError) -> SettingsError:
    """The first complaint of pydantic in our words."""
    first = error.errors()[0]
    key, given, about = str(first["loc"][0]), first["input"], first.get("ctx", {})
    match first["type"]:
        case "unexpected_keyword_argument":
            return SettingsError(unknown_key(key, [field.name for field in dataclasses.fields(kind)]), key=key)
        case "missing" | "missing_argument":
            return SettingsError(f"{key} is missing", key=key)
        case "literal_error":
            allowed = get_args(get_type_hints(kind)[key])
            return SettingsError(f"{key} must be {_one_of(allowed)}, got {shown(given)}", key=key)
    bounds = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    limit = [f"{words} {_number(about[name])}" for name, words in bounds.items() if name in about]
    if first["type"].startswith("bool"):
        wanted = "true or false"
    elif limit:
        wanted = limit[0]
    else:
        wanted = {"int": "a whole number", "finite": "a finite number", "float": "a number", "string": "a word"}.get(
            first["type"].split("_")[0], str(first["msg"])
        )
    return SettingsError(f"{key} must be {wanted}, got {shown(given)}", key=key)


def _one_of(allowed: Collection[Any]) -> str:
    *most, last = (repr(each) for each in allowed)
    return f"{', '.join(most)} or {last}" if most else last


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, and not at any length."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python converts
        text = "a number with thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}…"


def unknown_key(key: str, known: Collection[str]) -> str:
    """What to say of a key that does not exist."""
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{key} is unknown{hint} The keys here are {', '.join(known)}"


def from_mapping(name: str, kind: type[T], values: Mapping[str, Any], paths: Mapping[str, str] | None = None) -> T:
    """Make a settings class of `values`.

    Args:
        name: the section, for messages.
        kind: the class.
        values: key to value.
        paths: key to the full key that the value stands under in `params.yaml`; by default `name.key`.
    """
    strange = [key for key in values if not isinstance(key, str)]
    if strange:
        raise SettingsError(f"{name}: the key {shown(strange[0])} must be a word")
    try:
        return kind(**values)
    except SettingsError as error:
        key = error.key
        full = (paths or {}).get(key, f"{name}.{key}") if key else name
        text = str(error)
        rest = text.removeprefix(key) if key else f": {text}"
        raise SettingsError(f"{full}{rest}", key=full) from None


def load_params(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """The whole file as nested dictionaries.

    The file may come from a stranger: it is refused if it is large, deeply nested, or uses YAML's aliases, with which a
    few lines can stand for gigabytes.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SettingsError(f"{path} is larger than {_LARGEST_FILE} bytes; settings are not")
        text = path.read_text(encoding="utf-8")
        _check_shape(path, text)
        content = yaml.load(text, Loader=_UniqueKeys)  # noqa: S506  (it is a safe loader)
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist in {Path.cwd()}; run this from the project's root") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid YAML: {error}") from None
    except ValueError as error:  # a number that Python refuses to convert
        raise SettingsError(f"{path} has a value that cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise SettingsError(f"{path} must have keys and values at the top level")
    return content


class _UniqueKeys(yaml.SafeLoader):
    """YAML whose last one of several equal keys does not silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping; a key that comes twice is an error with its line."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} comes twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _check_shape(path: Path, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, AliasEvent):
            raise SettingsError(
                f"{path}, line {line}: *{event.anchor} is an alias, which is not supported; write it out"
            )
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _DEEPEST:
            raise SettingsError(f"{path}, line {line}: nested more than {_DEEPEST} levels deep")
        if isinstance(event, ScalarEvent) and len(event.value) > _LONGEST_VALUE:
            raise SettingsError(f"{path}, line {line}: a value of {len(event.value)} characters")
