from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.maml import episode_kernel
from fsgc.methods.maml.episode_kernel import Adapted, EpisodeKernel, compiled
from fsgc.methods.maml.flat_weights import FlatWeights
from fsgc.methods.maml.method import Maml, MamlNetwork, MamlSettings
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store

needs_library = pytest.mark.skipif(compiled() is None, reason="the library is not built, or there is no AVX2")


class Case(NamedTuple):
    """Episodes of graphs of all sorts, and a network on them."""

    store: GraphStore
    x: Tensor
    episodes: EpisodeBatch
    settings: MamlSettings
    net: MamlNetwork
    one_hot: bool = False

    @property
    def layout(self) -> FlatWeights:
        return FlatWeights(dict(self.net.named_parameters()), self.settings, self.x.shape[1])

    @property
    def tensors(self) -> GraphTensors:
        if not self.one_hot:
            return GraphTensors(self.store, self.x)
        width = self.x.shape[1]
        table = FeatureTable(np.eye(width, dtype=np.float32), self.x.argmax(1).numpy())
        return GraphTensors(self.store, table)

    def compiled(self, gradient: bool = True) -> Adapted:
        settings = self.settings
        kernel = EpisodeKernel.make(settings, settings.inner_lr, not settings.first_order)
        assert kernel is not None
        start, tensors = self.layout.pack(dict(self.net.named_parameters())), self.tensors
        assert kernel.can_run(tensors, start, self.one_hot)
        return kernel.run(tensors, start, self.episodes, settings.inner_steps, gradient)


def _case(
    way: int = 3,
    shots: int = 2,
    queries: int = 3,
    num_features: int = 5,
    graphs: GraphStore | None = None,
    one_hot: bool = False,
    **changes: Any,
) -> Case:
    store = mixed_store() if graphs is None else graphs
    draw = torch.Generator().manual_seed(3)
    chosen = torch.randint(0, len(store), (8, way, shots + queries), generator=draw)
    settings = replace(MamlSettings(width=16, inner_lr=0.05, inner_steps=2), **changes)
    torch.manual_seed(0)
    net = MamlNetwork(TaskShape(num_features, way, base_classes=way), settings)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(0.2 * torch.randn_like(weight))  # away from the kinks of ReLU, where rounding decides
    x = features(store, num_features)
    x = F.one_hot(x.argmax(1), num_features).float() if one_hot else x
    return Case(store, x, EpisodeBatch(chosen, shots), settings, net, one_hot)


def _by_autograd(case: Case) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """Of each episode, in double precision, the logits of the queries and the gradients of their loss."""
    tensors, settings, net = GraphTensors(case.store, case.x.double()), case.settings, copy.deepcopy(case.net).double()
    for support, query in zip(case.episodes.support, case.episodes.query, strict=True):
        start: dict[str, Tensor] = dict(net.named_parameters())
        weights = start
        for _ in range(settings.inner_steps):
            logits = torch.func.functional_call(net, weights, (tensors.batch(support),))
            loss = F.cross_entropy(logits, _labels(support))
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=not settings.first_order)
            steps = zip(weights.items(), grads, strict=True)
            weights = {name: weight - settings.inner_lr * grad for (name, weight), grad in steps}
        scores = torch.func.functional_call(net, weights, (tensors.batch(query),))
        yield scores.detach(), list(torch.autograd.grad(F.cross_entropy(scores, _labels(query)), list(start.values())))


def _labels(graphs: Tensor) -> Tensor:
    return torch.arange(len(graphs)).repeat_interleave(graphs.shape[1])


def _compare(case: Case) -> None:
    """In half of the episodes at least: in the others rounding may decide on which side of its kink a ReLU is.

    Run with doubles in place of floats, the C++ code agreed with autograd to 1e-10 in all episodes of these cases.
    """
    ours = case.compiled()
    assert ours.grads is not None
    of_logits, of_grads = [], []
    for logits, vector, (scores, grads) in zip(ours.logits, ours.grads, _by_autograd(case), strict=True):
        of_logits.append(_error(logits, scores))
        of_grads.append(max(map(_error, case.layout.unpack(vector), grads)))
    assert np.median(of_logits) < 1e-4
    assert np.median(of_grads) < 2e-3


def _error(ours: Tensor, theirs: Tensor) -> float:
    return float((ours - theirs).norm() / theirs.norm().clamp(min=1e-3))


@needs_library
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shots": 1, "queries": 1},
        {"num_features": 1, "inner_steps": 5},
        {"width": 48, "num_convs": 3, "pooling": "sum", "inner_lr": 1e-3},
        {"width": 64, "way": 18, "shots": 1, "queries": 2, "inner_lr": 1e-2},
        {"width": 80, "num_convs": 1, "learnable_eps": False},
        {"learnable_eps": False},
        {"first_order": True},
        {"num_features": 70, "one_hot": True},
        {"num_features": 100, "one_hot": True, "width": 80, "num_convs": 1, "pooling": "sum", "inner_lr": 1e-3},
    ],
)
def test_logits_and_gradients_are_those_of_autograd(changes: dict[str, Any]) -> None:
    _compare(_case(**changes))


