"""`GramStore`: the Gram matrix of a kernel over the graphs of a dataset's novel classes, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.errors import StoreError
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.zarr_io import read_arrays, write_arrays

KIND = "fsgc.gram"
VERSION = 1


@dataclass(frozen=True, eq=False)
class GramStore:
    """The values `k(G, H)` of a kernel; an entry depends on its two graphs alone.

    Attributes:
        gram: float64 `[M, M]`.
        graphs: int64 `[M]`, ascending; row and column i are graph `graphs[i]` of the dataset.
        attributes: the kernel, its settings, and the fingerprint and number of the dataset's graphs.
    """

    gram: Floats
    graphs: Ints
    attributes: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path | str) -> GramStore:
        """Read a store; `StoreError` if it is missing or damaged."""
        arrays, attributes = read_arrays(Path(path), KIND, ("gram", "graphs"))
        return cls(arrays["gram"], arrays["graphs"], attributes)

    @property
    def settings(self) -> KernelSettings:
        """What decided its values."""
        return KernelSettings(**self.attributes["settings"])

    def save(self, path: Path | str) -> None:
        """Write the store as a Zarr group, whole or not at all."""
        write_arrays(Path(path), {"gram": self.gram, "graphs": self.graphs}, self.attributes)

    def check(self, graphs: GraphStore, kernel: str) -> None:
        """Refuse a matrix of other graphs or another kernel."""
        if self.attributes["kernel"] != kernel:
            raise StoreError(f"this Gram matrix is of the kernel {self.attributes['kernel']!r}, not of {kernel!r}")
        if self.attributes["graphs"] != graphs.fingerprint():
            raise StoreError(
                f"the Gram matrix of {kernel!r} is of other graphs than those stored now; compute it again"
            )

    def rows_of(self, graphs: Ints) -> Ints:
        """The rows of the given graphs of the dataset, in their shape; a graph it does not cover is an error."""
        row = np.minimum(np.searchsorted(self.graphs, graphs), len(self.graphs) - 1)
        outside = graphs[self.graphs[row] != graphs]
        if len(outside):
            raise StoreError(f"graph {outside[0]} is not of a novel class, which is all that the Gram matrix covers")
        return row
