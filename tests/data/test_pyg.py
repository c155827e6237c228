from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, InMemoryDataset

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from tests.graphs import random_store


def _same(left: Data, right: Data) -> None:
    assert sorted(left.keys()) == sorted(right.keys())
    for key in left.keys():  # noqa: SIM118  (a Data object is not a mapping)
        assert torch.equal(left[key], right[key]), key
    assert left.num_nodes == right.num_nodes


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 7), min_size=1, max_size=9),
    st.integers(0, 2),
    st.booleans(),
)
def test_batches_are_those_of_from_data_list(seed: int, chosen: list[int], attributes: int, features: bool) -> None:
    store = random_store(seed, graphs=8, attributes=attributes)
    x = torch.randn(int(store.node_ptr[-1]), 3) if features else None
    listed = [store.to_data(graph, x) for graph in chosen]
    expected, batch = Batch.from_data_list(listed), store.to_batch(chosen, x)
    _same(batch, expected)
    assert batch.num_graphs == expected.num_graphs
    for ours, theirs in zip(batch.to_data_list(), listed, strict=True):
        _same(ours, theirs)


def test_data_holds_what_the_store_holds() -> None:
    store = random_store(5, attributes=2)
    data = store.to_data(4)
    nodes = slice(*store.node_ptr[4:6])
    np.testing.assert_array_equal(data.x, store.node_attr[nodes])
    np.testing.assert_array_equal(data.node_label, store.node_label[nodes])
    assert data.y.tolist() == [store.y[4]]
    assert data.is_undirected()


@given(st.integers(0, 2**32), st.integers(0, 2))
def test_to_pyg_and_back(seed: int, attributes: int) -> None:
    store = random_store(seed, attributes=attributes)
    back = GraphStore.from_pyg([store.to_data(graph) for graph in range(len(store))])
    assert back.fingerprint() == store.fingerprint()


class _InMemory(InMemoryDataset):  # type: ignore[misc]
    def __init__(self, listed: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(listed)


def test_an_in_memory_dataset_is_accepted() -> None:
    store = random_store(7, attributes=2)
    dataset = _InMemory([store.to_data(graph) for graph in range(len(store))])
    assert GraphStore.from_pyg(dataset).fingerprint() == store.fingerprint()


def test_directed_edges_become_undirected() -> None:
    data = Data(edge_index=torch.tensor([[0, 2], [1, 2]]), y=torch.tensor([1]), num_nodes=3)
    assert GraphStore.from_pyg([data]).edge_index.tolist() == [[1, 0], [0, 1]]


def test_graphs_without_a_class_or_edges_are_refused() -> None:
    good = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([1]), num_nodes=1)
    with pytest.raises(DataFormatError, match="graph 1: a graph needs"):
        GraphStore.from_pyg([good, Data(edge_index=good.edge_index, num_nodes=1)])
    with pytest.raises(DataFormatError, match="no graphs"):
        GraphStore.from_pyg([])
