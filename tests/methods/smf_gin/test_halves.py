from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.methods.smf_gin.halves import with_halves
from tests.graphs import graph_lists


def _networkx(store: GraphStore, graph: int) -> nx.Graph:
    result = nx.Graph()
    result.add_nodes_from(range(int(store.num_nodes[graph])))
    result.add_edges_from(store.edge_index[:, store.edge_ptr[graph] : store.edge_ptr[graph + 1]].T.tolist())
    return result


@given(graph_lists())
def test_halves_are_the_subgraphs_of_networkx(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    sizes = np.array([nodes for nodes, _ in graphs])
    first = np.cumsum(sizes) - sizes
    edges = np.array([(a + first[g], b + first[g]) for g, (_, pairs) in enumerate(graphs) for a, b in pairs])
    source, target = edges.reshape(-1, 2).T.astype(np.int64)
    store = GraphStore.from_edges(sizes, source, target, np.arange(len(graphs)))
    halves = with_halves(store)
    table = halves.features(FeatureTable(np.eye(sizes.sum(), dtype=np.float32), np.arange(sizes.sum())))
    for graph, size in enumerate(sizes.tolist()):
        whole = _networkx(store, graph)
        assert nx.utils.graphs_equal(_networkx(halves.graphs, graph), whole)
        cut = [range(size // 2), range(size // 2, size)]
        parts = [whole.subgraph(nodes) for nodes in cut]
        if not any(part.number_of_edges() for part in parts):
            assert halves.pairs[graph].tolist() == [graph, graph]
            continue
        for which in (0, 1):
            chosen = which if parts[which].number_of_edges() else 1 - which
            place = halves.pairs[graph, which]
            expected = nx.relabel_nodes(parts[chosen], {v: v - cut[chosen][0] for v in cut[chosen]})
            assert nx.utils.graphs_equal(_networkx(halves.graphs, place), expected)
            rows = halves.graphs.rows_of(np.array([place]))
            assert table.rows(rows).argmax(1).tolist() == [first[graph] + v for v in cut[chosen]]
            assert halves.graphs.y[place] == graph
