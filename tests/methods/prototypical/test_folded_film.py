from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.methods.prototypical.folded_film import FoldedEmbedder, can_be_folded, embed_conditioned
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.settings import EmbedderSettings
from tests.nn.oracle import assert_close, features, mixed_store

pytestmark = pytest.mark.usefixtures("double")

STORE = mixed_store()
GRAPHS = torch.tensor([[0, 3, 5, 10], [2, 1, 9, 3], [4, 4, 8, 0], [6, 10, 7, 11]])  # some in two episodes, one twice
WIDTH = 6


def _make(x: Tensor | FeatureTable, **changes: Any) -> tuple[Embedder, GraphTensors, Tensor, Tensor]:
    """An embedder with weights unlike those of a new one, graphs, scales and shifts."""
    torch.manual_seed(0)
    tensors = GraphTensors(STORE, x)
    embedder = Embedder(tensors.num_features, EmbedderSettings(**{"width": WIDTH, **changes}))
    with torch.no_grad():
        for weight in embedder.parameters():
            weight.add_(0.3 * torch.randn(weight.shape))
    gamma, beta = torch.randn(2, len(GRAPHS), embedder.film_layers, WIDTH).unbind()
    return embedder, tensors, gamma.requires_grad_(), beta.requires_grad_()


def _gradients(z: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    # An uneven weighting, so that errors in single rows or columns cannot cancel.
    weight = torch.randn(z.shape, generator=torch.Generator().manual_seed(1))
    return list(torch.autograd.grad((z * weight).sum(), inputs))


def _assert_folded_is_film(
    embedder: Embedder, tensors: GraphTensors, gamma: Tensor, beta: Tensor, max_nodes: int | None = None
) -> None:
    assert can_be_folded(embedder, tensors.device)
    episode = torch.arange(len(GRAPHS)).repeat_interleave(GRAPHS.shape[1])
    plain = embedder(tensors.batch(GRAPHS), Film(gamma, beta, episode))
    ours = embed_conditioned(embedder, tensors, GRAPHS, gamma, beta, max_nodes=max_nodes)
    assert_close(ours, plain)
    inputs = [gamma, beta, *embedder.parameters()]
    for mine, other in zip(_gradients(ours, inputs), _gradients(plain, inputs), strict=True):
        assert_close(mine, other)


@pytest.mark.parametrize("norm", ["graph", "none"])
@pytest.mark.parametrize("eps", [True, False])
@pytest.mark.parametrize(("layers", "convs"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 3)])
def test_folding_film_into_the_weights_changes_no_embedding_and_no_gradient(
    layers: int, convs: int, eps: bool, norm: str
) -> None:
    changes = {"gin_mlp_layers": layers, "num_convs": convs, "learnable_eps": eps, "norm": norm}
    _assert_folded_is_film(*_make(features(STORE, 4), **changes))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("pooling", ["mean", "sum", "mean_std"])
def test_folding_changes_nothing_with_any_pooling(pooling: str, layers: int) -> None:
    _assert_folded_is_film(*_make(features(STORE, 4), pooling=pooling, gin_mlp_layers=layers))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("max_nodes", [1, 60, 100])
def test_folding_changes_nothing_with_chunks_of_any_size(layers: int, max_nodes: int) -> None:
    _assert_folded_is_film(*_make(features(STORE, 4), gin_mlp_layers=layers, num_convs=3), max_nodes=max_nodes)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("coded", [True, False])
def test_folding_changes_nothing_with_features_wider_than_the_layers(coded: bool, layers: int) -> None:
    rng = np.random.default_rng(0)
    table: Any = rng.normal(size=(20, 70))  # in double precision, unlike those of datasets
    code = rng.integers(0, 20, size=int(STORE.node_ptr[-1]))
    x = FeatureTable(table, code) if coded else features(STORE, 10)
    embedder, tensors, gamma, beta = _make(x, gin_mlp_layers=layers)
    assert (tensors.features.code is not None) == coded
    _assert_folded_is_film(embedder, tensors, gamma, beta)


def test_folding_changes_nothing_with_batch_norm_and_dropout_in_evaluation() -> None:
    embedder, tensors, gamma, beta = _make(features(STORE, 4), norm="batch", dropout=0.5)
    embedder.train()
    embedder(tensors.batch(torch.arange(len(STORE))))  # running statistics of its own
    _assert_folded_is_film(embedder.eval(), tensors, gamma, beta)


@pytest.mark.parametrize(
    ("changes", "training", "covered"),
    [
        ({}, True, True),
        ({"dropout": 0.5}, True, False),
        ({"dropout": 0.5}, False, True),
        ({"norm": "batch"}, True, False),
        ({"norm": "batch"}, False, True),
        ({"norm": "episode"}, False, False),
        ({"activation": "relu"}, False, False),
        ({"conv": "gcn"}, False, False),
        ({"conv": "gat"}, False, False),
    ],
)
def test_what_can_be_folded_and_what_happens_else(changes: dict[str, Any], training: bool, covered: bool) -> None:
    embedder, tensors, gamma, beta = _make(features(STORE, 4), **changes)
    embedder.train(training)
    assert can_be_folded(embedder, tensors.device) == covered
    episode = torch.arange(len(GRAPHS)).repeat_interleave(GRAPHS.shape[1])
    torch.manual_seed(0)
    plain = embedder(tensors.batch(GRAPHS), Film(gamma, beta, episode))
    torch.manual_seed(0)
    assert_close(embed_conditioned(embedder, tensors, GRAPHS, gamma, beta), plain)


def test_mixed_precision_is_left_to_film() -> None:
    embedder, tensors, _, _ = _make(features(STORE, 4))
    with torch.autocast("cpu", torch.bfloat16):
        assert not can_be_folded(embedder, tensors.device)


def test_a_graph_is_convolved_once_however_many_episodes_have_it() -> None:
    embedder, tensors, _, _ = _make(features(STORE, 4))
    shared = FoldedEmbedder(embedder, tensors, GRAPHS)
    distinct = np.unique(GRAPHS.numpy())
    assert shared.batch.num_graphs == len(distinct)
    distinct_nodes = int(STORE.num_nodes[distinct].sum())
    assert {len(rows) for rows in shared.entering} == {distinct_nodes}
