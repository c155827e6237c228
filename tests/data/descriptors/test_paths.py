from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from fsgc.data.descriptors import blocks
from fsgc.data.descriptors.counts import Counts
from fsgc.data.descriptors.paths import LONGEST, components, hub_distances, path_code, path_counts
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import fold_leaves
from tests.data.descriptors.oracle import awkward, networks, store_of


def _expected(graphs: GraphStore, labels: np.ndarray) -> list[Counter[int]]:
    """By networkx, from every node of every graph."""
    result = []
    for network, own in zip(networks(graphs), np.split(labels, graphs.node_ptr[1:-1]), strict=True):
        counts: Counter[int] = Counter()
        for one, distances in nx.all_pairs_shortest_path_length(network):
            for other, distance in distances.items():
                if one < other and distance <= LONGEST:
                    counts[int(path_code(own[one], own[other], np.array(distance)))] += 1
        result.append(counts)
    return result


def _found(counts: Counts) -> list[Counter[int]]:
    spans = zip(counts.pointer[:-1], counts.pointer[1:], strict=True)
    return [Counter(dict(zip(counts.code[a:b].tolist(), counts.count[a:b].tolist(), strict=True))) for a, b in spans]


@pytest.mark.parametrize("entries", [2**21, 50])
def test_pairs_by_label_are_those_of_networkx(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_ENTRIES", entries)
    graphs = awkward()
    labels = graphs.node_label.astype(np.int64)
    assert _found(path_counts(graphs, labels)) == _expected(graphs, labels)


def test_pairs_by_degree_with_leaves_folded_are_those_of_networkx() -> None:
    graphs = awkward()
    degree = np.minimum(graphs.degree, 8)
    assert _found(path_counts(graphs, degree, fold_leaves(graphs))) == _expected(graphs, degree)


def test_paths_longer_than_the_longest_are_not_counted() -> None:
    graphs = store_of([nx.path_graph(LONGEST + 5)])
    labels = np.zeros(LONGEST + 5, np.int64)
    found = path_counts(graphs, labels)
    assert _found(found) == _expected(graphs, labels)
    assert len(found.code) == LONGEST


def test_hubs_and_components_are_those_of_networkx() -> None:
    graphs = awkward()
    pieces, largest = components(graphs)
    distances = np.split(hub_distances(graphs, 4), graphs.node_ptr[1:-1])
    for network, count, most, found in zip(networks(graphs), pieces, largest, distances, strict=True):
        found_pieces = list(nx.connected_components(network))
        assert (count, most) == (len(found_pieces), max(map(len, found_pieces)))
        top = max(dict(network.degree).values())
        hubs = {node for node, degree in network.degree if degree == top}
        reached = nx.multi_source_dijkstra_path_length(network, hubs)
        assert found.tolist() == [min(reached.get(node, 4), 4) for node in network]


def test_the_most_frequent_codes_are_those_of_the_given_graphs() -> None:
    graph, code = np.array([0, 0, 1, 1, 2, 2, 2, 3]), np.array([5, 7, 7, 9, 1, 2, 3, 1])
    counts = Counts.of(graph, code, np.ones(8), 4)
    assert counts.most_frequent(np.array([0, 1]), 2).tolist() == [5, 7]  # 9 is as frequent as 5, and higher
    assert counts.most_frequent(np.array([2, 3]), 1).tolist() == [1]
    np.testing.assert_array_equal(counts.columns(np.array([1, 7])).toarray(), [[0, 1], [0, 1], [1, 0], [1, 0]])
    assert counts.columns(np.array([], np.int64)).shape == (4, 0)
