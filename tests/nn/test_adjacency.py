from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from torch.func import grad, vmap

from fsgc.data.graph_store import GraphStore
from tests.graphs import graph_lists
from tests.nn.oracle import both, features, mixed_store


def _store(graphs: list[tuple[int, list[tuple[int, int]]]]) -> GraphStore:
    sizes = np.array([nodes for nodes, _ in graphs])
    first = np.cumsum(sizes) - sizes
    pairs = [(first[g] + s, first[g] + t) for g, (_, edges) in enumerate(graphs) for s, t in edges]
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return GraphStore.from_edges(sizes, source, target, np.zeros(len(graphs), np.int64))


@given(graph_lists())
def test_sums_are_products_with_the_adjacency_matrix(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    store = _store(graphs)
    x = features(store, 3)
    batch, edge_index = both(store, x)
    matrix = torch.zeros(len(x), len(x))
    matrix[edge_index[1], edge_index[0]] = 1
    torch.testing.assert_close(batch.adjacency.neighbour_sum(x), matrix @ x)
    weight = torch.rand(edge_index.shape[1])
    weighted = torch.zeros(len(x), len(x))
    weighted[edge_index[1], edge_index[0]] = weight
    torch.testing.assert_close(batch.adjacency.weighted_sum(x, weight), weighted @ x)
    torch.testing.assert_close(batch.adjacency.degree, matrix.sum(1).long())


def test_sums_have_the_derivatives_of_finite_differences_of_first_and_second_order() -> None:
    batch, _ = both(mixed_store().select(range(9)), features(mixed_store().select(range(9)), 2))
    x = features(mixed_store().select(range(9)), 2).double().requires_grad_()
    edges = batch.adjacency
    assert torch.autograd.gradcheck(edges.neighbour_sum, x)
    assert torch.autograd.gradgradcheck(lambda v: edges.neighbour_sum(v).square(), x)
    weight = torch.rand(len(edges.source), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(edges.weighted_sum, (x, weight))
    assert torch.autograd.gradgradcheck(edges.weighted_sum, (x, weight))


def test_neighbour_sums_under_vmap_are_those_of_a_loop() -> None:
    store = mixed_store()
    batch, _ = both(store, features(store, 3))
    several = torch.stack([features(store, 3, seed) for seed in range(4)])

    def energy(x: torch.Tensor) -> torch.Tensor:
        return batch.adjacency.neighbour_sum(x).square().sum()

    torch.testing.assert_close(
        vmap(batch.adjacency.neighbour_sum)(several),
        torch.stack([batch.adjacency.neighbour_sum(x) for x in several]),
    )
    looped = torch.stack([grad(energy)(x) for x in several])
    torch.testing.assert_close(vmap(grad(energy))(several), looped)
