"""Numbers from the models of cells, as they are here or as they were kept in small files that are in git.

Models and training curves are in DVC's cache only. What the pages show of them is kept in `docs/results/kept`, a file a
section and a line a cell, written where models are at hand and read where they are not. An entry names the recipe of
the training it is from: if the cell has been computed by another since, whatever shows the entry says so. Entries of
cells that are no longer there are dropped. The files are JSON as Python reads it, with `Infinity` and `NaN`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fsgc.errors import FsgcError, StoreError
from fsgc.files import replacing
from fsgc.report.cells import Cell

FOLDER = Path("docs") / "results" / "kept"
DIGITS = 4  # significant ones
T = TypeVar("T")


class Entry(BaseModel, Generic[T]):
    """What is kept of one cell: the recipe of its training, and the numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    recipe: str
    value: T


@dataclass(frozen=True)
class Section(Generic[T]):
    """One kind of numbers.

    Attributes:
        name: of its file, without suffix.
        entry: what the file holds of each cell.
    """

    name: str
    entry: type[Entry[T]]


class Kept:
    """The numbers of all sections; those read from models replace those that were kept.

    Args:
        directory: of the files; it need not be there.
        sections: which files to read.
    """

    def __init__(self, directory: Path | None = None, sections: Sequence[Section[Any]] = ()) -> None:
        self._entries = {section.name: _load(directory, section) if directory else {} for section in sections}
        self._read: set[tuple[str, str]] = set()

    def get(self, section: Section[T], cell: Cell, read: Callable[[Cell], T | None]) -> T | None:
        """The numbers of a cell: from its model, or as they were kept; `None` if neither has them.

        A model of another training than the cell's gives way to kept numbers.

        Args:
            section: which numbers.
            cell: whose.
            read: reads them from the model; `None` where that is not here. What it raises is raised if none are kept.
        """
        name, entries = cell.key.name, self._entries.setdefault(section.name, {})
        recipe, is_kept = _recipe_at_hand(cell), name in entries
        if (section.name, name) not in self._read and (recipe == trained_by(cell) or not is_kept):
            try:
                value = read(cell)
            except FsgcError:
                if not is_kept:
                    raise
                value = None
            self._read.add((section.name, name))
            if value is not None:
                found = section.entry(recipe=recipe, value=value).model_dump()
                entries[name] = section.entry.model_validate(_rounded(found))
        entry: Entry[T] | None = entries.get(name)
        return entry.value if entry else None

    def is_earlier(self, section: Section[Any], cell: Cell) -> bool:
        """Whether what there is of a cell is from another training than the cell's."""
        entry = self._entries.get(section.name, {}).get(cell.key.name)
        return entry is not None and entry.recipe != trained_by(cell)

    def note(self, section: Section[Any], cells: Iterable[Cell]) -> str:
        """A sentence on those of the cells that were computed anew since their numbers were kept; empty if none was."""
        earlier = [
            f"{cell.key.name} (recipe {self._entries[section.name][cell.key.name].recipe or 'unknown'})"
            for cell in cells
            if self.is_earlier(section, cell)
        ]
        return f"From an earlier version of the cell: {', '.join(earlier)}." if earlier else ""

    def save(self, directory: Path, cells: Iterable[Cell]) -> list[Path]:
        """Write what there is of these cells, and of no others, in place of the whole directory; the files written."""
        names = {cell.key.name for cell in cells}
        written = []
        with replacing(directory) as partial:
            partial.mkdir()
            for section, entries in self._entries.items():
                lines = [
                    f"{json.dumps(name)}: {json.dumps(entry.model_dump(), ensure_ascii=False, separators=(',', ':'))}"
                    for name, entry in sorted(entries.items())
                    if name in names
                ]
                if lines:
                    text = "{\n" + ",\n".join(lines) + "\n}\n"
                    (partial / f"{section}.json").write_text(text, encoding="utf-8")
                    written.append(directory / f"{section}.json")
        return written


def trained_by(cell: Cell) -> str:
    """The recipe by which a cell's model was trained, as its record has it."""
    return cell.metrics.train.recipe if cell.metrics.train else ""


def _recipe_at_hand(cell: Cell) -> str:
    """The recipe of the model that is here; where it does not say, the cell's."""
    try:
        return str(json.loads((cell.model / "model.json").read_bytes())["recipe"])
    except (OSError, ValueError, KeyError, TypeError):
        return trained_by(cell)


def _load(directory: Path, section: Section[T]) -> dict[str, Entry[T]]:
    path = directory / f"{section.name}.json"
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
        return {str(name): section.entry.model_validate(entry) for name, entry in content.items()}
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error)
    raise StoreError(
        f"{path} is damaged ({reason}); take it from git again with 'git checkout -- {path}', "
        "or delete it and write it with 'fsgc tables docs' where the models are"
    )


def _rounded(value: Any) -> Any:
    """The same data with floats to a few digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value
