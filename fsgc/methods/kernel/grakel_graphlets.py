"""Graphlets counted the way GraKeL does, which is what the authors' accuracies rest on.

`GraphletSampling(k)` with its default `sampling=None` draws no sample: it goes through all connected induced subgraphs
of k nodes, in theory. In GraKeL 0.1.11 three things are otherwise, none of which its documentation mentions:

- Its enumeration compares a node with a position in its search tree and skips the node where the two numbers are equal:
  1 to 5 % of the subgraphs are missed, which ones depends on how the nodes are numbered.
- A class of graphlets that a graph has is counted once too often: c subgraphs count c + 1.
- But they count c in the graph that first showed the class to the fitted kernel.

The first two are functions of the graph and are kept, the first by leaving the enumeration to GraKeL. The third makes
`k(G, H)` depend on which graphs were fitted before, and in which order, so no matrix over all graphs can have it: here
no graph is the first. Predictions agree with those of a refit in every episode for 97.4 to 99.1 % of the queries
(TRIANGLES, Letter-High, ENZYMES; 500 episodes each), the accuracy to 0.8 points. Exact counts agreed for 92 to 96 %,
and were up to 2.2 points lower.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.blocks import blocks_of, spread
from fsgc.methods.kernel.graphlet import graphlet_classes

_BLOCK_NODES = 512
_PARALLEL_NODES = 2000  # below this, one core is done before a second one has started


def grakel_graphlet_histograms(graphs: GraphStore, size: int) -> csr_array:
    """GraKeL's counts of the connected induced subgraphs of `size` nodes, by isomorphism class, `[G, classes]`."""
    parts = [graphs.select(block) for block in blocks_of(graphs, _BLOCK_NODES)]
    parallel = bool(graphs.node_ptr[-1] > _PARALLEL_NODES)
    counts = np.concatenate(spread(partial(_count, size=size), parts, f"graphlets of {size} nodes", parallel))
    return csr_array((counts + (counts > 0)).astype(np.float64))


def _count(graphs: GraphStore, size: int) -> Ints:
    """The subgraphs that GraKeL finds in a block of graphs, `[G, classes]`."""
    from grakel.kernels.graphlet_sampling import ConSubg  # seconds to load, and only this kernel needs it

    matrices = np.zeros((len(graphs), *2 * [int(graphs.num_nodes.max())]), dtype=bool)
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    matrices[owner, graphs.edge_index[0], graphs.edge_index[1]] = True
    found = [
        # GraKeL takes a dictionary of the neighbours of each node, and has no way to take more than one graph.
        [
            sorted(nodes)
            for nodes in ConSubg({v: set(np.flatnonzero(row)) for v, row in enumerate(matrix[:n])}, size, True)
        ]
        for matrix, n in zip(matrices, graphs.num_nodes.tolist(), strict=True)
    ]
    owner = np.repeat(np.arange(len(graphs)), [len(sets) for sets in found])
    sets = np.array([nodes for sets in found for nodes in sets], dtype=np.int64).reshape(-1, size)
    one, other = np.triu_indices(size, 1)
    shape, classes = graphlet_classes(size)
    bits = matrices[owner[:, None], sets[:, one], sets[:, other]]
    cell = owner * classes + shape[bits @ (1 << np.arange(len(one)))]
    return np.bincount(cell, minlength=len(graphs) * classes).reshape(-1, classes)
