"""Writing TOML, which the standard library only reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_toml(content: Mapping[str, Any], head: str = "") -> str:
    """A line per key, below the lines of `head` as a comment."""
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return comment + "".join(f"{key} = {_value(value)}\n" for key, value in content.items())


def _value(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        escaped = (c if c.isprintable() and c not in '\\"' else f"\\U{ord(c):08x}" for c in value)
        return f'"{"".join(escaped)}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(_value, value)) + "]"
