from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch_geometric import nn as pyg

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings, Pooling
from tests.nn.oracle import assert_close, both, features, mixed_store

SETTINGS = EmbedderSettings(width=8)
VARIANTS = [
    SETTINGS,
    replace(SETTINGS, gin_mlp_layers=1, num_convs=3, pooling="sum", learnable_eps=False),
    replace(SETTINGS, pooling="mean_std", activation="relu", norm="batch"),
    replace(SETTINGS, conv="gat"),
    replace(SETTINGS, conv="gcn", num_convs=1, pooling="sum"),
]
EACH = pytest.mark.parametrize("settings", VARIANTS, ids=lambda s: f"{s.conv}-{s.pooling}-{s.norm}-{s.num_convs}")


def _embedder(settings: EmbedderSettings, num_features: int = 3, seed: int = 0) -> Embedder:
    torch.manual_seed(seed)
    embedder = Embedder(num_features, settings)
    with torch.no_grad():
        for parameter in embedder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return embedder


def _identity_film(embedder: Embedder, graphs: int) -> Film:
    layers, width = embedder.film_layers, embedder.settings.width
    return Film(torch.ones(2, layers, width), torch.zeros(2, layers, width), torch.arange(graphs) % 2)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("pooling", ["mean", "sum"])
def test_equals_the_same_network_of_pyg_layers(pooling: Pooling) -> None:
    store = mixed_store()
    x = features(store, 3)
    batch, edge_index = both(store, x)
    ours = _embedder(replace(SETTINGS, pooling=pooling))

    # The network as METHODS words it, with FiLM, on PyG's layers that hold copies of the same weights.
    film = Film(torch.randn(4, 3, 8), torch.randn(4, 3, 8), torch.arange(12) % 4)
    gamma, beta = (values[film.episode][batch.graph_id] for values in (film.gamma, film.beta))
    theirs: Any = copy.deepcopy(ours)
    h, layers = x, [x]
    for index, conv in enumerate(theirs.convs):
        norm = pyg.GraphNorm(8)
        norm.weight, norm.bias, norm.mean_scale = (
            getattr(conv.norms[0], name) for name in ("weight", "bias", "mean_scale")
        )
        inner = pyg.Sequential("x, batch", [(conv.first, "x -> x"), (norm, "x, batch -> x"), nn.ReLU(), conv.others[0]])
        gin = pyg.GINConv(nn.Identity(), train_eps=True)
        gin.eps = conv.eps
        h = inner(gin(h, edge_index), batch.graph_id) * gamma[:, index] + beta[:, index]
        layers.append(h)
    h = theirs.jump.norm(theirs.jump.linear(torch.cat(layers, 1))).relu()
    h = theirs.out(h) * gamma[:, 2] + beta[:, 2]
    expected = (pyg.global_mean_pool if pooling == "mean" else pyg.global_add_pool)(h, batch.graph_id)

    output = ours(batch, film)
    assert_close(output, expected)
    assert_close(ours.node_embeddings(batch, film), h)
    weight = torch.randn(output.shape)
    (output * weight).sum().backward()
    (expected * weight).sum().backward()
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert mine.grad is not None, name
        assert other.grad is not None, name
        assert_close(mine.grad, other.grad)


@EACH
def test_graphs_are_independent_in_evaluation(settings: EmbedderSettings) -> None:
    store = mixed_store()
    tensors = GraphTensors(store, features(store, 3))
    embedder = _embedder(settings)
    embedder(tensors.batch(range(12)))  # sets running statistics
    embedder.eval()
    whole = embedder(tensors.batch(range(12)))
    alone = torch.cat([embedder(tensors.batch([graph])) for graph in range(12)])
    torch.testing.assert_close(whole, alone)
    order = [5, 11, 0, 0, 7]
    torch.testing.assert_close(embedder(tensors.batch(order)), whole[order])


@EACH
def test_renumbering_nodes_renumbers_node_embeddings_only(settings: EmbedderSettings) -> None:
    store = mixed_store()
    x = features(store, 3)
    rng = np.random.default_rng(0)
    # old[i] is the node that is now node i; nodes stay in their graph.
    old = np.concatenate(
        [first + rng.permutation(size) for first, size in zip(store.node_ptr[:-1], store.num_nodes, strict=True)]
    )
    new = np.argsort(old)
    offset = np.repeat(store.node_ptr[:-1], np.diff(store.edge_ptr))
    source, target = store.edge_index + offset
    permuted = GraphStore.from_edges(store.num_nodes, new[source], new[target], store.y)
    embedder = _embedder(settings).eval()
    before = GraphTensors(store, x).batch(range(12))
    after = GraphTensors(permuted, x[old]).batch(range(12))
    torch.testing.assert_close(embedder.node_embeddings(after), embedder.node_embeddings(before)[old])
    torch.testing.assert_close(embedder(after), embedder(before))


