from __future__ import annotations

import grakel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.weisfeiler_lehman import _sequence_codes, wl_histograms
from tests.graphs import random_store
from tests.methods.kernel.oracle import grakel_graphs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("iterations", [1, 5])
def test_the_inner_products_are_grakels(seed: int, iterations: int) -> None:
    """Random labelled graphs with isolated nodes, several components and single nodes."""
    store = random_store(seed, graphs=25)
    assert (store.degree == 0).any()
    labels = store.node_label.astype(np.int64)
    histograms = wl_histograms(store, labels, iterations)
    kernel = grakel.WeisfeilerLehman(n_iter=iterations, base_graph_kernel=grakel.VertexHistogram)
    expected = kernel.fit_transform(grakel_graphs(store, labels))
    np.testing.assert_array_equal((histograms @ histograms.T).toarray(), expected)


def test_a_path_and_a_triangle_worked_out_by_hand() -> None:
    """A path and a triangle of three equal nodes: the same at level 0, one class against two at level 1."""
    store = GraphStore.from_edges(
        np.array([3, 3]), np.array([0, 1, 3, 4, 5]), np.array([1, 2, 4, 5, 3]), np.array([0, 1])
    )
    histograms = wl_histograms(store, np.zeros(6, np.int64), 1)
    # Level 0: 3 · 3. Level 1: the path's middle has two neighbours as all nodes of the triangle have: 1 · 3.
    assert (histograms @ histograms.T).toarray().tolist() == [[9 + 4 + 1, 9 + 3], [9 + 3, 9 + 9]]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=40))
def test_sequences_have_the_same_code_exactly_if_they_are_equal(sequences: list[list[int]]) -> None:
    codes = _sequence_codes(np.concatenate(sequences).astype(np.int64), np.array([len(s) for s in sequences]))
    for one, code in zip(sequences, codes, strict=True):
        assert [one == other for other in sequences] == (codes == code).tolist()
