"""The cells of the tables: what the blocks of `tables/params.yaml` list, each a product of lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.features import check_features
from fsgc.errors import SettingsError
from fsgc.experiment import OWN_FEATURES, Experiment
from fsgc.methods.registry import method_entry
from fsgc.settings import PARAMS_FILE, load_params, shown, unknown_key

TABLES = Path("tables")
CELLS = TABLES / "cells"
LISTS = ("datasets", "shots", "models", "seeds")
_NAME = re.compile(
    r"(?P<dataset>\w+)-(?P<shots>\d+)shot-(?P<model>\w+?)(-(?P<features>[a-z]\w*))?-seed(?P<seed>\d+)", re.ASCII
)


@dataclass(frozen=True, order=True)
class CellKey:
    """One accuracy of the tables.

    Attributes:
        dataset: key of the dataset.
        shots: K.
        model: name of the method.
        seed: of split, training episodes and weights; 0 where the result does not vary with it.
        features: the node features, `dataset` for those of the catalog.
    """

    dataset: str
    shots: int
    model: str
    seed: int
    features: str = OWN_FEATURES

    @property
    def name(self) -> str:
        """The name of its directory, and of its stage in DVC after `evaluate@`."""
        inputs = "" if self.features == OWN_FEATURES else f"-{self.features}"
        return f"{self.dataset}-{self.shots}shot-{self.model}{inputs}-seed{self.seed}"

    @classmethod
    def parse(cls, name: str) -> CellKey | None:
        """The cell of a directory's name; None if it is none."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        inputs = match["features"] or OWN_FEATURES
        return cls(match["dataset"], int(match["shots"]), match["model"], int(match["seed"]), inputs)

    def experiment(self, params: Mapping[str, Any]) -> Experiment:
        """The experiment that computes it."""
        return Experiment.from_params(
            params, dataset=self.dataset, shots=self.shots, model=self.model, seed=self.seed, features=self.features
        )


@dataclass(frozen=True)
class Grid:
    """All cells that are wanted, in the order of the blocks."""

    cells: tuple[CellKey, ...]

    @classmethod
    def load(cls, project: Path = Path()) -> Grid:
        """Read and check the blocks."""
        path = project / TABLES / PARAMS_FILE.name
        cells: dict[CellKey, None] = {}
        for name, block in load_params(path).items():
            if not isinstance(block, dict):
                raise SettingsError(
                    f"{path}: {name} must be a block with the lists {', '.join(LISTS)}, got {shown(block)}"
                )
            cells |= dict.fromkeys(_cells_of(f"{path}: {name}", block))
        return cls(tuple(cells))


def _cells_of(where: str, block: Mapping[str, Any]) -> list[CellKey]:
    unknown = [key for key in block if key not in (*LISTS, "features")]
    if unknown:
        raise SettingsError(f"{where}.{unknown_key(str(unknown[0]), (*LISTS, 'features'))}")
    datasets, shots, models, seeds = (_list_of(where, block, name) for name in LISTS)
    features = block.get("features", OWN_FEATURES)
    for dataset in datasets:
        entry = catalog_entry(dataset)
        if not isinstance(features, str) or "+" in features:
            raise SettingsError(f"{where}.features must be one word, got {shown(features)}")
        check_features(entry, features)
    # What does not vary with the seed is one cell for all seeds.
    varies = {model: method_entry(model).method().trained_for.seed for model in models}
    products = itertools.product(datasets, shots, models, seeds)
    cells = [CellKey(d, k, model, s if varies[model] else 0, features) for d, k, model, s in products]
    for cell in cells:
        if CellKey.parse(cell.name) != cell:  # its name is that of a directory and of stages
            raise SettingsError(
                f"{where}.models: {cell.model!r} cannot be a row of the tables, whose names have letters, digits and _ "
                "only; give the method a line in fsgc/methods/registry.py"
            )
    return cells


def _list_of(where: str, values: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    items, kind = values.get(name), int if name in ("shots", "seeds") else str
    if not isinstance(items, list) or not items:
        raise SettingsError(f"{where}.{name} must be a list with at least one item")
    least = 1 if name == "shots" else 0
    for item in items:
        if (
            not isinstance(item, kind)
            or isinstance(item, bool)
            or (isinstance(item, int) and not least <= item < 2**31)
        ):
            raise SettingsError(f"{where}.{name}: {shown(item)} is not allowed")
        if items.count(item) > 1:
            raise SettingsError(f"{where}.{name}: {item!r} is listed twice")
    return tuple(items)
