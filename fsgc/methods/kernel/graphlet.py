"""Graphlets, the connected induced subgraphs of k nodes: their classes, and exact counts of those of three nodes."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Bools, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError

_MOST_NODES = 4096  # beyond, graphlets of 4 or 5 nodes are too many to go through


def check_countable(graphs: GraphStore, size: int, names: Ints) -> None:
    """Refuse graphs too large to go through their graphlets; graph i is spoken of as `names[i]`."""
    large = np.flatnonzero(graphs.num_nodes > _MOST_NODES)
    if size > 3 and len(large):
        raise DataFormatError(
            f"{graphs.num_nodes[large[0]]} nodes are too many to count graphlets of {size} nodes; "
            "set kernel.<dataset>.graphlet_size to 3",
            graph=int(names[large[0]]),
        )


def exact_triples(graphs: GraphStore) -> csr_array:
    """How many graphlets of three nodes each graph has, by formula: paths and triangles, `[G, 2]`."""
    num_nodes, degree = int(graphs.node_ptr[-1]), graphs.degree
    source, target = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    # Edges run from the node of lower degree to that of higher degree: no node then has many, not even a hub, and each
    # triangle is met once, as a path of two edges closed by a third.
    rank = np.empty(num_nodes, dtype=np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(num_nodes)
    upward = rank[source] < rank[target]
    edges = csr_array(
        (np.ones(int(upward.sum()), np.int64), (source[upward], target[upward])), shape=(num_nodes, num_nodes)
    )
    closed = ((edges @ edges) * edges).sum(axis=1)
    triangles = np.add.reduceat(closed, graphs.node_ptr[:-1])
    wedges = np.add.reduceat(degree * (degree - 1) // 2, graphs.node_ptr[:-1])
    return csr_array(np.stack([wedges - 3 * triangles, triangles], axis=1).astype(np.float64))


@cache
def graphlet_classes(size: int) -> tuple[Ints, int]:
    """The isomorphism classes of connected graphs of `size` nodes.

    Returns:
        The class of every adjacency, `[2^(size·(size−1)/2)]`, where bit p is the p-th pair of
        `np.triu_indices(size, 1)`, −1 for those that are not connected; and how many classes there are.
    """
    one, other = np.triu_indices(size, 1)
    codes = np.arange(1 << len(one))
    matrices = np.zeros((len(codes), size, size), dtype=np.int64)
    matrices[:, one, other] = matrices[:, other, one] = (codes[:, None] >> np.arange(len(one))) & 1
    weights = 1 << np.arange(len(one))
    canonical = np.min(
        [
            matrices[:, order, :][:, :, order][:, one, other] @ weights
            for order in map(list, itertools.permutations(range(size)))
        ],
        axis=0,
    )
    connected = _connected(matrices)
    representatives, kind = np.unique(canonical[connected], return_inverse=True)
    shape = np.full(len(codes), -1)
    shape[connected] = kind
    return shape, len(representatives)


def _connected(matrices: Ints) -> Bools:
    """Whether each of the adjacency matrices `[n, k, k]` is of a connected graph."""
    size = matrices.shape[1]
    walks = np.linalg.matrix_power(matrices + np.eye(size, dtype=np.int64), size - 1)
    return np.all(walks[:, 0] > 0, axis=1)
