"""Return probabilities of random walks."""

from __future__ import annotations

import numpy as np

from fsgc.arrays import Floats
from fsgc.data.descriptors.blocks import blocks
from fsgc.data.descriptors.cycles import global_edges
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import Folded, fold_leaves

STEPS = 8


def return_probabilities(graphs: GraphStore, folded: Folded | None = None) -> Floats:
    """The chance that a random walk from a node is back after 1, …, 8 steps, float64 `[V, 8]`; 0 at isolated nodes.

    That is the diagonal of `P^k`, `P = D⁻¹A`, and of `S^k`, `S = D^-½ A D^-½`, which is symmetric, so that
    `(S^(i+j))_vv = Σ_u (S^i)_vu (S^j)_vu` needs powers up to 4 only. A leaf's walk goes to its one neighbour h and
    comes back from there: `(S^k)_leaf = (S^(k−2))_h / d_h`, so that folded leaves are enough for all others.
    """
    folded = fold_leaves(graphs) if folded is None else folded
    kept = np.zeros((len(folded.kept), STEPS))
    for block in blocks(folded, folded.weight):
        powers = [block.identity()]
        for _ in range(STEPS // 2):
            powers.append(block.matrix @ powers[-1])
        for step in range(1, STEPS + 1):
            low = step // 2
            kept[block.rows, step - 1] = np.einsum("vu,vu->v", powers[low], powers[step - low])
    result = np.zeros((int(graphs.node_ptr[-1]), STEPS))
    result[folded.kept] = kept
    degree = graphs.degree
    source, target = global_edges(graphs)
    is_leaf = degree[target] == 1
    leaf, hub = target[is_leaf], source[is_leaf]
    before = np.concatenate([np.zeros((len(hub), 1)), np.ones((len(hub), 1)), result[hub, : STEPS - 2]], axis=1)
    # A neighbour that is a leaf itself is the only other node there: its own probabilities are right already.
    result[leaf] = before / degree[hub, None]
    return result
