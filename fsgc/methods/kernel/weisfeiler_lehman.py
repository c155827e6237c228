"""The Weisfeiler-Lehman subtree kernel (Shervashidze et al., JMLR 2011) as explicit histograms.

GraKeL's `WeisfeilerLehman(n_iter=h)` with its `VertexHistogram` sums the label histograms of h + 1 levels: the labels
as given and h refinements. A refinement gives two nodes the same label exactly if they had the same label and the same
multiset of neighbour labels. Neither the histogram of a graph nor an inner product depends on what other graphs there
are: they only decide which integer stands for a label.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.histograms import histogram_matrix


def wl_histograms(graphs: GraphStore, labels: Ints, iterations: int) -> csr_array:
    """How many nodes of each graph have each label of each level, `[G, F]`.

    Args:
        graphs: the graphs, all refined at once.
        labels: int64 `[V]`, the labels of level 0.
        iterations: h, the refinements.
    """
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    first = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index + first
    ones, levels = np.ones(len(graph)), []
    for level in range(iterations + 1):
        if level:
            labels = _refine(labels, source, target)
        levels.append(histogram_matrix(graph, labels, ones, len(graphs)))
    return hstack(levels, format="csr")


def _refine(labels: Ints, source: Ints, target: Ints) -> Ints:
    """The next level's labels `[V]`: one code per distinct (label, sorted labels of the neighbours)."""
    num_nodes = len(labels)
    neighbour = labels[source]
    order = np.lexsort((neighbour, target))
    # Each node's own label, then those of its neighbours in order: node v owns positions ptr[v]:ptr[v+1].
    length = np.bincount(target, minlength=num_nodes) + 1
    ptr = np.concatenate([[0], np.cumsum(length)])
    sequence = np.empty(ptr[-1], dtype=np.int64)
    is_own = np.zeros(ptr[-1], dtype=bool)
    is_own[ptr[:-1]] = True
    sequence[is_own] = labels
    sequence[~is_own] = neighbour[order]
    return _sequence_codes(sequence, length)


def _sequence_codes(values: Ints, length: Ints) -> Ints:
    """A code per sequence, equal for equal sequences and different for different ones; no hash, no collision.

    Neighbouring values are joined in pairs, each distinct pair getting a number, until every sequence is one number. A
    value without a partner is paired with "none", so the pairs, and with them the sequence, can be read back.

    Args:
        values: int64, at least 0, the sequences one after the other.
        length: int64, at least 1, the length of each.
    """
    while length.max() > 1:
        half = (length + 1) // 2
        owner = np.repeat(np.arange(len(length)), half)
        start, half_start = np.cumsum(length) - length, np.cumsum(half) - half
        offset = 2 * (np.arange(len(owner)) - half_start[owner])
        left = start[owner] + offset
        paired = offset + 1 < length[owner]
        right = np.where(paired, values[np.minimum(left + 1, len(values) - 1)], -1)
        values = np.unique(values[left] * (values.max() + 2) + right + 1, return_inverse=True)[1]
        length = half
    return values
