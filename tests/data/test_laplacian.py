from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from fsgc.data import laplacian
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import Spectra, laplacian_spectra
from tests.graphs import graph_lists, random_store


def by_networkx(store: GraphStore, graph: int) -> np.ndarray:
    edges = store.edge_index[:, store.edge_ptr[graph] : store.edge_ptr[graph + 1]].T.tolist()
    whole = nx.Graph()
    whole.add_nodes_from(range(store.num_nodes[graph]))
    whole.add_edges_from(edges)
    return np.linalg.eigvalsh(nx.normalized_laplacian_matrix(whole).toarray())


def assert_same_as_networkx(store: GraphStore) -> None:
    spectra = laplacian_spectra(store)
    assert len(spectra) == len(store)
    for graph in range(len(store)):
        ours = spectra.values[spectra.pointer[graph] : spectra.pointer[graph + 1]]
        np.testing.assert_allclose(ours, by_networkx(store, graph), atol=1e-12)


@given(graph_lists())
def test_spectra_are_those_of_networkx(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    """Isolated nodes, pairs, stars and all else that hypothesis comes up with."""
    sizes = np.array([nodes for nodes, _ in graphs])
    first = np.cumsum(sizes) - sizes
    edges = [(a + first[g], b + first[g]) for g, (_, found) in enumerate(graphs) for a, b in found]
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    assert_same_as_networkx(GraphStore.from_edges(sizes, source, target, np.zeros(len(sizes), np.int64)))


def test_graphs_of_very_different_sizes() -> None:
    """Sizes on both sides of the padding's steps, with and without leaves."""
    rng = np.random.default_rng(0)
    sizes = np.array([1, 3, 4, 5, 63, 64, 65, 66, 129, 200])
    first = np.cumsum(sizes) - sizes
    graph = np.repeat(np.arange(len(sizes)), sizes)
    source = np.arange(sizes.sum())
    target = first[graph] + (rng.random(len(graph)) ** 3 * sizes[graph]).astype(np.int64)  # most hang on few
    assert_same_as_networkx(GraphStore.from_edges(sizes, source, target, np.zeros(len(sizes), np.int64)))


def test_leaves_of_a_star_are_folded() -> None:
    """The spectrum of a star is 0, 2 and ones; two nodes are left to solve."""
    leaves = 500
    store = GraphStore.from_edges(
        np.array([leaves + 1]), np.zeros(leaves, int), np.arange(1, leaves + 1), np.zeros(1, int)
    )
    assert laplacian.fold_leaves(store).sizes.tolist() == [2]
    np.testing.assert_allclose(laplacian_spectra(store).values, [0, *[1] * (leaves - 1), 2], atol=1e-12)


def test_batches_are_cut_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    store = random_store(0, graphs=40)
    whole = laplacian_spectra(store)
    monkeypatch.setattr(laplacian, "_ENTRIES", 200)
    np.testing.assert_array_equal(laplacian_spectra(store).values, whole.values)


def test_select() -> None:
    spectra = Spectra(np.array([0.0, 1.0, 2.0, 0.5, 0.0, 1.5]), np.array([0, 3, 4, 6]))
    chosen = spectra.select(np.array([2, 0]))
    assert chosen.values.tolist() == [0.0, 1.5, 0.0, 1.0, 2.0]
    assert chosen.pointer.tolist() == [0, 2, 5]
