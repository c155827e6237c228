"""Exact counts of graphlets, the connected induced subgraphs of k nodes, up to isomorphism."""

from __future__ import annotations

import itertools
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from fsgc.methods.kernel.blocks import blocks_of, spread
from fsgc.methods.kernel.histograms import Ints, histogram_matrix

_BLOCK_NODES = 128
_MOST_NODES = (
    4096  # five node numbers of 12 bits fit one integer; beyond, graphlets of 4 or 5 nodes are too many anyway
)
_PARALLEL_NODES = 20_000
_SETS_AT_ONCE = 50_000  # bounds the memory of the last, largest step


def graphlet_histograms(graphs: GraphStore, size: int) -> csr_array:
    """How many connected induced subgraphs of `size` nodes each graph has of each isomorphism class, `[G, F]`.

    A graph with fewer nodes has none: its row is zero. See `check_countable` for graphs with too many.
    """
    if size == 3:
        return csr_array(_triples(graphs))
    blocks = blocks_of(graphs, _BLOCK_NODES)
    parts = [graphs.select(block) for block in blocks]
    parallel = bool(graphs.node_ptr[-1] > _PARALLEL_NODES)
    tables = spread(partial(_count_graphlets, size=size), parts, f"graphlets of {size} nodes", parallel)
    graph, shape = np.nonzero(counts := np.concatenate(tables))
    return histogram_matrix(graph, shape, counts[graph, shape], len(graphs))


def check_countable(graphs: GraphStore, size: int, names: Ints) -> None:
    """Refuse graphs too large to go through their graphlets; graph i is spoken of as `names[i]`."""
    large = np.flatnonzero(graphs.num_nodes > _MOST_NODES)
    if size > 3 and len(large):
        raise DataFormatError(
            f"{graphs.num_nodes[large[0]]} nodes are too many to count graphlets of {size} nodes; "
            "set kernel.<dataset>.graphlet_size to 3",
            graph=int(names[large[0]]),
        )


def _triples(graphs: GraphStore) -> npt.NDArray[np.float64]:
    """Paths of three nodes and triangles of each graph, `[G, 2]`, by formula."""
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
    return np.stack([wedges - 3 * triangles, triangles], axis=1).astype(np.float64)


def _count_graphlets(graphs: GraphStore, size: int) -> Ints:
    """The graphlets of `size` nodes of a block of graphs by `_classes`, `[G, classes]`.

    Every connected set of k nodes arises from a connected set of k − 1 nodes by adding a neighbour of one of them. Up
    to k − 1 the sets are made distinct. The last step is only counted: how often it makes a given set, once for every
    edge that joins a removable node to the rest, depends on the set's isomorphism class alone, so the counts are
    divided.
    """
    num_nodes = int(graphs.node_ptr[-1])
    shift = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index + shift
    adjacent = np.zeros((num_nodes, num_nodes), dtype=bool)
    adjacent[source, target] = True
    degree = np.bincount(target, minlength=num_nodes)
    first_neighbour = np.cumsum(degree) - degree  # edges are sorted by target: its neighbours are a run of `source`
    owner = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    sets = np.arange(num_nodes)[:, None]
    for _ in range(size - 2):
        sets = _distinct(_grow(sets, source, degree, first_neighbour), num_nodes)
    shape, multiplicity = _classes(size)
    one, other = np.triu_indices(size, 1)
    counts = np.zeros((len(graphs), len(multiplicity)), dtype=np.int64)
    for some in np.array_split(sets, len(sets) // _SETS_AT_ONCE + 1):
        grown = _grow(some, source, degree, first_neighbour)
        bits = adjacent[grown[:, one], grown[:, other]]
        kind = shape[bits @ (1 << np.arange(len(one)))]
        cell = owner[grown[:, 0]] * len(multiplicity) + kind
        counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
    return counts // multiplicity


def _grow(sets: Ints, neighbours: Ints, degree: Ints, first_neighbour: Ints) -> Ints:
    """Every set `[n, k]` with every neighbour of its every node, unless that is in the set already, `[m, k+1]`."""
    node = sets.reshape(-1)
    times = degree[node]
    row = np.repeat(np.repeat(np.arange(len(sets)), sets.shape[1]), times)
    place = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    added = neighbours[np.repeat(first_neighbour[node], times) + place]
    grown = sets[row]
    fresh = (grown != added[:, None]).all(axis=1)
    return np.concatenate([grown[fresh], added[fresh, None]], axis=1)


def _distinct(sets: Ints, num_nodes: int) -> Ints:
    """The distinct sets among the rows `[n, k]`, each in ascending order."""
    bits = num_nodes.bit_length()
    shifts = bits * np.arange(sets.shape[1])
    keys = np.unique((np.sort(sets, axis=1) << shifts).sum(axis=1))
    return (keys[:, None] >> shifts) & ((1 << bits) - 1)


def graphlet_classes(size: int) -> tuple[Ints, int]:
    """The class of every adjacency of `size` nodes, as in `_classes`, and how many classes there are."""
    shape, multiplicity = _classes(size)
    return shape, len(multiplicity)


@cache
def _classes(size: int) -> tuple[Ints, Ints]:
    """The isomorphism classes of connected graphs of `size` nodes.

    Returns:
        The class of every adjacency, `[2^(size·(size−1)/2)]`, where bit p is the p-th pair of
        `np.triu_indices(size, 1)`, −1 for those that are not connected; and how often `_grow` makes each class,
        `[classes]`.
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
    chosen = matrices[representatives]
    multiplicity = np.zeros(len(chosen), dtype=np.int64)
    for node in range(size):
        rest = [other for other in range(size) if other != node]
        multiplicity += _connected(chosen[:, rest][:, :, rest]) * chosen[:, node].sum(axis=1)
    return shape, multiplicity


def _connected(matrices: Ints) -> npt.NDArray[np.bool_]:
    """Whether each of the adjacency matrices `[n, k, k]` is of a connected graph."""
    size = matrices.shape[1]
    walks = np.linalg.matrix_power(matrices + np.eye(size, dtype=np.int64), size - 1)
    return np.asarray((walks[:, 0] > 0).all(axis=1))