@needs_library
def test_graphs_larger_than_what_is_taken_at_once() -> None:
    sizes = np.array([300, 129, 1, 128])
    paths = [np.arange(size - 1) + first for size, first in zip(sizes, np.cumsum(sizes) - sizes, strict=True)]
    source = np.concatenate(paths)
    _compare(_case(graphs=GraphStore.from_edges(sizes, source, source + 1, np.zeros(4, np.int64))))


@needs_library
def test_without_a_gradient_the_logits_are_the_same() -> None:
    case = _case()
    with_gradient, without = case.compiled(), case.compiled(gradient=False)
    assert without.grads is None
    assert torch.equal(with_gradient.logits, without.logits)


@needs_library
def test_the_same_bytes_every_time_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case()
    results = []
    for threads in (1, 1, 2, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        results.append(case.compiled())
    for logits, grads in results[1:]:
        assert torch.equal(logits, results[0].logits)
        assert grads is not None
        assert results[0].grads is not None
        assert torch.equal(grads, results[0].grads)


@needs_library
def test_equal_nodes_leave_no_rounding_to_decide_a_kink() -> None:
    """All nodes of a ring are alike: GraphNorm makes zeros of them, so that rings of any size are alike as well."""
    sizes = np.array([3, 5, 7, 11])
    rings = [
        np.stack([np.arange(size), (np.arange(size) + 1) % size]) + first
        for size, first in zip(sizes, np.cumsum(sizes) - sizes, strict=True)
    ]
    source, target = np.concatenate(rings, 1)
    store = GraphStore.from_edges(sizes, source, target, np.zeros(4, np.int64))
    case = _case(graphs=store)
    fresh = MamlNetwork(TaskShape(5, 3, base_classes=3), case.settings)  # shifts of its norms are zero
    logits = case._replace(x=torch.full((int(sizes.sum()), 5), 0.3), net=fresh).compiled().logits
    torch.testing.assert_close(logits, logits[:, :1].expand_as(logits), rtol=0.0, atol=1e-6)


@needs_library
def test_what_is_not_a_number_is_not_hidden() -> None:
    case = _case()
    with torch.no_grad():
        next(case.net.parameters()).fill_(torch.nan)
    assert case.compiled().logits.isnan().all()


@needs_library
def test_weights_of_another_network_are_refused() -> None:
    case = _case()
    with pytest.raises(AssertionError, match="another network"):
        case._replace(net=_case(way=4).net).compiled()


def _method(episodes: Episodes, **changes: Any) -> Maml:
    torch.manual_seed(0)
    method = Maml(TaskShape.of(episodes), replace(MamlSettings(width=16, inner_lr=0.05), **changes))
    with torch.no_grad():
        for parameter in method.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    method.attach(episodes)
    return method


@needs_library
def test_the_method_trains_and_predicts_as_without_it(episodes: Episodes) -> None:
    batch = next(episodes.batches("test", 6))
    fast, plain = _method(episodes), _method(episodes)
    plain._kernel = None
    ours, theirs = fast.loss(batch), plain.loss(batch)
    torch.testing.assert_close(ours.total, theirs.total, rtol=1e-5, atol=0.0)
    torch.testing.assert_close(ours.accuracy, theirs.accuracy)
    grads = [torch.autograd.grad(loss.total, list(m.parameters())) for loss, m in ((ours, fast), (theirs, plain))]
    assert max(map(_error, *grads)) < 2e-3
    assert _error(fast.eval().predict(batch), plain.eval().predict(batch)) < 1e-4


@needs_library
def test_a_method_can_be_copied_and_sent(episodes: Episodes) -> None:
    method = _method(episodes)
    assert method._kernel is not None
    assert copy.deepcopy(method)._kernel == pickle.loads(pickle.dumps(method._kernel)) == method._kernel


@pytest.mark.parametrize("changes", [{"width": 8}, {"norm": "episode"}, {"num_convs": 9}])
def test_other_settings_are_left_to_pytorch(changes: dict[str, Any]) -> None:
    assert EpisodeKernel.make(replace(MamlSettings(), **changes), 0.1, True) is None


def test_without_the_library_pytorch_does_it(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_kernel, "library", lambda _: None)
    method = _method(episodes)
    assert method._kernel is None
    assert torch.isfinite(method.loss(next(episodes.batches("test", 2))).total)


def test_double_precision_and_wide_features_that_are_not_one_hot_are_left_to_pytorch() -> None:
    case, wide = _case(), _case(num_features=70, one_hot=True)
    start = case.layout.pack(dict(case.net.named_parameters()))
    assert EpisodeKernel.can_run(case.tensors, start, one_hot=False)
    assert EpisodeKernel.can_run(wide.tensors, start, one_hot=True)
    assert not EpisodeKernel.can_run(wide.tensors, start, one_hot=False)
    assert not EpisodeKernel.can_run(GraphTensors(case.store, case.x.double()), start, one_hot=False)
    assert not EpisodeKernel.can_run(case.tensors, start.double(), one_hot=False)
    assert not EpisodeKernel.can_run(GraphTensors(case.store, wide.x), start, one_hot=True)
