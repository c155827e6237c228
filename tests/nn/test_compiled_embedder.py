"""The compiled embedder against the one on PyTorch, in all settings it covers; the gradients too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fsgc.data.graph_store import GraphStore
from fsgc.nn.compiled_embedder import can_be_compiled, embed_compiled
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.gin_kernel import is_compiled
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.settings import EmbedderSettings
from tests.graphs import random_store

pytestmark = pytest.mark.skipif(not is_compiled(), reason="no compiled library: there was no compiler at the install")
SETTINGS = [
    EmbedderSettings(),
    EmbedderSettings(width=32, num_convs=3, pooling="sum", activation="relu"),
    EmbedderSettings(width=16, num_convs=1, gin_mlp_layers=1),
    EmbedderSettings(width=48, gin_mlp_layers=1, pooling="sum", activation="relu", learnable_eps=False),
    EmbedderSettings(pooling="mean_std"),
    EmbedderSettings(width=96, num_convs=3, gin_mlp_layers=1, pooling="mean_std", activation="relu"),
    EmbedderSettings(width=112, num_convs=3, pooling="sum", learnable_eps=False),
    EmbedderSettings(width=32, num_convs=4, pooling="mean_std"),
    EmbedderSettings(width=16, num_convs=1),
]
GRAPHS = torch.tensor([3, 1, 4, 1, 5, 2, 6, 5, 3, 5, 0, 7])


def tensors(seed: int, features: int, dtype: torch.dtype = torch.float32) -> GraphTensors:
    """Graphs of a few and of many nodes, more than fit into a block, some without edges."""
    store = random_store(seed, graphs=8, max_nodes=250)
    generator = torch.Generator().manual_seed(seed)
    return GraphTensors(store, torch.randn(int(store.node_ptr[-1]), features, generator=generator).to(dtype))


def film_of(settings: EmbedderSettings, dtype: torch.dtype) -> Film:
    generator = torch.Generator().manual_seed(1)
    shape = 3, settings.num_convs + 1, settings.width
    gamma, beta = (torch.randn(shape, generator=generator).to(dtype).requires_grad_() for _ in range(2))
    return Film(gamma, beta, torch.arange(3).repeat_interleave(4))


def outcome(embed: object, embedder: Embedder, graphs: GraphTensors, film: Film | None) -> list[Tensor]:
    """The embeddings, and the gradients of a sum of them with some weights."""
    assert callable(embed)
    z = embed(embedder, graphs, GRAPHS, film)
    weights = torch.sin(torch.arange(z.numel(), dtype=z.dtype)).view_as(z)
    wanted = [*embedder.parameters(), *([] if film is None else [film.gamma, film.beta])]
    return [z.detach(), *torch.autograd.grad((z * weights).sum(), wanted)]


def embedder_of(settings: EmbedderSettings, features: int) -> Embedder:
    """One whose parameters are not at their special starting values."""
    torch.manual_seed(0)
    embedder = Embedder(features, settings)
    for parameter in embedder.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return embedder


@pytest.mark.parametrize("conditioned", [False, True], ids=["plain", "film"])
@pytest.mark.parametrize("features", [3, 100], ids=["narrow", "wide"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_is_the_embedder(settings: EmbedderSettings, features: int, conditioned: bool) -> None:
    embedder = embedder_of(settings, features)
    film = film_of(settings, torch.float32) if conditioned else None
    assert can_be_compiled(embedder, torch.device("cpu"))
    found = outcome(embed_compiled, embedder, tensors(0, features), film)
    exact_film = film_of(settings, torch.float64) if conditioned else None
    expected = outcome(embed_graphs, embedder.double(), tensors(0, features, torch.float64), exact_film)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=2e-4, atol=2e-5 * float(other.abs().max()))


def test_threads_change_nothing_but_the_order_of_sums() -> None:
    embedder = embedder_of(SETTINGS[0], 3)
    found = outcome(embed_compiled, embedder, tensors(0, 3), film_of(SETTINGS[0], torch.float32))
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        parallel = outcome(embed_compiled, embedder, tensors(0, 3), film_of(SETTINGS[0], torch.float32))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], parallel[0])
    for one, other in zip(found[1:], parallel[1:], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))


def test_the_same_seed_drops_the_same() -> None:
    embedder = embedder_of(EmbedderSettings(width=64, dropout=0.3), 3).train()
    results = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        results.append(outcome(embed_compiled, embedder, tensors(0, 3), None))
    assert all(torch.equal(one, other) for one, other in zip(results[0], results[1], strict=True))
    assert not torch.equal(results[0][0], results[2][0])


@pytest.mark.parametrize("rate", [0.5, 0.7])
def test_dropout_drops_its_share(rate: float) -> None:
    settings = EmbedderSettings(width=64, num_convs=1, gin_mlp_layers=1, dropout=rate)
    store = GraphStore.from_edges(np.array([1]), np.array([0]), np.array([0]), np.array([0]))
    embedder, graphs = embedder_of(settings, 3), GraphTensors(store, torch.ones(1, 3))
    assert _kept_share(embedder, graphs) == pytest.approx(1 - rate, abs=0.03)
    assert torch.equal(*(embed_compiled(embedder.eval(), graphs, torch.zeros(1, dtype=torch.int64)) for _ in range(2)))


@pytest.mark.parametrize("layers", [1, 2])
def test_the_gradient_with_dropout_is_that_of_the_draw(layers: int) -> None:
    embedder = embedder_of(EmbedderSettings(width=64, gin_mlp_layers=layers, dropout=0.5), 3).train()
    graphs, bias = tensors(0, 3), embedder.convs[1].get_parameter("first.bias")

    def value() -> Tensor:
        torch.manual_seed(3)
        return embed_compiled(embedder, graphs, GRAPHS).square().sum()

    (grad,) = torch.autograd.grad(value(), bias)
    step = 1e-2 * torch.randn(bias.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        above = (bias.add_(step), value())[1]
        below = (bias.sub_(2 * step), value())[1]
    assert float((above - below) / 2) == pytest.approx(float((grad * step).sum()), rel=0.02)


def _kept_share(embedder: Embedder, graphs: GraphTensors) -> float:
    """The share of a graph's numbers that reach jumping knowledge, of a graph of one node: others have no gradient."""
    torch.manual_seed(0)
    z = embed_compiled(embedder.train(), graphs, torch.zeros(60, dtype=torch.int64))
    weight = embedder.jump.linear.weight
    grads = [torch.autograd.grad(row.sum(), weight, retain_graph=True)[0][:, 3:] for row in z]
    return float(torch.stack([(grad.abs().amax(0) > 0).float().mean() for grad in grads]).mean())


def test_what_it_does_not_cover() -> None:
    cpu = torch.device("cpu")
    for settings in (
        EmbedderSettings(conv="gcn"),
        EmbedderSettings(norm="batch"),
        EmbedderSettings(gin_mlp_layers=3),
        EmbedderSettings(width=40),
        EmbedderSettings(width=48, pooling="mean_std"),
    ):
        assert not can_be_compiled(Embedder(3, settings), cpu)
    assert not can_be_compiled(Embedder(3, SETTINGS[0]).double(), cpu)
    assert not can_be_compiled(Embedder(3, SETTINGS[0]), torch.device("cuda"))
