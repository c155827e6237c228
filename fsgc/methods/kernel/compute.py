"""Computing the Gram matrix of a kernel over the graphs of some classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError
from fsgc.methods.kernel.grakel_graphlets import grakel_graphlet_histograms
from fsgc.methods.kernel.gram import KIND, VERSION, GramStore
from fsgc.methods.kernel.graphlet import check_countable, exact_triples
from fsgc.methods.kernel.labels import node_labels
from fsgc.methods.kernel.settings import KERNELS, KernelSettings
from fsgc.methods.kernel.shortest_path import sp_histograms
from fsgc.methods.kernel.weisfeiler_lehman import wl_histograms


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
    gram = gram_of(graphs, index, kernel, settings)
    attributes = {
        "kind": KIND,
        "version": VERSION,
        "kernel": kernel,
        "model": kernel,
        "settings": asdict(settings),
        "graphs": graphs.fingerprint(),
    }
    return GramStore(gram, index, attributes)


def gram_of(graphs: GraphStore, index: Ints, kernel: str, settings: KernelSettings) -> Floats:
    """The values of a kernel for all pairs of some graphs, int64 `[M]` to float64 `[M, M]`."""
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
    return np.asarray(gram)


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
            f"kernel.graphlet_counts 'exact' counts graphlets of 3 nodes, but graphlet_size is "
            f"{settings.graphlet_size}; set it to 3, or graphlet_counts to grakel"
        )
    return exact_triples(graphs)
