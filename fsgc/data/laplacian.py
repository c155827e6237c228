"""Spectra of normalised Laplacians, many graphs at a time.

The normalised Laplacian is `D^-½ (D - A) D^-½`, the row of an isolated node being zero; its eigenvalues are in [0, 2].

Graphs of similar size are padded to one size and solved as one batch. Before that, leaves that hang on the same node
are folded into one: `m` of them give the eigenvalue 1 `m - 1` times, one leaf whose edge weighs `√m` gives the rest.
Both are exact. On the training graphs of Reddit, whose threads are star-like, folding lowers the sum of cubed sizes 22
times; their super-classes take 11 s on one thread of a busy machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore

_ENTRIES = 2**24
"""Matrix entries of a batch: 128 MB."""


@dataclass(frozen=True, eq=False)
class Spectra:
    """The spectra of `G` graphs.

    Attributes:
        values: float64 `[V]`, the eigenvalues of graph 0, ascending, then those of graph 1, …
        pointer: int64 `[G+1]`; graph `g` owns `values[pointer[g]:pointer[g+1]]`.
    """

    values: Floats
    pointer: Ints

    def __len__(self) -> int:
        return len(self.pointer) - 1

    @property
    def sizes(self) -> Ints:
        """Eigenvalues, that is nodes, of each graph, `[G]`."""
        return np.diff(self.pointer)

    def select(self, graphs: Ints) -> Spectra:
        """Those of the given graphs, in that order."""
        pointer = _pointer(self.sizes[graphs])
        shift = np.repeat(self.pointer[graphs] - pointer[:-1], self.sizes[graphs])
        return Spectra(self.values[np.arange(pointer[-1]) + shift], pointer)


@dataclass(frozen=True, eq=False)
class Folded:
    """Graphs without the leaves that were folded away: nodes and weighted edges, ids local to the graph.

    Attributes:
        sizes: `[G]`, the nodes that are left.
        kept: `[n]`, which nodes of all graphs these are.
        copies: `[n]`, how many leaves a node stands for, itself included; 1 for all other nodes.
        degree: `[n]`, of the nodes left, in the whole graph.
        edge_graph: `[E]`, the graph of each edge that is left.
        source: `[E]`.
        target: `[E]`.
        adjacency: `[E]`, entries of the adjacency matrix: 1, or `√m` on the edge of a leaf that stands for `m`.
        weight: `[E]`, entries of the normalised adjacency matrix.
    """

    sizes: Ints
    kept: Ints
    copies: Ints
    degree: Ints
    edge_graph: Ints
    source: Ints
    target: Ints
    adjacency: Floats
    weight: Floats

    @property
    def isolated(self) -> npt.NDArray[np.bool_]:
        """Which of the nodes left have no edge, `[n]`."""
        return np.equal(self.degree, 0)


def laplacian_spectra(graphs: GraphStore, folded: Folded | None = None) -> Spectra:
    """The normalised-Laplacian spectra of all graphs of a store; shows a progress bar on a terminal."""
    folded = fold_leaves(graphs) if folded is None else folded
    solved, start = batched_eigenvalues(
        folded, np.arange(len(graphs)), -folded.weight, (~folded.isolated).astype(np.float64)
    )
    pointer = _pointer(graphs.num_nodes)
    # What is not filled in are the eigenvalues of leaves folded away.
    values = np.ones(int(pointer[-1]))
    values[np.arange(len(solved)) + np.repeat(pointer[:-1] - start[:-1], folded.sizes)] = np.clip(solved, 0, 2)
    graph = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    return Spectra(values[np.lexsort((values, graph))], pointer)


def batched_eigenvalues(folded: Folded, graphs: Ints, weight: Floats, diagonal: Floats) -> tuple[Floats, Ints]:
    """The eigenvalues of some folded graphs' symmetric matrices, ascending, one graph after the other.

    Args:
        folded: all graphs.
        graphs: int64 `[g]`, ascending: which of them.
        weight: `[E]`, what their matrices hold at the edges.
        diagonal: `[n]`, and on the diagonal.

    Returns:
        float64 `[nodes]`, and where each graph's begin, int64 `[g+1]`.
    """
    pointer = _pointer(folded.sizes[graphs])
    values = np.empty(int(pointer[-1]))
    padded = _padded_sizes(folded.sizes[graphs])
    above = _bounds(folded, weight, diagonal)
    with tqdm(total=len(graphs), desc="spectra", unit="graph", disable=None) as bar:
        for size in np.unique(padded):
            members = np.flatnonzero(padded == size)
            for part in np.array_split(members, -(-len(members) * size**2 // _ENTRIES)):
                solved = np.linalg.eigvalsh(_matrices(folded, graphs[part], int(size), weight, diagonal, above))
                inside = np.arange(size) < folded.sizes[graphs[part]][:, None]
                rows = pointer[part][:, None] + np.arange(size)
                values[rows[inside]] = solved[inside]
                bar.update(len(part))
    return values, pointer


def _bounds(folded: Folded, weight: Floats, diagonal: Floats) -> Floats:
    """More than every eigenvalue of each graph, `[G]`: 1 more than its largest row sum (Gershgorin)."""
    pointer = _pointer(folded.sizes)
    rows = np.abs(diagonal)
    np.add.at(rows, folded.target + pointer[folded.edge_graph], np.abs(weight))
    return 1 + np.maximum.reduceat(rows, pointer[:-1]) if len(folded.sizes) else rows


def fold_leaves(graphs: GraphStore) -> Folded:
    """All graphs of a store, with one leaf in place of all that hang on the same node."""
    degree = graphs.degree
    edge_graph = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index.astype(np.int64) + graphs.node_ptr[edge_graph]
    nodes = len(degree)
    is_leaf = degree == 1
    # Edges are ordered by target, so this lists the leaves in ascending order, each with its one neighbour.
    hub = source[is_leaf[target]]
    _, first, group = np.unique(hub, return_index=True, return_inverse=True)
    leaves = np.flatnonzero(is_leaf)
    keep = ~is_leaf
    keep[leaves[first]] = True
    copies = np.ones(nodes, np.int64)
    copies[leaves[first]] = np.bincount(group, minlength=len(first))
    edges = keep[source] & keep[target]
    edge_graph, source, target = edge_graph[edges], source[edges], target[edges]
    adjacency = np.sqrt(copies[source] * copies[target])
    weight = adjacency / np.sqrt(degree[source] * degree[target])
    before = np.cumsum(keep) - keep  # nodes kept before each node
    local = before - np.repeat(before[graphs.node_ptr[:-1]], graphs.num_nodes)
    sizes = np.add.reduceat(keep.astype(np.int64), graphs.node_ptr[:-1])
    kept = np.flatnonzero(keep)
    return Folded(sizes, kept, copies[kept], degree[kept], edge_graph, local[source], local[target], adjacency, weight)


def _padded_sizes(sizes: Ints) -> Ints:
    """Sizes rounded up by at most a sixteenth (small ones to a multiple of 4), so that few distinct ones are left."""
    step = 2 ** np.maximum(2, np.floor(np.log2(sizes)).astype(np.int64) - 4)
    padded: Ints = -(-sizes // step) * step
    return padded


def _matrices(folded: Folded, members: Ints, size: int, weight: Floats, diagonal: Floats, padding: Floats) -> Floats:
    """The matrices of the given graphs, padded, `[b, size, size]`; `members` ascends.

    `padding` `[G]` is above all eigenvalues, so that those of padding come last.
    """
    place = np.full(len(folded.sizes), -1)
    place[members] = np.arange(len(members))
    edges = place[folded.edge_graph] >= 0
    matrices = np.zeros((len(members), size, size))
    at = place[folded.edge_graph[edges]], folded.target[edges], folded.source[edges]
    matrices[at] = weight[edges]
    inside = np.arange(size) < folded.sizes[members][:, None]
    padded = np.repeat(padding[members, None], size, axis=1)
    node_graph = np.repeat(np.arange(len(folded.sizes)), folded.sizes)
    padded[inside] = diagonal[place[node_graph] >= 0]
    matrices[:, np.arange(size), np.arange(size)] = padded
    return matrices


def _pointer(sizes: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
