"""Shortest paths: how many pairs of nodes with which labels are how far apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.blocks import Block, blocks
from fsgc.data.descriptors.counts import Counts
from fsgc.data.descriptors.cycles import adjacency_matrix
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import Folded

LONGEST = 24
"""Pairs that are further apart count nothing, as if there were no path."""
LABELS = 64
"""Labels are below this."""


def path_counts(graphs: GraphStore, labels: Ints, folded: Folded | None = None) -> Counts:
    """How many pairs of nodes of each graph have each (label, label, distance); see `path_code`.

    Args:
        graphs: the graphs.
        labels: int64 `[V]`, from 0 to 63.
        folded: the same graphs with leaves folded, if leaves on the same node always have the same label.
    """
    folded = not_folded(graphs) if folded is None else folded
    labels = labels[folded.kept]
    # Leaves folded into one are at distance 2 from each other.
    graph = np.repeat(np.arange(len(graphs)), folded.sizes)
    twins = np.flatnonzero(folded.copies > 1)
    copies = folded.copies[twins]
    own = labels[twins]
    found: list[tuple[Ints, Ints, Floats]] = [
        (graph[twins], path_code(own, own, np.full(len(own), 2)), (copies * (copies - 1)).astype(np.float64))
    ]
    found += [
        _count(block, _distances(block), labels[block.rows], folded.copies[block.rows])
        for block in blocks(folded, np.ones(len(folded.adjacency)))
    ]
    graph, code, count = (np.concatenate([part[i] for part in found]) for i in range(3))
    return Counts.of(graph, code, count / 2, len(graphs))  # every pair was counted from both ends


def path_code(one: Ints, other: Ints, distance: Ints) -> Ints:
    """One number for an unordered pair of labels and a distance."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    return np.asarray((distance * LABELS + high) * LABELS + low, dtype=np.int64)


def not_folded(graphs: GraphStore) -> Folded:
    """The graphs with all their leaves, in the form of folded ones."""
    degree = graphs.degree
    edge_graph = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index.astype(np.int64)
    first = graphs.node_ptr[edge_graph]
    ones = np.ones(len(source))
    return Folded(
        sizes=graphs.num_nodes,
        kept=np.arange(len(degree)),
        copies=np.ones(len(degree), np.int64),
        degree=degree,
        edge_graph=edge_graph,
        source=source,
        target=target,
        adjacency=ones,
        weight=ones / np.sqrt(degree[source + first] * degree[target + first]),
    )


def _distances(block: Block) -> npt.NDArray[np.int8]:
    """Distances between nodes of the same graph in dense form, int8 `[n, s]`; −1 where there is no path."""
    matrix = block.matrix.astype(np.float32)
    front = block.identity(np.float32)
    distance = np.where(front > 0, np.int8(0), np.int8(-1))
    for step in range(1, LONGEST + 1):
        new = (matrix @ front > 0) & (distance < 0)
        if not new.any():
            break
        distance[new] = step
        front = new.astype(np.float32)
    return distance


def _count(block: Block, distance: npt.NDArray[np.int8], labels: Ints, copies: Ints) -> tuple[Ints, Ints, Floats]:
    """Graph, code and count of ordered pairs."""
    first = np.arange(len(block.rows)) - block.column  # the first node of each node's graph
    row, column = np.nonzero(distance > 0)
    other = first[row] + column
    graph, local = np.unique(block.graph, return_inverse=True)
    kinds, kind = np.unique(labels, return_inverse=True)
    steps = int(distance.max()) + 1
    low, high = np.minimum(kind[row], kind[other]), np.maximum(kind[row], kind[other])
    cell = ((local[row] * len(kinds) + high) * len(kinds) + low) * steps + distance[row, column]
    weight = (copies[row] * copies[other]).astype(np.float64)
    size = len(graph) * len(kinds) ** 2 * steps
    if size > 4 * len(cell):
        filled, place = np.unique(cell, return_inverse=True)
        total = np.bincount(place, weight).astype(np.float64)
    else:
        table = np.bincount(cell, weight, minlength=size)
        filled = np.flatnonzero(table)
        total = table[filled].astype(np.float64)
    rest, far = np.divmod(filled, steps)
    rest, low = np.divmod(rest, len(kinds))
    owner, high = np.divmod(rest, len(kinds))
    return graph[owner], path_code(kinds[low], kinds[high], far), total


def hub_distances(graphs: GraphStore, farthest: int) -> Ints:
    """Edges between each node and the nearest node of its graph's largest degree, int64 `[V]`.

    At most `farthest`, which also stands for nodes that no path leads to.
    """
    degree = graphs.degree
    top = np.maximum.reduceat(degree, graphs.node_ptr[:-1])
    front = degree == np.repeat(top, graphs.num_nodes)
    distance = np.where(front, 0, farthest)
    matrix = adjacency_matrix(graphs)
    for step in range(1, farthest):
        front = (matrix @ front.astype(np.float64) > 0) & (distance > step)
        if not front.any():
            break
        distance[front] = step
    return distance


def components(graphs: GraphStore) -> tuple[Ints, Ints]:
    """Connected components of each graph, and the nodes of its largest one, int64 `[G]` each."""
    count, component = connected_components(adjacency_matrix(graphs), directed=False)
    owner = np.zeros(count, np.int64)
    owner[component] = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    sizes = np.bincount(component, minlength=count)
    largest = np.zeros(len(graphs), np.int64)
    np.maximum.at(largest, owner, sizes)
    return np.bincount(owner, minlength=len(graphs)), largest
