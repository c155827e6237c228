"""Notes that tell by which recipe a store was made, where no DVC does.

A note is about one store, which it names by its content: a store that something else has put in its place (DVC, another
checkout) has no note.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsgc.files import replacing, sha256_of
from fsgc.recipes import Recipe, as_json


def write_note(note: Path, store: Path, made_by: Recipe) -> None:
    """Note that a store is what a recipe makes."""
    with replacing(note) as partial:
        partial.write_text(as_json({"recipe": made_by, "store": _identity(store)}), encoding="utf-8")


def was_made_by(note: Path, store: Path, wanted: Recipe, any_settings: bool = False) -> bool:
    """Whether a store is there and was made by a recipe, or by the same with other settings.

    A note that is missing, damaged or about another store tells nothing; then the store is to be made again.
    """
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        made_by: Mapping[str, Any] = content["recipe"]
        if content["store"] != _identity(store):
            return False
        plain = json.loads(as_json(wanted))
        return bool(made_by == plain or (any_settings and {**made_by, "settings": plain["settings"]} == plain))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _identity(store: Path) -> str:
    """A digest of the small files of a store, which hold the digests of the large ones."""
    files = [store] if store.is_file() else sorted(store.rglob("*.json"))
    told = [(path.relative_to(store).as_posix(), sha256_of(path)) for path in files]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
