from __future__ import annotations

import grakel
import networkx as nx
import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel import shortest_path
from fsgc.methods.kernel.shortest_path import _count, sp_histograms
from tests.graphs import random_store
from tests.methods.kernel.oracle import grakel_graphs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block_nodes", [1, 20, 10_000])
def test_the_inner_products_are_grakels(seed: int, block_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random labelled graphs with isolated nodes, several components and single nodes, however they are cut."""
    monkeypatch.setattr(shortest_path, "_BLOCK_NODES", block_nodes)
    store = random_store(seed, graphs=25)
    labels = store.node_label.astype(np.int64) * 1000
    histograms = sp_histograms(store, labels)
    expected = grakel.ShortestPath(with_labels=True).fit_transform(grakel_graphs(store, labels))
    np.testing.assert_array_equal((histograms @ histograms.T).toarray(), expected)


def test_a_long_path_against_networkx() -> None:
    """A hundred different labels and distances up to 99: the table of all triples is not worth its room."""
    path = GraphStore.from_edges(np.array([100]), np.arange(99), np.arange(1, 100), np.array([0]))
    histograms = sp_histograms(path, np.arange(100))
    lengths = dict(nx.all_pairs_shortest_path_length(nx.path_graph(100)))
    pairs = sum(len(reached) - 1 for reached in lengths.values())
    assert histograms.sum() == histograms.nnz == pairs == 9900


def test_two_cores_count_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    store = random_store(3, graphs=60)
    labels = store.node_label.astype(np.int64)
    alone = sp_histograms(store, labels)
    monkeypatch.setattr(shortest_path, "_PARALLEL_PAIRS", 0)
    np.testing.assert_array_equal(sp_histograms(store, labels).toarray(), alone.toarray())


def test_counting_by_table_and_by_sorting() -> None:
    cell = np.array([5, 1, 5, 5, 0])
    for size in (6, 10**9):
        values, counts = _count(cell, size)
        assert (values.tolist(), counts.tolist()) == ([0, 1, 5], [1, 1, 3])
