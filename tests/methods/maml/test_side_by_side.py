from __future__ import annotations

from typing import Any

import pytest
import torch

from fsgc.data.encodings import FeatureTable
from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.methods.maml.stacked_embedder import can_be_stacked
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.episode_nets import GRAPHS, assert_same, make_setting, make_tensors, one_by_one
from tests.nn.oracle import mixed_store

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gin_mlp_layers": 1, "num_convs": 3},
        {"gin_mlp_layers": 3, "pooling": "sum"},
        {"pooling": "mean_std"},
        {"conv": "gcn", "activation": "relu"},
        {"norm": "none"},
        {"norm": "episode"},
        {"learnable_eps": False},
    ],
)
def test_rows_and_derivatives_are_those_of_one_episode_after_the_other(changes: dict[str, Any]) -> None:
    tensors = make_tensors()
    net, weights = make_setting(tensors, **changes)
    ours = EpisodeGraphs.make(tensors, GRAPHS).run(net, weights)
    assert_same(ours, one_by_one(net, weights, tensors), weights)


def test_wide_features_stay_a_table() -> None:
    store = mixed_store()
    codes = torch.arange(int(store.node_ptr[-1])) % 70
    table = torch.eye(70).index_select(0, codes)
    tensors = GraphTensors(store, FeatureTable(torch.eye(70).numpy(), codes.numpy()))
    net, weights = make_setting(tensors)
    laid_out = EpisodeGraphs.make(tensors, GRAPHS)
    assert laid_out.features.code is not None
    plain = GraphTensors(store, table)
    assert_same(laid_out.run(net, weights), one_by_one(net, weights, plain), weights)
    assert not can_be_stacked(net.embedder.settings, tensors, training=True)


def test_dropout_is_drawn_anew_and_follows_the_seed() -> None:
    tensors = make_tensors()
    net, weights = make_setting(tensors, dropout=0.5)
    laid_out = EpisodeGraphs.make(tensors, GRAPHS)
    torch.manual_seed(1)
    first, second = laid_out.run(net, weights), laid_out.run(net, weights)
    torch.manual_seed(1)
    assert torch.equal(laid_out.run(net, weights), first)
    assert not torch.equal(first, second)
    assert torch.equal(laid_out.run(net.eval(), weights), laid_out.run(net, weights))
