"""`GramStore`: the Gram matrix of a kernel over the graphs of a dataset's novel classes, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError, StoreError
from fsgc.methods.kernel.grakel_graphlets import grakel_graphlet_histograms
from fsgc.methods.kernel.graphlet import check_countable, exact_triples
from fsgc.methods.kernel.labels import node_labels
from fsgc.methods.kernel.settings import KERNELS, KernelSettings
from fsgc.methods.kernel.shortest_path import sp_histograms
from fsgc.methods.kernel.weisfeiler_lehman import wl_histograms
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
        """Read a store; `StoreError` if it is missing, damaged or was left empty for a model that needs none."""
        path = Path(path)
        if not path.exists():
            raise StoreError(f"{path} does not exist; run 'dvc repro', or 'python -m pipeline.kernel'")
        arrays, attributes = read_arrays(path, KIND, ("gram", "graphs"))
        if attributes["kernel"] not in KERNELS:
            raise StoreError(f"{path} is empty: it was made for {attributes['model']!r}, which is no kernel")
        return cls(arrays["gram"], arrays["graphs"], attributes)

    def save(self, path: Path | str) -> None:
        """Write the store as a Zarr group, whole or not at all."""
        write_arrays(Path(path), {"gram": self.gram, "graphs": self.graphs}, self.attributes)

    def is_of(self, graphs: GraphStore, settings: KernelSettings) -> bool:
        """Whether this is the matrix of these graphs under these settings."""
        expected = {"graphs": graphs.fingerprint(), "settings": asdict(settings)}
        return {name: self.attributes[name] for name in expected} == expected

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


def save_empty(path: Path, model: str) -> None:
    """Leave a store without a matrix, for a model that needs none."""
    empty = {"gram": np.zeros((0, 0)), "graphs": np.zeros(0, np.int64)}
    write_arrays(path, empty, {"kind": KIND, "version": VERSION, "kernel": "", "model": model})


def compute_gram(graphs: GraphStore, novel: Sequence[int], kernel: str, settings: KernelSettings) -> GramStore:
    """The Gram matrix of a kernel over all graphs of some classes.

    Args:
        graphs: all graphs of a dataset.
        novel: the classes.
        kernel: `wl`, `sp` or `graphlet`.
        settings: what decides the kernel's values.

    Raises:
        DataFormatError: a graph has nothing that the kernel looks at, so that its value cannot be normalised.
    """
    index = np.flatnonzero(np.isin(graphs.y, list(novel)))
    if len(index) == 0:
        raise SettingsError(f"no graph is of the classes {', '.join(map(str, novel))}: there is nothing to compare")
    selected = graphs.select(index)
    if kernel == "graphlet":
        check_countable(selected, settings.graphlet_size, index)
    histograms = _histograms(selected, kernel, settings)
    gram = (histograms @ histograms.T).toarray()
    if settings.normalised(kernel):
        norm = np.diagonal(gram)
        empty = np.flatnonzero(norm == 0)
        if len(empty):
            what = {"sp": "no two nodes are joined by a path", "graphlet": "it has no graphlet of that size"}
            reason = what.get(kernel, "it has no nodes")
            raise DataFormatError(f"the kernel {kernel!r} cannot be normalised: {reason}", graph=int(index[empty[0]]))
        gram = gram / np.sqrt(np.outer(norm, norm))
    attributes = {
        "kind": KIND,
        "version": VERSION,
        "kernel": kernel,
        "model": kernel,
        "settings": asdict(settings),
        "graphs": graphs.fingerprint(),
    }
    return GramStore(gram, index, attributes)


def _histograms(graphs: GraphStore, kernel: str, settings: KernelSettings) -> csr_array:
    """What the kernel is the inner product of, `[M, F]`."""
    if kernel == "wl":
        return wl_histograms(graphs, node_labels(graphs, settings.node_labels), settings.wl_iterations)
    if kernel == "sp":
        return sp_histograms(graphs, node_labels(graphs, settings.node_labels))
    if kernel != "graphlet":
        raise SettingsError(f"unknown kernel {kernel!r}; there are: {', '.join(KERNELS)}")
    if settings.graphlet_counts == "grakel":
        return grakel_graphlet_histograms(graphs, settings.graphlet_size)
    if settings.graphlet_size != 3:
        raise SettingsError(
            f"kernel.graphlet_counts: 'exact' counts graphlets of 3 nodes, but graphlet_size is "
            f"{settings.graphlet_size}; set it to 3, or graphlet_counts to grakel"
        )
    return exact_triples(graphs)
