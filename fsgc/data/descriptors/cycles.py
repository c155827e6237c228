"""Triangles and 4-cycles through every node."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore

_PRUNINGS = 8
_ENTRIES = 2**24
"""Entries of squared adjacency matrices held at a time."""


def global_edges(graphs: GraphStore) -> tuple[Ints, Ints]:
    """Source and target of every directed edge, as rows among the nodes of all graphs, `[E]` each."""
    first = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index.astype(np.int64) + first
    return source, target


def adjacency_matrix(graphs: GraphStore) -> csr_array:
    """The adjacency matrices of all graphs as one block-diagonal matrix, float64 `[V, V]`."""
    source, target = global_edges(graphs)
    nodes = int(graphs.node_ptr[-1])
    return csr_array((np.ones(len(source)), (target, source)), shape=(nodes, nodes))


def node_cycles(graphs: GraphStore) -> tuple[Ints, Ints]:
    """Triangles and 4-cycles that every node is on, int64 `[V]` each.

    With A² the walks of two steps, a node v is on `Σ_u A_vu (A²)_vu / 2` triangles and, any two of the walks from v to
    another node making a cycle, on `Σ_{u≠v} C((A²)_vu, 2)` 4-cycles. No cycle passes a leaf, so leaves are pruned
    first, and what are leaves then, a few times: the hub of a thread with thousands of replies has few neighbours left.
    """
    nodes = int(graphs.node_ptr[-1])
    source, target = global_edges(graphs)
    for _ in range(_PRUNINGS):
        inner = np.bincount(target, minlength=nodes) > 1
        left = inner[source] & inner[target]
        if left.all():
            break
        source, target = source[left], target[left]
    triangles, squares = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    core, place = np.unique(target, return_inverse=True)
    matrix = csr_array(
        (np.ones(len(source), np.int64), (place, np.searchsorted(core, source))), shape=(len(core), len(core))
    )
    degree = np.diff(matrix.indptr)
    walks = np.asarray(matrix @ degree)  # walks of two steps from each node: at least the entries of its row of A²
    cuts = np.searchsorted(np.cumsum(walks), np.arange(_ENTRIES, walks.sum(), _ENTRIES))
    for rows in np.split(np.arange(len(core)), cuts):
        if len(rows) == 0:
            continue
        part = matrix[rows[0] : rows[-1] + 1]
        square = part @ matrix
        triangles[core[rows]] = part.multiply(square).sum(axis=1) // 2
        pairs = square.copy()
        pairs.data = pairs.data * (pairs.data - 1) // 2
        own = degree[rows]  # (A²)_vv
        squares[core[rows]] = pairs.sum(axis=1) - own * (own - 1) // 2
    return triangles, squares
