"""The two halves of every graph, for the local row of SMF-GIN.

A graph is cut in the middle of its list of nodes. Where the order of nodes means nothing, so does the cut: what is made
of the halves changes when the nodes are renumbered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore


class Halves(NamedTuple):
    """Graphs and, after them, their halves.

    Attributes:
        graphs: the `G` graphs in their order, then the halves that have an edge.
        pairs: int64 `[G, 2]`, where in `graphs` the first and the second half of each graph is. In place of a half
            without an edge stands the other one; where neither has one, the whole graph.
        nodes: int64, the node of the original graphs that each node is.
    """

    graphs: GraphStore
    pairs: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]

    def features(self, table: FeatureTable) -> FeatureTable:
        """The features of all nodes; a node keeps those that it has in the whole graph."""
        return FeatureTable(table.table, table.code[self.nodes])


def with_halves(graphs: GraphStore) -> Halves:
    """Cut each graph of `n` nodes into its first `n // 2` nodes and the others; edges across are dropped."""
    count, nodes = len(graphs), len(graphs.node_label)
    graph = np.repeat(np.arange(count), graphs.num_nodes)
    half = 2 * graph + (np.arange(nodes) - graphs.node_ptr[graph] >= graphs.num_nodes[graph] // 2)
    source, target = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    inside = half[source] == half[target]
    has_edge = np.bincount(half[target[inside]], minlength=2 * count) > 0
    kept = np.flatnonzero(has_edge[half])
    place = nodes - 1 + np.cumsum(has_edge[half])  # of a kept node behind the nodes of the whole graphs
    sizes = np.bincount(half, minlength=2 * count)[has_edge]
    store = GraphStore.from_edges(
        np.concatenate([graphs.num_nodes, sizes]),
        np.concatenate([source, place[source[inside]]]),
        np.concatenate([target, place[target[inside]]]),
        np.concatenate([graphs.y, np.repeat(graphs.y, 2)[has_edge]]),
    )
    own = np.where(has_edge, count - 1 + np.cumsum(has_edge), -1).reshape(count, 2)
    pairs = np.where(own >= 0, own, own[:, ::-1])
    pairs = np.where(pairs >= 0, pairs, np.arange(count)[:, None])
    return Halves(store, pairs, np.concatenate([np.arange(nodes), kept]))
