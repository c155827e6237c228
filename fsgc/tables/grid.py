"""The cells of the tables: every dataset, number of shots, model and seed that `tables/params.yaml` lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.errors import SettingsError
from fsgc.methods.registry import method_entry
from fsgc.settings import load_params

LISTS_FILE = Path("tables") / "params.yaml"
CELLS = Path("tables") / "cells"
_NAME = re.compile(r"(?P<dataset>\w+)-(?P<shots>\d+)shot-(?P<model>\w+)-seed(?P<seed>\d+)")


@dataclass(frozen=True, order=True)
class CellKey:
    """One figure of the tables."""

    dataset: str
    shots: int
    model: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"{self.dataset}-{self.shots}shot-{self.model}-seed{self.seed}"

    @property
    def target(self) -> str:
        """What DVC calls it, after the name of the stage and an @."""
        return f"{self.dataset}-{self.shots}-{self.model}-{self.seed}"

    @classmethod
    def parse(cls, name: str) -> CellKey | None:
        """The cell of a directory's name; None if it is none."""
        match = _NAME.fullmatch(name)
        return match and cls(match["dataset"], int(match["shots"]), match["model"], int(match["seed"]))


@dataclass(frozen=True)
class Grid:
    """The lists that the cells are the product of."""

    datasets: tuple[str, ...]
    shots: tuple[int, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]

    @classmethod
    def load(cls, path: Path = LISTS_FILE) -> Grid:
        """Read and check the lists."""
        values = load_params(path)
        grid = cls(*(_list_of(path, values, name) for name in ("datasets", "shots", "models", "seeds")))
        for dataset in grid.datasets:
            catalog_entry(dataset)
        for model in grid.models:
            method_entry(model)
        return grid

    def cells(self) -> list[CellKey]:
        """All cells, those of a dataset together."""
        return [CellKey(*cell) for cell in itertools.product(self.datasets, self.shots, self.models, self.seeds)]


def _list_of(path: Path, values: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    items, kind = values.get(name), int if name in ("shots", "seeds") else str
    if not isinstance(items, list) or not items:
        raise SettingsError(f"{path}: {name} must be a list with at least one item")
    wrong = [item for item in items if not isinstance(item, kind) or isinstance(item, bool) or items.count(item) > 1]
    if wrong:
        raise SettingsError(f"{path}: {name}: {wrong[0]!r} is no {kind.__name__} or is listed twice")
    return tuple(items)
