from __future__ import annotations

from typing import Any

import pytest

from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.methods.maml.stacked_embedder import StackedEmbedder, can_be_stacked
from fsgc.nn.settings import EmbedderSettings
from tests.nn.episode_nets import GRAPHS, assert_same, make_setting, make_tensors, one_by_one

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("norm", ["graph", "none"])
@pytest.mark.parametrize("eps", [True, False])
@pytest.mark.parametrize(("layers", "convs"), [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2)])
def test_stacked_embeddings_and_derivatives_are_those_of_one_episode_after_the_other(
    layers: int, convs: int, eps: bool, norm: str, pooling: str
) -> None:
    tensors = make_tensors()
    changes = {"gin_mlp_layers": layers, "num_convs": convs, "learnable_eps": eps, "norm": norm, "pooling": pooling}
    net, weights = make_setting(tensors, **changes)
    settings = net.embedder.settings
    assert can_be_stacked(settings, tensors, training=True)
    embed = StackedEmbedder(EpisodeGraphs.make(tensors, GRAPHS), settings)
    ours = embed({name.removeprefix("embedder."): weight for name, weight in weights.items()})
    assert_same(ours, one_by_one(net, weights, tensors), weights)


@pytest.mark.parametrize(
    ("changes", "training", "covered"),
    [
        ({}, True, True),
        ({"dropout": 0.5}, True, False),
        ({"dropout": 0.5}, False, True),
        ({"activation": "relu"}, False, False),
        ({"conv": "gcn"}, False, False),
        ({"norm": "episode"}, False, False),
        ({"pooling": "mean_std"}, False, False),
    ],
)
def test_what_can_be_stacked(changes: dict[str, Any], training: bool, covered: bool) -> None:
    assert can_be_stacked(EmbedderSettings(width=6, **changes), make_tensors(), training) == covered
