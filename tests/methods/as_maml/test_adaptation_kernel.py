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
from tests.methods.as_maml.kernel_cases import CASES, USUAL, Case, drawn
from tests.nn.oracle import features, mixed_store

compiled = pytest.mark.skipif(
    library(adaptation_kernel.__file__) is None, reason="not compiled, or no processor for it"
)
LR = 0.05


def plain(case: Case, number: int) -> Tensor:
    """The logits of the queries after so many steps by PyTorch, in double precision."""
    network, batch = case.network().double(), case.batch()
    support, query = (
        PooledGraphs.make(case.graphs(torch.float64), part.flatten(1), case.levels, case.ratio, root=False)
        for part in (batch.support, batch.query)
    )
    labels = batch.support_labels.expand(len(batch.graphs), -1)
    return forward(adapted(network.stacked(len(labels)), Supports(support, labels, LR), number), query).logits


def assert_as_plain(case: Case) -> None:
    start, graphs, steps = case.network().stacked(1), case.graphs(), Steps(6, LR, case.ratio)
    assert usable(start, graphs, root=False)
    ours = adapt_and_score(start, graphs, case.batch(), steps)
    unmoved = adapt_and_score(start, graphs, case.batch(), steps._replace(number=0))
    assert (ours - unmoved).abs().max() > 1e-3, "the steps must show"
    torch.testing.assert_close(ours.double(), plain(case, steps.number), rtol=1e-5, atol=1e-6)


@compiled
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_logits_are_those_of_pytorch(case: Case) -> None:
    assert_as_plain(case)


@compiled
@pytest.mark.parametrize("nodes", [1, 30])
def test_graphs_may_pass_in_any_blocks(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_task, "BLOCK_NODES", nodes)
    assert_as_plain(USUAL)


@compiled
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_episode_that_has_diverged_has_logits_that_are_no_numbers(value: float) -> None:
    network = SagNetwork(2, 32, 3, 2, root_weight=False)
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(value)
    scores = adapt_and_score(
        network.stacked(1), GraphTensors(mixed_store(), features(mixed_store(), 2)), drawn(2, 2, 2), Steps(6, LR, 0.5)
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
