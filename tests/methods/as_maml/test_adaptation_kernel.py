"""The compiled steps and scores against those of PyTorch in double precision."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.as_maml import adaptation_kernel, kernel_task, method
from fsgc.methods.as_maml.adaptation import Supports, adapted
from fsgc.methods.as_maml.adaptation_kernel import Steps, adapt_and_score, usable
from fsgc.methods.as_maml.method import AdaptiveStepMaml, AsMamlSettings
from fsgc.methods.as_maml.network_pass import forward
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.methods.contract import TaskShape
from fsgc.native.library import library
from fsgc.nn.graph_tensors import GraphTensors
from tests.methods.as_maml.kernel_cases import SIZES, VALUES, drawn, with_twins
from tests.nn.oracle import features, mixed_store

compiled = pytest.mark.skipif(
    library(adaptation_kernel.__file__) is None, reason="not compiled, or no processor for it"
)
STEPS = Steps(6, 0.05, 0.5)


def plain(network: SagNetwork, x: Tensor, batch: EpisodeBatch, steps: Steps) -> Tensor:
    """The logits of the queries by PyTorch, in double precision."""
    graphs = GraphTensors(mixed_store(), x.double())
    weights = network.double().stacked(len(batch.graphs))
    support, query = (
        PooledGraphs.make(graphs, part.flatten(1), network.levels, steps.ratio, root=False)
        for part in (batch.support, batch.query)
    )
    labels = batch.support_labels.expand(len(batch.graphs), -1)
    return forward(adapted(weights, Supports(support, labels, steps.lr), steps.number), query).logits


def assert_as_plain(network: SagNetwork, x: Tensor, batch: EpisodeBatch, steps: Steps = STEPS) -> None:
    start, graphs = network.stacked(1), GraphTensors(mixed_store(), x)
    assert usable(start, graphs, root=False)
    ours = adapt_and_score(start, graphs, batch, steps)
    unmoved = adapt_and_score(start, graphs, batch, steps._replace(number=0))
    assert (ours - unmoved).abs().max() > 1e-3, "the steps must show"
    torch.testing.assert_close(ours.double(), plain(network, x, batch, steps), rtol=1e-5, atol=1e-6)


@compiled
@pytest.mark.parametrize(SIZES, VALUES)
def test_logits_are_those_of_pytorch(wide: int, width: int, levels: int, way: int, shots: int, ratio: float) -> None:
    """Also where a graph has one node or no edges, and where sizes are no multiples of a vector."""
    torch.manual_seed(0)
    network = SagNetwork(wide, width, levels, way, root_weight=False)
    assert_as_plain(network, features(mixed_store(), wide), drawn(way, shots, 3), STEPS._replace(ratio=ratio))


@compiled
@pytest.mark.parametrize("nodes", [1, 30])
def test_graphs_may_pass_in_any_blocks(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_task, "BLOCK_NODES", nodes)
    torch.manual_seed(0)
    assert_as_plain(SagNetwork(4, 64, 3, 3, root_weight=False), features(mixed_store(), 4), drawn(3, 4, 5))


@compiled
def test_nodes_of_equal_value_share_the_gradient_of_the_largest() -> None:
    """One node, isolated ones, a path and a star, all with the same features."""
    torch.manual_seed(0)
    batch = drawn(2, 2, 2, among=4)
    assert_as_plain(SagNetwork(2, 32, 3, 2, root_weight=False), torch.ones_like(features(mixed_store(), 2)), batch)


@compiled
def test_twins_are_pooled_one_by_one() -> None:
    """Nodes of the same features and neighbours are one row, of which a pooling may keep a part."""
    torch.manual_seed(0)
    assert_as_plain(
        SagNetwork(2, 64, 3, 3, root_weight=False), with_twins(), drawn(3, 2, 3, among=6), STEPS._replace(ratio=0.4)
    )


@compiled
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_episode_that_has_diverged_has_logits_that_are_no_numbers(value: float) -> None:
    network = SagNetwork(2, 32, 3, 2, root_weight=False)
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(value)
    scores = adapt_and_score(
        network.stacked(1), GraphTensors(mixed_store(), features(mixed_store(), 2)), drawn(2, 2, 2), STEPS
    )
    assert scores.isnan().all()


def make(episodes: Episodes) -> AdaptiveStepMaml:
    torch.manual_seed(0)
    made = AdaptiveStepMaml(TaskShape.of(episodes), AsMamlSettings(width=32, inner_lr=0.05, test_steps=4))
    made.attach(episodes)
    return made


@compiled
def test_the_method_takes_it_where_nothing_is_kept(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = next(episodes.batches("test", 6))
    scores = make(episodes).predict(batch)
    monkeypatch.setattr(method, "usable", lambda *_: False)
    plainly = make(episodes).predict(batch)
    torch.testing.assert_close(scores, plainly, rtol=1e-4, atol=1e-5)
    assert not torch.equal(scores, plainly)


@compiled
def test_scores_hang_neither_on_the_batch_nor_on_threads(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    made, batch = make(episodes), next(episodes.batches("test", 6))
    scores = made.predict(batch)
    alone = [made.predict(EpisodeBatch(graphs[None], batch.shots)) for graphs in batch.graphs]
    assert torch.equal(torch.cat(alone), scores)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(made.predict(batch), scores)


@compiled
def test_what_it_does_not_cover_is_left_to_pytorch() -> None:
    graphs = GraphTensors(mixed_store(), features(mixed_store(), 2))
    weights = SagNetwork(2, 32, 3, 2, root_weight=False).stacked(1)
    assert usable(weights, graphs, root=False)
    assert not usable(weights, graphs, root=True)
    assert not usable(SagNetwork(2, 48, 3, 2, root_weight=False).stacked(1), graphs, root=False)
    assert not usable(SagNetwork(2, 32, 17, 2, root_weight=False).stacked(1), graphs, root=False)
    assert not usable(SagNetwork(2, 32, 3, 2, root_weight=False).double().stacked(1), graphs, root=False)
    assert not usable(weights, GraphTensors(mixed_store(), features(mixed_store(), 2).double()), root=False)


def test_without_the_library_pytorch_does_it_all(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation_kernel, "library", lambda _: None)
    made, batch = make(episodes), next(episodes.batches("test", 2))
    assert not usable(made.network.stacked(1), made.graphs, root=False)
    assert made.predict(batch).shape == (2, batch.labels.shape[1], episodes.way)
