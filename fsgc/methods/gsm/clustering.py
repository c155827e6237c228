"""From the training graphs of base classes to super-classes (Chauhan et al. 2020)."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import Spectra, laplacian_spectra
from fsgc.data.splits import Split
from fsgc.methods.gsm.superclasses import SuperClasses, base_graphs
from fsgc.methods.gsm.transport import transport_costs


def class_prototypes(spectra: Spectra, class_of_graph: Ints, order: int = 2) -> Ints:
    """Of each class, ascending, the graph whose spectrum costs least to move to all others of the class, `[C]`."""
    chosen = []
    for one in np.unique(class_of_graph):
        graphs = np.flatnonzero(class_of_graph == one)
        chosen.append(graphs[transport_costs(spectra.select(graphs), order).sum(1).argmin()])
    return np.array(chosen, dtype=np.int64)


def complete_linkage(costs: Floats) -> Ints:
    """Clusters by complete linkage for every number of them: column `n - 1` of `[C, C]` is for `n` clusters."""
    if len(costs) == 1:
        return np.zeros((1, 1), dtype=np.int64)
    tree = linkage(squareform(costs, checks=False), method="complete")
    return cut_tree(tree)[:, ::-1].astype(np.int64)  # it begins with as many clusters as classes


def find_superclasses(graphs: GraphStore, split: Split, order: int = 2) -> SuperClasses:
    """Cluster the base classes of a dataset by the spectra of their training graphs; no other graph is looked at."""
    index = base_graphs(graphs, split)
    used = graphs.select(index)
    spectra = laplacian_spectra(used)
    prototypes = class_prototypes(spectra, used.y.astype(np.int64), order)
    costs = transport_costs(spectra.select(prototypes), order)
    attributes = {"dataset": split.dataset, "seed": split.seed, "graphs": used.fingerprint(), "order": order}
    return SuperClasses(
        np.unique(used.y).astype(np.int64), index[prototypes], costs, complete_linkage(costs), attributes
    )
