from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.padded import PaddedNodes
from tests.nn.oracle import features, mixed_store

pytestmark = pytest.mark.usefixtures("double")
GRAPHS = torch.tensor([[0, 3, 5], [2, 1, 9], [4, 4, 8], [6, 10, 7]])  # episodes of 16 to 51 nodes, one graph twice
TENSORS = GraphTensors(mixed_store(), features(mixed_store(), 3).double())
BATCH = TENSORS.batch(GRAPHS)
NODES = PaddedNodes.make(BATCH.num_nodes.view(GRAPHS.shape))


def _episodes() -> list[Tensor]:
    return [TENSORS.batch(graphs).x for graphs in GRAPHS]


def test_an_episode_has_its_nodes_first_and_zeros_after_them() -> None:
    placed = NODES.place(BATCH.x)
    assert placed.shape == (4, max(map(len, _episodes())), 3)
    for rows, own in zip(placed, _episodes(), strict=True):
        assert torch.equal(rows[: len(own)], own)
        assert not rows[len(own) :].any()
    assert torch.equal(placed.flatten(0, 1)[NODES.rows], BATCH.x)


def test_neighbours_stay_neighbours_and_what_fills_up_has_none() -> None:
    x = torch.randn(4, NODES.size, 2)
    sums = NODES.place_edges(BATCH.adjacency).neighbour_sum(x.flatten(0, 1)).view_as(x)
    for episode, graphs in enumerate(GRAPHS):
        own = TENSORS.batch(graphs)
        count = len(own.x)
        torch.testing.assert_close(sums[episode, :count], own.adjacency.neighbour_sum(x[episode, :count]))
        assert not sums[episode, count:].any()


def test_sums_means_and_values_of_graphs_are_those_of_a_loop() -> None:
    x = torch.randn(4, NODES.size, 2)
    values = torch.randn(4, 4, 2)  # three graphs and what fills up
    total, mean, spread = NODES.sum(x), NODES.mean(x), NODES.spread(values)
    for episode, counts in enumerate(BATCH.num_nodes.view(4, 3).tolist()):
        sizes = [*counts, NODES.size - sum(counts)]
        for graph, rows in enumerate(torch.split(x[episode], sizes)):
            torch.testing.assert_close(total[episode, graph], rows.sum(0))
            torch.testing.assert_close(mean[episode, graph], rows.sum(0) / max(1, len(rows)))
        assert torch.equal(spread[episode], values[episode].repeat_interleave(torch.tensor(sizes), 0))
