from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from fsgc.errors import SettingsError
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store

CHOSEN = [3, 0, 11, 3, 1, 7]


@pytest.mark.parametrize("width", [3, 100])
def test_batch_equals_pyg(width: int) -> None:
    store = mixed_store()
    x = features(store, width)
    graphs = [
        Data(
            x=x[store.node_ptr[g] : store.node_ptr[g + 1]],
            edge_index=torch.from_numpy(store.edge_index[:, store.edge_ptr[g] : store.edge_ptr[g + 1]]).long(),
        )
        for g in CHOSEN
    ]
    expected = Batch.from_data_list(graphs)
    batch = GraphTensors(store, x).batch(CHOSEN)
    assert batch.num_graphs == len(CHOSEN)
    assert torch.equal(batch.x, expected.x)
    assert torch.equal(batch.graph_id, expected.batch)
    assert torch.equal(batch.segments.pointer, expected.ptr)
    assert torch.equal(torch.stack([batch.adjacency.source, batch.adjacency.target]), expected.edge_index)
    assert batch.num_nodes.tolist() == store.num_nodes[CHOSEN].tolist()


def test_the_reverse_of_an_edge_swaps_its_ends() -> None:
    edges = GraphTensors(mixed_store(), features(mixed_store(), 2)).batch(CHOSEN).adjacency
    assert torch.equal(edges.source[edges.reverse], edges.target)
    assert torch.equal(edges.target[edges.reverse], edges.source)


def test_neighbour_sums_of_narrow_features_are_known_beforehand() -> None:
    store = mixed_store()
    batch = GraphTensors(store, features(store, 3)).batch(CHOSEN)
    assert batch.features.neighbour_sum is not None
    torch.testing.assert_close(batch.features.neighbour_sum, batch.adjacency.neighbour_sum(batch.x))
    assert GraphTensors(store, features(store, 100)).batch(CHOSEN).features.neighbour_sum is None


def test_indices_of_any_kind_and_shape_give_the_same_batch() -> None:
    tensors = GraphTensors(mixed_store(), features(mixed_store(), 2))
    expected = tensors.batch(CHOSEN).x
    for graphs in (
        torch.tensor(CHOSEN, dtype=torch.int32),
        np.array(CHOSEN),
        torch.tensor(CHOSEN).view(2, 3),
    ):
        assert torch.equal(tensors.batch(graphs).x, expected)
    with pytest.raises(IndexError):
        tensors.batch([12])


def test_features_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingsError, match="x: features of 5 nodes, but the store has 196"):
        GraphTensors(mixed_store(), torch.zeros(5, 2))
    with pytest.raises(SettingsError, match=r"x: expected a matrix, found shape \(196,\)"):
        GraphTensors(mixed_store(), torch.zeros(196))
