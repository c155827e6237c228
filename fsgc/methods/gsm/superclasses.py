"""`SuperClasses`: which base classes belong together, stored once for a dataset and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.errors import SettingsError, StoreError
from fsgc.zarr_io import read_arrays, write_arrays

KIND = "fsgc.superclasses"
VERSION = 1
_ARRAYS = ("classes", "prototypes", "costs", "members")


@dataclass(frozen=True, eq=False)
class SuperClasses:
    """The base classes of a dataset, clustered; the number of clusters is chosen when they are used.

    Attributes:
        classes: int64 `[C]`, the base classes, ascending.
        prototypes: int64 `[C]`, the graph that stands for each class.
        costs: float64 `[C, C]`, transport cost between the prototypes' spectra.
        members: int64 `[C, C]`; column `n - 1` is the cluster, 0 to `n` - 1, of each class when there are `n` of them.
        attributes: dataset, seed, fingerprint of the training graphs of the base classes, order of the transport cost.
    """

    classes: Ints
    prototypes: Ints
    costs: Floats
    members: Ints
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def of_classes(self, count: int) -> Ints:
        """The super-class, 0 to `count` - 1, of each base class, `[C]`."""
        if not 1 <= count <= len(self.classes):
            raise SettingsError(
                f"gsm.super_classes: {count} super-classes do not fit {len(self.classes)} base classes; use 1 to "
                f"{len(self.classes)}"
            )
        return self.members[:, count - 1]

    def save(self, path: Path) -> None:
        """Write the store, whole or not at all."""
        attributes = {**self.attributes, "kind": KIND, "version": VERSION}
        write_arrays(path, {name: getattr(self, name) for name in _ARRAYS}, attributes)

    @classmethod
    def open(cls, path: Path) -> SuperClasses:
        """Read a store."""
        arrays, attributes = read_arrays(path, KIND, _ARRAYS)
        return cls(**arrays, attributes=attributes)

    def is_of(self, graphs: GraphStore, split: Split) -> bool:
        """Whether these were found on the training graphs of the split."""
        return bool(self.attributes["graphs"] == graphs.select(base_graphs(graphs, split)).fingerprint())

    def check(self, path: Path, graphs: GraphStore, split: Split) -> None:
        """Refuse super-classes that were found on other graphs than the training graphs of the split."""
        if not self.is_of(graphs, split):
            raise StoreError(f"{path} was made from other graphs than those stored now; delete it to make it again")


def base_graphs(graphs: GraphStore, split: Split) -> Ints:
    """The graphs that super-classes are found on: those of base classes that training may use, ordered by class."""
    pools = split.pools(graphs.y, "train")
    return np.concatenate([pools[c] for c in sorted(pools)])