@EACH
def test_identity_film_changes_nothing_and_any_other_does(settings: EmbedderSettings) -> None:
    store = mixed_store()
    batch = GraphTensors(store, features(store, 3)).batch(range(12))
    embedder = _embedder(settings).eval()
    film = _identity_film(embedder, 12)
    plain = embedder(batch)
    torch.testing.assert_close(embedder(batch, film), plain)
    for layer in range(embedder.film_layers):
        for name in ("gamma", "beta"):
            values = getattr(film, name).clone()
            values[1, layer] += 0.5
            changed = (embedder(batch, replace(film, **{name: values})) - plain).abs().sum(1) > 1e-6
            assert not changed[::2].any()  # graphs of episode 0
            assert changed[3::2].any(), (layer, name)


def test_episode_norm_depends_on_the_group_only() -> None:
    store = mixed_store()
    tensors = GraphTensors(store, features(store, 3))
    embedder = _embedder(replace(SETTINGS, norm="episode"))
    groups = Groups(torch.arange(12) // 6, 2)
    together = embedder(tensors.batch(range(12)), groups=groups)
    torch.testing.assert_close(together[:6], embedder(tensors.batch(range(6))))
    torch.testing.assert_close(together[6:], embedder(tensors.batch(range(6, 12))))
    assert (embedder(tensors.batch(range(12))) - together).abs().max() > 1e-3


@pytest.mark.parametrize("width", [5, 80])  # up to 64 the table becomes rows with known neighbour sums
def test_a_feature_table_gives_what_its_rows_give(width: int) -> None:
    store = mixed_store()
    rng = np.random.default_rng(0)
    table, code = rng.normal(size=(20, width)).astype(np.float32), rng.integers(0, 20, size=int(store.node_ptr[-1]))
    tensors = GraphTensors(store, FeatureTable(table, code))
    assert (tensors.features.code is None) == (width == 5)
    plain = GraphTensors(store, torch.from_numpy(table[code]))
    embedder = _embedder(SETTINGS, width).eval()
    torch.testing.assert_close(embedder(tensors.batch([3, 11, 2])), embedder(plain.batch([3, 11, 2])))


def test_the_same_seed_gives_the_same_gradients_to_the_last_bit() -> None:
    store = mixed_store()
    batch = GraphTensors(store, features(store, 3)).batch(range(12))

    def gradients() -> list[Tensor]:
        embedder = _embedder(replace(SETTINGS, dropout=0.3))
        film = _identity_film(embedder, 12)
        embedder(batch, film).square().sum().backward()
        return [parameter.grad for parameter in embedder.parameters() if parameter.grad is not None]

    for first, second in zip(gradients(), gradients(), strict=True):
        assert torch.equal(first, second)


def test_dropout_is_active_in_training_only() -> None:
    store = mixed_store()
    batch = GraphTensors(store, features(store, 3)).batch(range(12))
    embedder = _embedder(replace(SETTINGS, dropout=0.5))
    assert not torch.equal(embedder(batch), embedder(batch))
    embedder.eval()
    assert torch.equal(embedder(batch), embedder(batch))


def test_gradients_under_vmap_over_sets_of_weights_are_those_of_each_set() -> None:
    store = mixed_store()
    batch = GraphTensors(store, features(store, 3)).batch(range(12))
    models = [_embedder(SETTINGS, seed=seed) for seed in range(3)]
    names = [name for name, _ in models[0].named_parameters()]
    stacked = {name: torch.stack([model.get_parameter(name).detach() for model in models]) for name in names}

    def loss(parameters: dict[str, Tensor]) -> Tensor:
        return functional_call(models[0], parameters, (batch,)).square().mean()

    gradients = vmap(grad(loss))(stacked)
    for index, model in enumerate(models):
        model.zero_grad()
        model(batch).square().mean().backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[name][index], parameter.grad, rtol=1e-4, atol=1e-5)
