from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from fsgc.methods.kernel.graphlet import check_countable, exact_triples, graphlet_classes
from tests.methods.kernel.oracle import dense_store, graphlet_counts, networkx_graph


@pytest.mark.parametrize("seed", range(3))
def test_exact_triples_have_the_inner_products_of_brute_force(seed: int) -> None:
    store = dense_store(seed, graphs=20)
    expected = graphlet_counts(store, 3)
    histograms = exact_triples(store)
    np.testing.assert_array_equal((histograms @ histograms.T).toarray(), expected @ expected.T)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_two_adjacencies_have_the_same_class_if_and_only_if_they_are_isomorphic(size: int) -> None:
    shape, classes = graphlet_classes(size)
    pairs = list(zip(*np.triu_indices(size, 1), strict=True))
    seen: dict[int, nx.Graph] = {}
    for code, kind in enumerate(shape.tolist()):
        graph = nx.empty_graph(size)
        graph.add_edges_from(pair for bit, pair in enumerate(pairs) if code >> bit & 1)
        assert nx.is_connected(graph) == (kind >= 0)
        if kind >= 0:
            assert nx.is_isomorphic(graph, seen.setdefault(kind, graph))
    assert sorted(seen) == list(range(classes))
    assert not any(nx.is_isomorphic(a, b) for a, b in itertools.combinations(seen.values(), 2))


def test_exact_triples_of_a_hub() -> None:
    """A star of 2000 leaves, two of them joined: C(2000, 2) − 1 paths through the hub, 2 · 0 others, one triangle."""
    source, target = np.append(np.zeros(2000, int), 1), np.append(np.arange(1, 2001), 2)
    star = GraphStore.from_edges(np.array([2001]), source, target, np.array([0]))
    assert exact_triples(star).toarray().tolist() == [[2000 * 1999 // 2 - 1, 1]]


def test_triangles_are_those_of_networkx() -> None:
    store = dense_store(5, graphs=30)
    triangles = [sum(nx.triangles(networkx_graph(store, g)).values()) // 3 for g in range(30)]
    assert exact_triples(store).toarray()[:, 1].tolist() == triangles


def test_a_graph_beyond_all_counting_is_named() -> None:
    store = GraphStore.from_edges(np.array([3, 5000]), np.array([0, 3]), np.array([1, 4]), np.array([0, 0]))
    with pytest.raises(DataFormatError, match=r"graph 17: 5000 nodes are too many .*graphlet_size to 3"):
        check_countable(store, 5, np.array([4, 17]))
    check_countable(store, 3, np.array([4, 17]))
    assert exact_triples(store).toarray().tolist() == [[0, 0], [0, 0]]
