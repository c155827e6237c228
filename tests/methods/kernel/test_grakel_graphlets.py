from __future__ import annotations

import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.grakel_graphlets import grakel_graphlet_histograms
from tests.methods.kernel.oracle import dense_store, grakel_graphs, graphlet_counts, kernel_of, refit, without_first


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_inner_products_are_grakels_but_for_the_first_graph_of_a_class(size: int, seed: int) -> None:
    store = dense_store(seed, graphs=30)
    graphs = grakel_graphs(store, np.zeros(len(store.node_label), np.int64))
    kernel = kernel_of("graphlet", size)
    between, across = refit(kernel, graphs[:15], graphs[15:])
    expected_between, expected_across = without_first(kernel)
    assert (between != expected_between).any(), "GraKeL treats the first otherwise"
    histograms = grakel_graphlet_histograms(store, size)
    gram = (histograms @ histograms.T).toarray()
    np.testing.assert_array_equal(gram[:15, :15], expected_between)
    np.testing.assert_array_equal(gram[15:, :15], expected_across)
    assert (across <= expected_across).all()


def test_grakel_misses_a_path_under_one_numbering_of_its_nodes() -> None:
    """The fault that is kept, on the smallest graph that shows it; exact counts do not have it."""
    orders = [[0, 1, 2, 3, 4], [0, 1, 2, 4, 3]]
    source = np.concatenate([np.array(order[:-1]) + 5 * g for g, order in enumerate(orders)])
    target = np.concatenate([np.array(order[1:]) + 5 * g for g, order in enumerate(orders)])
    paths = GraphStore.from_edges(np.array([5, 5]), source, target, np.array([0, 0]))
    found = grakel_graphlet_histograms(paths, 5).sum(axis=1)
    assert set(found) == {0, 2}, "missed, or counted once too often"
    assert graphlet_counts(paths, 5).sum(axis=1).tolist() == [1, 1]
