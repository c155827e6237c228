"""The shortest-path kernel (Borgwardt and Kriegel, ICDM 2005) as explicit histograms.

GraKeL's `ShortestPath(with_labels=True)` counts, over all ordered pairs of different nodes with a path between them,
the triples (label of the first, label of the last, number of edges of the shortest path). Pairs without a path count
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.blocks import blocks_of, spread
from fsgc.methods.kernel.histograms import histogram_matrix

_BLOCK_NODES = 256
_PARALLEL_PAIRS = 20_000_000  # below this, one core is done before a second one has started


def sp_histograms(graphs: GraphStore, labels: Ints) -> csr_array:
    """How many ordered pairs of nodes of each graph have each (label, label, distance), `[G, F]`.

    Args:
        graphs: the graphs.
        labels: int64 `[V]`, a label per node.
    """
    vocabulary, code = np.unique(labels, return_inverse=True)
    labelled = replace(graphs, node_label=code.astype(np.int32))
    blocks = blocks_of(graphs, _BLOCK_NODES)
    parallel = bool((graphs.num_nodes**2).sum() > _PARALLEL_PAIRS)
    parts = [labelled.select(block) for block in blocks]
    found = spread(_count_paths, parts, "shortest paths", parallel)
    graph = np.concatenate([block[rows[0]] for block, rows in zip(blocks, found, strict=True)])
    _, first, last, distance, count = np.concatenate(found, axis=1)
    size = len(vocabulary)
    feature = (distance * size + first) * size + last
    return histogram_matrix(graph, feature, count, len(graphs))


def _count_paths(graphs: GraphStore) -> Ints:
    """Rows graph, first label, last label, distance, count, `[5, n]`, of a block of graphs."""
    num_nodes = int(graphs.node_ptr[-1])
    shift = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index + shift
    adjacency = csr_array((np.ones(len(source), np.int8), (target, source)), shape=(num_nodes, num_nodes))
    distances = shortest_path(adjacency, method="D", unweighted=True)
    np.fill_diagonal(distances, np.inf)
    reached = np.isfinite(distances)
    distance = distances[reached].astype(np.int64)
    row, column = np.nonzero(reached)
    # The labels that occur in a graph, numbered within it: a table of all their pairs has room in memory.
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    pairs, local = np.unique(graph * (2**32) + graphs.node_label, return_inverse=True)
    kinds = np.bincount(pairs >> 32, minlength=len(graphs))
    first_kind = np.cumsum(kinds) - kinds
    local -= first_kind[graph]
    depth = int(distance.max(initial=0)) + 1
    table = np.cumsum(kinds**2) - kinds**2
    owner = graph[row]
    cell = (table[owner] + local[row] * kinds[owner] + local[column]) * depth + distance
    filled, count = _count(cell, int((kinds**2).sum()) * depth)
    place, steps = np.divmod(filled, depth)
    owner = np.searchsorted(table, place, side="right") - 1
    one, other = np.divmod(place - table[owner], kinds[owner])
    label = pairs & (2**32 - 1)
    return np.stack([owner, label[first_kind[owner] + one], label[first_kind[owner] + other], steps, count])


def _count(cell: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct values of `cell`, all below `size`, and how often each occurs; by table where that has room."""
    if size > 4 * len(cell):
        return np.unique(cell, return_counts=True)
    table = np.bincount(cell, minlength=size)
    filled = np.flatnonzero(table)
    return filled, table[filled]
