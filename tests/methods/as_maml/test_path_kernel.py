"""The compiled steps of training episodes, and the gradient through them, against PyTorch in double precision."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.as_maml import kernel_task, method, path_kernel
from fsgc.methods.as_maml.adaptation import Path, Supports
from fsgc.methods.as_maml.kernel_task import in_one, taken_apart
from fsgc.methods.as_maml.method import AdaptiveStepMaml, AsMamlSettings
from fsgc.methods.as_maml.path_kernel import CompiledPath, usable
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.methods.contract import TaskShape
from fsgc.native.library import library
from fsgc.nn.graph_tensors import GraphTensors
from tests.methods.as_maml.kernel_cases import CASES, USUAL, Case, drawn
from tests.nn.oracle import features, mixed_store

compiled = pytest.mark.skipif(library(path_kernel.__file__) is None, reason="not compiled, or no processor for it")
LR = 0.05


def plain(case: Case) -> Path:
    """The steps by PyTorch, in double precision."""
    network, batch = case.network().double(), case.batch()
    support, query = (
        PooledGraphs.make(case.graphs(torch.float64), part.flatten(1), case.levels, case.ratio, root=False)
        for part in (batch.support, batch.query)
    )
    labels = batch.support_labels.expand(len(batch.graphs), -1)
    return Path(network.stacked(len(labels)), Supports(support, labels, LR), query, batch.labels, 9)


def assert_close(ours: Tensor, theirs: Tensor, name: str, size: float = 0.0) -> None:
    """Equal up to roundings of single precision, where numbers as large as `size` or the largest here were added."""
    size = max(size, theirs.abs().max().item())
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5 * size, msg=lambda text: f"{name}: {text}")


def assert_as_plain(case: Case) -> None:
    weights, graphs = case.network().stacked(1), case.graphs()
    assert usable(weights, graphs, root=False)
    ours, theirs = CompiledPath(weights, graphs, case.batch(), LR, case.ratio), plain(case)
    for step in range(4):
        for name, mine, other in zip(("losses", "information"), ours.go_on(), theirs.go_on(), strict=True):
            assert_close(mine, other, f"{name} of step {step}")
        assert_close(ours.scores(step + 1), theirs.scores(step + 1), f"scores after step {step}")
    steps = [4, 2, 3]
    for first_order in (True, False):
        end, expected_end = ours.end(steps, first_order), theirs.end(steps, first_order)
        assert_close(end.logits, expected_end.logits, "logits")
        assert_close(end.losses, expected_end.losses, "losses")
        expected = expected_end.gradient()
        for name, grad in end.gradient().items():
            layer = expected[name.replace("bias", "weight")]  # a bias is a sum of what its layer's weights are sums of
            assert_close(grad, expected[name], f"{name}, first order: {first_order}", layer.abs().max().item())
    first = theirs.end(steps, True).gradient()
    assert any(not torch.allclose(grad, first[name], rtol=1e-2) for name, grad in expected.items()), (
        "curvature must show"
    )


@compiled
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_steps_and_gradients_are_those_of_pytorch(case: Case) -> None:
    assert_as_plain(case)


@compiled
@pytest.mark.parametrize("nodes", [1, 30])
def test_graphs_may_pass_in_any_blocks(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_task, "BLOCK_NODES", nodes)
    assert_as_plain(USUAL)


@compiled
def test_an_episode_that_has_diverged_says_so() -> None:
    network = SagNetwork(2, 32, 3, 2, root_weight=False)
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(math.nan)
    graphs = GraphTensors(mixed_store(), features(mixed_store(), 2))
    path = CompiledPath(network.stacked(1), graphs, drawn(2, 2, 2), LR, 0.5)
    assert path.go_on()[0].isnan().all()
    assert path.end([1, 1, 1], first_order=False).losses.isnan().all()


def test_weights_in_one_array_come_apart_again() -> None:
    weights = SagNetwork(3, 32, 3, 5, root_weight=False).stacked(1)
    again = taken_apart(in_one(weights), weights)
    for part, other in zip(weights, again, strict=True):
        for layer, same in zip(part, other, strict=True):
            assert all(torch.equal(*pair) for pair in zip(layer, same, strict=True))


def loss_and_gradients(episodes: Episodes) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a method whose controller's verdicts differ, and its gradients."""
    torch.manual_seed(0)
    made = AdaptiveStepMaml(TaskShape.of(episodes), AsMamlSettings(width=32, inner_lr=0.05, min_steps=2, max_steps=6))
    made.attach(episodes)
    with torch.no_grad():
        made.controller.cell.weight_ih.mul_(100)
        made.controller.out.weight.mul_(10)
    loss = made.loss(next(episodes.batches("train", 5))).total
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach(), {name: weight.grad for name, weight in made.named_parameters() if weight.grad is not None}


@compiled
def test_the_method_takes_it_in_training(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, grads = loss_and_gradients(episodes)
    monkeypatch.setattr(method, "path_usable", lambda *_: False)
    expected_loss, expected = loss_and_gradients(episodes)
    torch.testing.assert_close(loss, expected_loss, rtol=1e-4, atol=1e-5)
    assert grads.keys() == expected.keys()
    for name, grad in expected.items():
        torch.testing.assert_close(grads[name], grad, rtol=1e-3, atol=1e-5)
    assert any(not torch.equal(grads[name], grad) for name, grad in expected.items())


@compiled
def test_gradients_hang_neither_on_the_batch_nor_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    network, graphs = USUAL.network(), USUAL.graphs()

    def result(batch: EpisodeBatch) -> tuple[Tensor, list[Tensor]]:
        path = CompiledPath(network.stacked(1), graphs, batch, LR, 0.5)
        path.go_on(), path.go_on()
        end = path.end([2] * len(batch.graphs), first_order=False)
        return end.logits, list(end.gradient().values())

    batch = USUAL.batch()
    logits, grads = result(batch)
    alone = [result(EpisodeBatch(chosen[None], batch.shots)) for chosen in batch.graphs]
    assert torch.equal(torch.cat([one for one, _ in alone]), logits)
    for place, grad in enumerate(grads):
        torch.testing.assert_close(torch.stack([one[place] for _, one in alone]).mean(0), grad)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    threaded, same = result(batch)
    assert torch.equal(threaded, logits)
    assert all(torch.equal(*pair) for pair in zip(grads, same, strict=True))
