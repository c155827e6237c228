"""Graphs as networkx and dense matrices, and small stores that have everything that is awkward."""

from __future__ import annotations

import networkx as nx
import numpy as np

from fsgc.arrays import Floats
from fsgc.data.graph_store import GraphStore


def matrices(graphs: GraphStore) -> list[Floats]:
    """The adjacency matrix of every graph."""
    result = []
    for graph in range(len(graphs)):
        matrix = np.zeros((graphs.num_nodes[graph],) * 2)
        source, target = graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]]
        matrix[source, target] = 1
        result.append(matrix)
    return result


def networks(graphs: GraphStore) -> list[nx.Graph]:
    """Every graph as a networkx graph."""
    return [nx.from_numpy_array(matrix) for matrix in matrices(graphs)]


def store_of(networks: list[nx.Graph]) -> GraphStore:
    """The store of some networkx graphs with nodes 0, 1, …; labels alternate within a graph."""
    sizes = np.array([len(network) for network in networks])
    first = np.cumsum(sizes) - sizes
    pairs = zip(networks, first, strict=True)
    edges = [np.array(network.edges, np.int64).reshape(-1, 2) + start for network, start in pairs]
    source, target = np.concatenate(edges).T
    label = np.concatenate([np.arange(size) % 3 for size in sizes])
    return GraphStore.from_edges(sizes, source, target, np.arange(len(sizes)) % 2, label)


def awkward() -> GraphStore:
    """One node, no edge, two components, a star, a clique, a cycle, a tree, a grid, random graphs."""
    return store_of(
        [
            nx.empty_graph(1),
            nx.empty_graph(5),
            nx.path_graph(2),
            nx.disjoint_union(nx.complete_graph(4), nx.cycle_graph(4)),
            nx.star_graph(9),
            nx.complete_graph(6),
            nx.cycle_graph(7),
            nx.balanced_tree(3, 3),
            nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5)),
            nx.disjoint_union(nx.star_graph(4), nx.empty_graph(3)),
            nx.gnp_random_graph(30, 0.2, seed=1),
            nx.gnp_random_graph(50, 0.05, seed=2),
            nx.lollipop_graph(5, 4),
            nx.complete_bipartite_graph(3, 4),
        ]
    )


def shuffled(graphs: GraphStore, seed: int) -> tuple[GraphStore, np.ndarray]:
    """The same graphs with their nodes in another order, and the old row of each new one."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    order = np.lexsort((rng.random(len(owner)), owner))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    source, target = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    return (
        GraphStore.from_edges(
            graphs.num_nodes,
            rank[source],
            rank[target],
            graphs.y,
            graphs.node_label[order],
            graphs.node_attr[order],
        ),
        order,
    )
