from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from torch.func import grad, vmap

from fsgc.data.graph_store import GraphStore
from fsgc.nn.graph_tensors import GraphTensors
from tests.graphs import graph_lists
from tests.nn.oracle import ALWAYS, NEVER, SMALL, both, features, mixed_store


def _store(graphs: list[tuple[int, list[tuple[int, int]]]]) -> GraphStore:
    sizes = np.array([nodes for nodes, _ in graphs])
    first = np.cumsum(sizes) - sizes
    pairs = [(first[g] + s, first[g] + t) for g, (_, edges) in enumerate(graphs) for s, t in edges]
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return GraphStore.from_edges(sizes, source, target, np.zeros(len(graphs), np.int64))


@given(graph_lists())
def test_both_paths_equal_the_adjacency_matrix(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    store = _store(graphs)
    x = features(store, 3)
    for dense_up_to in (0, 3, 7):
        batch, edge_index = both(store, x, dense_up_to)
        matrix = torch.zeros(len(x), len(x))
        matrix[edge_index[1], edge_index[0]] = 1
        torch.testing.assert_close(batch.adjacency.neighbour_sum(x), matrix @ x)
        weight = torch.rand(edge_index.shape[1])
        weighted = torch.zeros(len(x), len(x))
        weighted[edge_index[1], edge_index[0]] = weight
        torch.testing.assert_close(batch.adjacency.weighted_sum(x, weight), weighted @ x)
        torch.testing.assert_close(batch.adjacency.degree, matrix.sum(1).long())


@pytest.mark.parametrize("dense_up_to", [NEVER, SMALL, ALWAYS])
def test_derivatives_of_first_and_second_order(dense_up_to: int) -> None:
    batch, _ = both(mixed_store().select(range(9)), features(mixed_store().select(range(9)), 2), dense_up_to)
    x = features(mixed_store().select(range(9)), 2).double().requires_grad_()
    edges = batch.adjacency
    assert torch.autograd.gradcheck(edges.neighbour_sum, x)
    assert torch.autograd.gradgradcheck(lambda v: edges.neighbour_sum(v).square(), x)
    weight = torch.rand(len(edges.source), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(edges.weighted_sum, (x, weight))
    assert torch.autograd.gradgradcheck(edges.weighted_sum, (x, weight))


@pytest.mark.parametrize("dense_up_to", [NEVER, SMALL, ALWAYS])
def test_vmap_equals_a_loop(dense_up_to: int) -> None:
    store = mixed_store()
    batch, _ = both(store, features(store, 3), dense_up_to)
    several = torch.stack([features(store, 3, seed) for seed in range(4)])

    def energy(x: torch.Tensor) -> torch.Tensor:
        return batch.adjacency.neighbour_sum(x).square().sum()

    torch.testing.assert_close(
        vmap(batch.adjacency.neighbour_sum)(several),
        torch.stack([batch.adjacency.neighbour_sum(x) for x in several]),
    )
    looped = torch.stack([grad(energy)(x) for x in several])
    torch.testing.assert_close(vmap(grad(energy))(several), looped)


def test_path_is_chosen_by_size() -> None:
    store = mixed_store()
    x = features(store, 2)
    assert GraphTensors(store, x, dense_up_to=NEVER).batch(range(12)).adjacency.dense is None
    some = GraphTensors(store, x, dense_up_to=SMALL).batch(range(12)).adjacency
    assert some.dense is not None
    assert some.dense.matrices.shape == (6, SMALL, SMALL)  # the graphs of 1, 4, 2, 3, 5, 6 nodes
    assert not some.dense.all_nodes
    every = GraphTensors(store, x, dense_up_to=ALWAYS).batch(range(12)).adjacency
    assert every.dense is not None
    assert every.dense.all_nodes
    assert len(every.bag_source) == 0
