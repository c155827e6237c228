from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from fsgc.methods.kernel import graphlet
from fsgc.methods.kernel.graphlet import _classes, check_countable, graphlet_histograms
from tests.methods.kernel.oracle import dense_store, graphlet_counts, networkx_graph


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_inner_products_are_those_of_brute_force(size: int, seed: int) -> None:
    store = dense_store(seed, graphs=20)
    expected = graphlet_counts(store, size)
    histograms = graphlet_histograms(store, size)
    np.testing.assert_array_equal((histograms @ histograms.T).toarray(), expected @ expected.T)


@pytest.mark.parametrize(("size", "classes"), [(3, 2), (4, 6), (5, 21)])
def test_as_many_classes_as_there_are_connected_graphs(size: int, classes: int) -> None:
    shape, multiplicity = _classes(size)
    assert len(multiplicity) == classes
    assert set(shape) == {-1, *range(classes)}


def test_the_formula_for_three_nodes_on_a_hub() -> None:
    """A star of 2000 leaves, two of them joined: C(2000, 2) − 1 paths through the hub, 2 · 0 others, one triangle."""
    source, target = np.append(np.zeros(2000, int), 1), np.append(np.arange(1, 2001), 2)
    star = GraphStore.from_edges(np.array([2001]), source, target, np.array([0]))
    assert graphlet_histograms(star, 3).toarray().tolist() == [[2000 * 1999 // 2 - 1, 1]]


def test_triangles_against_networkx() -> None:
    store = dense_store(5, graphs=30)
    triangles = [sum(nx.triangles(networkx_graph(store, g)).values()) // 3 for g in range(30)]
    assert graphlet_histograms(store, 3).toarray()[:, 1].tolist() == triangles


def test_many_sets_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    store = dense_store(1, graphs=20)
    whole = graphlet_histograms(store, 5).toarray()
    monkeypatch.setattr(graphlet, "_SETS_AT_ONCE", 3)
    monkeypatch.setattr(graphlet, "_BLOCK_NODES", 1)
    np.testing.assert_array_equal(graphlet_histograms(store, 5).toarray(), whole)


def test_a_graph_beyond_all_counting_is_named() -> None:
    store = GraphStore.from_edges(np.array([3, 5000]), np.array([0, 3]), np.array([1, 4]), np.array([0, 0]))
    with pytest.raises(DataFormatError, match=r"graph 17: 5000 nodes are too many .*graphlet_size to 3"):
        check_countable(store, 5, np.array([4, 17]))
    check_countable(store, 3, np.array([4, 17]))
    assert graphlet_histograms(store, 3).toarray().tolist() == [[0, 0], [0, 0]]
