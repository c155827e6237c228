"""GraKeL, fed from a `GraphStore`; and its graphlets counted right."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import grakel
import networkx as nx
import numpy as np
from sklearn.svm import SVC

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore


def dense_store(seed: int, graphs: int, classes: int = 3) -> GraphStore:
    """Random graphs of 2 to 9 nodes with a third of all possible edges, the first between nodes 0 and 1."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 10, size=graphs)
    first = np.cumsum(sizes) - sizes
    pairs = np.concatenate(
        [np.array([*itertools.combinations(range(n), 2)]) + f for n, f in zip(sizes, first, strict=True)]
    )
    chosen = pairs[rng.random(len(pairs)) < 0.33]
    source, target = np.concatenate([chosen, np.stack([first, first + 1], axis=1)]).T
    labels = rng.integers(1, 4, size=int(sizes.sum()))
    return GraphStore.from_edges(sizes, source, target, np.arange(graphs) % classes, node_label=labels)


def grakel_graphs(graphs: GraphStore, labels: Ints) -> list[list[Any]]:
    """Adjacency matrices and labels by node: what GraKeL's kernels take."""
    result = []
    for g in range(len(graphs)):
        nodes = int(graphs.num_nodes[g])
        matrix = np.zeros((nodes, nodes), dtype=int)
        matrix[tuple(graphs.edge_index[:, graphs.edge_ptr[g] : graphs.edge_ptr[g + 1]])] = 1
        own = labels[graphs.node_ptr[g] : graphs.node_ptr[g + 1]].tolist()
        result.append([matrix, dict(enumerate(own))])
    return result


def kernel_of(name: str, size: int = 5) -> Any:
    """The kernel as the authors make it."""
    if name == "wl":
        return grakel.WeisfeilerLehman(n_iter=5, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    if name == "sp":
        return grakel.ShortestPath(normalize=True, with_labels=True)
    return grakel.GraphletSampling(k=size, normalize=False)


def refit(kernel: Any, supports: Sequence[Any], queries: Sequence[Any]) -> tuple[Floats, Floats]:
    """An episode as the authors compute it: `[S, S]` between supports, `[Q, S]` of queries to supports."""
    return kernel.fit_transform(list(supports)), kernel.transform(list(queries))


def without_first(kernel: Any) -> tuple[Floats, Floats]:
    """The same of a graphlet kernel after a refit, had no graph been the first to show a class.

    GraKeL counts one too many of every class that a graph has, but for the graph that showed it first.
    """
    supports, queries = kernel._phi_X.copy(), kernel._phi_Y[:, : kernel._phi_X.shape[1]]
    has = supports > 0
    supports[has.argmax(axis=0), np.arange(has.shape[1])] += 1
    return supports @ supports.T, queries @ supports.T


def svc_predictions(support: Floats, query: Floats, way: int, **options: Any) -> Ints:
    """What sklearn predicts of the queries."""
    y = np.repeat(np.arange(way), len(support) // way)
    return SVC(kernel="precomputed", **options).fit(support, y).predict(query)


def networkx_graph(graphs: GraphStore, g: int) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(int(graphs.num_nodes[g])))
    graph.add_edges_from(graphs.edge_index[:, graphs.edge_ptr[g] : graphs.edge_ptr[g + 1]].T.tolist())
    return graph


def graphlet_counts(graphs: GraphStore, size: int) -> Floats:
    """Every set of `size` nodes of every graph looked at; isomorphism decided by networkx, `[G, classes found]`."""
    seen: list[nx.Graph] = []
    counts = np.zeros((len(graphs), 30))
    for g in range(len(graphs)):
        graph = networkx_graph(graphs, g)
        for nodes in itertools.combinations(graph, size):
            part = graph.subgraph(nodes)
            if nx.is_connected(part):
                known = next((i for i, other in enumerate(seen) if nx.is_isomorphic(part, other)), len(seen))
                seen.extend([part] if known == len(seen) else [])
                counts[g, known] += 1
    return counts
