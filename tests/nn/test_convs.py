from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from fsgc.nn.convs import GATConv, GCNConv, GINConv, make_conv
from fsgc.nn.settings import Conv, EmbedderSettings, Norm
from tests.nn.oracle import assert_same, both, features, mixed_store

# Aggregation happens before the first matrix for narrow inputs and after it for wide ones.
WIDTHS = pytest.mark.parametrize("in_width", [3, 16])
WIDTH = 8


class _Mlp(nn.Module):
    """The MLP inside a GIN convolution, written with PyG's GraphNorm."""

    def __init__(self, widths: list[int], graph_id: Tensor, norm: str) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(pyg.GraphNorm(b) for b in widths[1:-1] if norm == "graph")
        self.graph_id = graph_id

    def forward(self, x: Tensor) -> Tensor:
        for index, linear in enumerate(self.linears[:-1]):
            x = linear(x)
            if len(self.norms):
                x = self.norms[index](x, self.graph_id)
            x = x.relu()
        return self.linears[-1](x)


def _randomise(module: nn.Module) -> None:
    """Move parameters off values such as 0 and 1, where an omission would not show."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)


def _copy(pairs: list[tuple[Any, Any]]) -> None:
    with torch.no_grad():
        for mine, other in pairs:
            other.copy_(mine.view(other.shape))


@WIDTHS
@pytest.mark.parametrize("mlp_layers", [1, 2, 3])
@pytest.mark.parametrize("learnable_eps", [True, False])
# Not single precision with GraphNorm: it divides the rounding errors of a graph whose nodes are alike by 0.003.
@pytest.mark.parametrize(
    ("precision", "norm"), [("single", "none"), ("double", "none"), ("double", "graph")], indirect=["precision"]
)
@pytest.mark.usefixtures("precision")
def test_gin_equals_pyg(in_width: int, mlp_layers: int, learnable_eps: bool, norm: Norm) -> None:
    store = mixed_store()
    x = features(store, in_width)
    batch, edge_index = both(store, x)
    ours = GINConv(in_width, WIDTH, mlp_layers, norm, learnable_eps)
    _randomise(ours)
    mlp = _Mlp([in_width] + [WIDTH] * mlp_layers, batch.graph_id, norm)
    theirs = pyg.GINConv(mlp, train_eps=learnable_eps)
    pairs: list[tuple[Any, Any]] = []
    for mine, other in zip([ours.first, *ours.others], mlp.linears, strict=True):
        pairs += [(mine.weight, other.weight), (mine.bias, other.bias)]
    for mine, other in zip(ours.norms if norm == "graph" else [], mlp.norms, strict=True):
        pairs += [(mine.weight, other.weight), (mine.bias, other.bias), (mine.mean_scale, other.mean_scale)]
    if ours.eps is not None:
        pairs.append((ours.eps, theirs.eps))
    _copy(pairs)
    assert_same(lambda v: ours(v, batch), lambda v: theirs(v, edge_index), x, pairs)
    # Input features, whose neighbour sums may be known beforehand, give the same.
    torch.testing.assert_close(ours(batch.features, batch), ours(x, batch))


@pytest.mark.usefixtures("precision")
@WIDTHS
def test_gcn_equals_pyg(in_width: int) -> None:
    store = mixed_store()
    x = features(store, in_width)
    batch, edge_index = both(store, x)
    ours, theirs = GCNConv(in_width, WIDTH), pyg.GCNConv(in_width, WIDTH)
    _randomise(ours)
    pairs = [(ours.weight, theirs.lin.weight), (ours.bias, theirs.bias)]
    _copy(pairs)
    assert_same(lambda v: ours(v, batch), lambda v: theirs(v, edge_index), x, pairs)


@pytest.mark.usefixtures("precision")
@WIDTHS
def test_gat_equals_pyg(in_width: int) -> None:
    store = mixed_store()
    x = features(store, in_width)
    batch, edge_index = both(store, x)
    ours, theirs = GATConv(in_width, WIDTH), pyg.GATConv(in_width, WIDTH)
    _randomise(ours)
    pairs = [
        (ours.weight, theirs.lin.weight),
        (ours.att_source, theirs.att_src),
        (ours.att_target, theirs.att_dst),
        (ours.bias, theirs.bias),
    ]
    _copy(pairs)
    assert_same(lambda v: ours(v, batch), lambda v: theirs(v, edge_index), x, pairs)


def test_gat_with_large_scores_stays_finite() -> None:
    store = mixed_store()
    x = features(store, 3) * 1e4
    batch, _ = both(store, x)
    assert torch.isfinite(GATConv(3, WIDTH)(x, batch)).all()


@pytest.mark.parametrize(("kind", "expected"), [("gin", GINConv), ("gat", GATConv), ("gcn", GCNConv)])
def test_each_setting_names_its_convolution(kind: Conv, expected: type[nn.Module]) -> None:
    assert isinstance(make_conv(EmbedderSettings(conv=kind), 3), expected)
