from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import Tensor
from torch_geometric import nn as pyg

from fsgc.nn.fused_norm import graph_norm_relu
from fsgc.nn.norms import BatchNorm, GraphNorm, Groups, NoNorm, make_norm
from fsgc.nn.segments import Segments
from fsgc.nn.settings import Norm
from tests.nn.oracle import assert_same

SIZES = torch.tensor([1, 4, 2, 7, 3])
SEGMENTS = Segments.from_sizes(SIZES, int(SIZES.sum()))
X = torch.randn(int(SIZES.sum()), 6, generator=torch.Generator().manual_seed(0)) * 3 + 5
PRECISIONS = pytest.mark.usefixtures("precision")


def _pair(across_graphs: bool) -> tuple[GraphNorm, pyg.GraphNorm]:
    ours, theirs = GraphNorm(6, across_graphs), pyg.GraphNorm(6)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name in ("weight", "bias", "mean_scale"):
            getattr(ours, name).copy_(torch.rand(6, generator=generator) + 0.5)
            getattr(theirs, name).copy_(getattr(ours, name))
    return ours, theirs


def _check(ours: GraphNorm, theirs: pyg.GraphNorm, groups: Groups | None, index: Tensor | None) -> None:
    pairs = [(getattr(ours, name), getattr(theirs, name)) for name in ("weight", "bias", "mean_scale")]
    assert_same(lambda v: ours(v, SEGMENTS, groups), lambda v: theirs(v, index), X.to(ours.weight), pairs)


@PRECISIONS
def test_graph_norm_equals_pyg() -> None:
    _check(*_pair(across_graphs=False), None, SEGMENTS.index)


@PRECISIONS
def test_episode_norm_without_groups_equals_pyg_without_index() -> None:
    _check(*_pair(across_graphs=True), None, None)


@PRECISIONS
def test_episode_norm_equals_pyg_over_groups() -> None:
    groups = Groups(torch.tensor([2, 0, 2, 0, 1]), 3)
    _check(*_pair(across_graphs=True), groups, groups.index[SEGMENTS.index])


def test_groups_do_not_matter_to_graph_norm() -> None:
    norm, _ = _pair(across_graphs=False)
    assert torch.equal(norm(X, SEGMENTS, Groups(torch.zeros(5, dtype=torch.int64), 1)), norm(X, SEGMENTS))


def test_batch_norm_uses_running_statistics_in_evaluation() -> None:
    norm = make_norm("batch", 6)
    trained = norm(X, SEGMENTS)
    torch.testing.assert_close(trained, (X - X.mean(0)) / (X.var(0, unbiased=False) + 1e-5).sqrt())
    norm.eval()
    mean, variance = 0.1 * X.mean(0), 0.9 + 0.1 * X.var(0)
    torch.testing.assert_close(norm(X, SEGMENTS), (X - mean) / (variance + 1e-5).sqrt())


def test_each_setting_names_its_norm_and_others_are_refused() -> None:
    assert isinstance(make_norm("batch", 3), BatchNorm)
    none = make_norm("none", 3)
    assert isinstance(none, NoNorm)
    assert none(X, SEGMENTS) is X
    graph, episode = make_norm("graph", 3), make_norm("episode", 3)
    assert isinstance(graph, GraphNorm)
    assert isinstance(episode, GraphNorm)
    assert (graph.across_graphs, episode.across_graphs) == (False, True)


@PRECISIONS
@pytest.mark.parametrize("rows", [1, 6, 1000])
def test_graph_norm_with_relu_equals_pyg(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsgc.nn.fused_norm.ROWS_AT_ONCE", rows)
    ours, theirs = _pair(across_graphs=False)
    with torch.no_grad():
        ours.bias.sub_(1.0)  # so that ReLU has something to cut off
        theirs.bias.copy_(ours.bias)
    pairs = [(getattr(ours, name), getattr(theirs, name)) for name in ("weight", "bias", "mean_scale")]
    x = X.to(ours.weight)
    assert 0.2 < float((theirs(x, SEGMENTS.index) > 0).float().mean()) < 0.8
    assert_same(lambda v: ours(v, SEGMENTS, relu=True), lambda v: theirs(v, SEGMENTS.index).relu(), x, pairs)


@pytest.mark.usefixtures("double")
def test_graph_norm_with_relu_can_be_differentiated_twice() -> None:
    norm, _ = _pair(across_graphs=False)
    x = X.double().requires_grad_()
    weights = (norm.weight, norm.bias, norm.mean_scale)

    def apply(x: Tensor, weight: Tensor, bias: Tensor, mean_scale: Tensor) -> Tensor:
        return graph_norm_relu(x, weight, bias - 1, mean_scale, SEGMENTS, norm.eps)

    assert torch.autograd.gradcheck(apply, (x, *weights))
    assert torch.autograd.gradgradcheck(apply, (x, *weights))


def test_graph_norm_with_relu_of_no_graphs() -> None:
    norm, _ = _pair(across_graphs=False)
    assert norm(X[:0], Segments.from_sizes(SIZES[:0], 0), relu=True).shape == (0, 6)


@pytest.mark.parametrize("kind", get_args(Norm))
def test_relu_follows_every_norm(kind: Norm) -> None:
    norm = make_norm(kind, 6).eval()
    x = X - 5
    x[SEGMENTS.index == 3] = 0.1  # equal rows: rounding alone decides on which side of zero they come out
    assert torch.equal(norm(x, SEGMENTS, relu=True), norm(x, SEGMENTS).relu())
