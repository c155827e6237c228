"""A training pass of a GIN with batch norm, with a gradient worked out by hand; FAITH's and SMF-GIN's.

A step of either method is one episode, so that what is between the matrix products counts. Left to autograd a layer is
a dozen operations each way, and most of them write an array as large as the node rows. Here a layer is two operations,
what can be is overwritten, and what is known to be zero, the gradient of a bias in front of batch norm, is not worked
out.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fsgc.methods.smf_gin.gin_pass_kernel import compiled_read_outs, is_compiled_for
from fsgc.nn.adjacency import Adjacency
from fsgc.nn.convs import GINConv
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.inputs import NodeFeatures
from fsgc.nn.norms import BatchNorm
from fsgc.nn.segments import Segments

_threshold_backward = torch.ops.aten.threshold_backward
_fitting: WeakKeyDictionary[GINReadOuts, bool] = WeakKeyDictionary()
"""Whether a network is made as these passes take it: to ask its modules in every step took longer than the loss."""


def read_outs(gin: GINReadOuts, tensors: GraphTensors, graphs: Tensor) -> Tensor:
    """What `gin.of_graphs` gives, and the same gradients: the read-outs of graphs `[g]` side by side, `[g, L·d]`."""
    if not _can_be_fused(gin, tensors.features.table.device):
        return gin.of_graphs(tensors, graphs)
    if is_compiled_for(gin, tensors, graphs):
        return compiled_read_outs(gin, tensors, graphs)
    batch = tensors.batch(graphs)
    if len(batch.features) < 2:
        return gin(batch)  # which says what is wrong: batch norm has nothing to learn from one row
    found = []
    rows: Tensor | None = None
    for conv, norm in zip(gin.convs, gin.norms, strict=True):
        assert isinstance(conv, GINConv)
        h = _first_linear(conv, batch.features if rows is None else rows, batch)
        rows, read_out = _finish(h, conv, norm, batch.segments)
        found.append(read_out)
    return torch.cat(found, 1)


def _can_be_fused(gin: GINReadOuts, device: torch.device) -> bool:
    """Whether batch norm learns from the pass, each MLP has two layers, and all is of one type."""
    if gin not in _fitting:
        convs = all(isinstance(conv, GINConv) and len(conv.others) == 1 for conv in gin.convs)
        _fitting[gin] = convs and gin.norm == "batch" and gin.pooling == "sum"
    return gin.training and _fitting[gin] and not torch.is_autocast_enabled(device.type)


def _first_linear(conv: GINConv, x: Tensor | NodeFeatures, batch: GraphBatch) -> Tensor:
    """`((1 + ε) · x_v + Σ x_u) W + b`, `[n, in]` to `[n, d]`; node features have no gradient."""
    if not isinstance(x, NodeFeatures):
        return _MixLinear.apply(x, conv.eps, conv.first.weight, conv.first.bias, batch.adjacency)  # type: ignore[no-untyped-call]
    if x.neighbour_sum is None or x.code is not None:
        return conv._first_linear(x, batch)
    known = x.neighbour_sum
    return _KnownMixLinear.apply(x.table, known, conv.eps, conv.first.weight, conv.first.bias)  # type: ignore[no-untyped-call]


def _finish(h: Tensor, conv: GINConv, norm: nn.Module, segments: Segments) -> tuple[Tensor, Tensor]:
    """From the first linear layer to the layer's rows `[n, d]` and their sums over graphs `[g, d]`."""
    inner = conv.norms[0]
    assert isinstance(inner, BatchNorm)
    assert isinstance(norm, BatchNorm)
    learned = (inner.norm.weight, inner.norm.bias, conv.last.weight, conv.last.bias, norm.norm.weight, norm.norm.bias)
    return _Finish.apply(h, *learned, inner.norm, norm.norm, segments)  # type: ignore[no-untyped-call]


def _bag(source: Tensor, rows: Tensor, pointer: Tensor) -> Tensor:
    return F.embedding_bag(source, rows, pointer, mode="sum", include_last_offset=True)


def _norm_relu(norm: nn.BatchNorm1d, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm in training and ReLU; the mean and 1 / deviation of each column."""
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked.add_(1)
    momentum = norm.momentum if norm.momentum is not None else 1 / float(norm.num_batches_tracked)
    result, mean, root = torch.native_batch_norm(
        x, norm.weight, norm.bias, norm.running_mean, norm.running_var, True, momentum, norm.eps
    )
    return result.relu_(), mean, root


def _norm_relu_backward(
    grad: Tensor, result: Tensor, x: Tensor, kept: list[Tensor], norm: nn.BatchNorm1d
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of input, weight and bias; `kept` are the weight, means and 1 / deviations; `grad` is overwritten."""
    weight, mean, root = kept
    _threshold_backward.grad_input(grad, result, 0, grad_input=grad)
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_batch_norm_backward(
        grad, x, weight, norm.running_mean, norm.running_var, mean, root, True, norm.eps, [True, True, True]
    )
    return found


class _Finish(torch.autograd.Function):
    """Batch norm, ReLU, linear layer, batch norm, ReLU, and the sums over graphs."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        inner_weight: Tensor,
        _inner_bias: Tensor,
        weight: Tensor,
        bias: Tensor,
        outer_weight: Tensor,
        _outer_bias: Tensor,
        inner: nn.BatchNorm1d,
        outer: nn.BatchNorm1d,
        segments: Segments,
    ) -> tuple[Tensor, Tensor]:
        hidden, *of_inner = _norm_relu(inner, h)
        product = F.linear(hidden, weight, bias)
        rows, *of_outer = _norm_relu(outer, product)
        ctx.set_materialize_grads(False)
        ctx.norms, ctx.segments = (inner, outer), segments
        ctx.save_for_backward(h, hidden, product, rows, weight, inner_weight, *of_inner, outer_weight, *of_outer)
        order = torch.arange(len(rows), device=rows.device)
        return rows, _bag(order, rows, segments.pointer)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_rows: Tensor | None, of_sums: Tensor | None) -> tuple[Tensor | None, ...]:
        h, hidden, product, rows, weight, *of_norms = ctx.saved_tensors
        inner, outer = ctx.norms
        grad = torch.zeros_like(rows) if of_sums is None else of_sums.index_select(0, ctx.segments.index)
        if of_rows is not None:
            grad.add_(of_rows)
        grad, *of_outer = _norm_relu_backward(grad, rows, product, of_norms[3:], outer)
        of_weight, of_bias = grad.t() @ hidden, weight.new_zeros(len(weight))
        grad = grad @ weight
        grad, *of_inner = _norm_relu_backward(grad, hidden, h, of_norms[:3], inner)
        return grad, *of_inner, of_weight, of_bias, *of_outer, None, None, None


class _MixLinear(torch.autograd.Function):
    """`((1 + ε) · x_v + Σ x_u) W + b` of rows with a gradient; batch norm follows, so the bias has none."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: Tensor | None, weight: Tensor, bias: Tensor, adjacency: Adjacency) -> Tensor:
        mixed = _mix(_bag(adjacency.source, x, adjacency.pointer), x, eps)
        ctx.adjacency = adjacency
        ctx.save_for_backward(x if eps is not None else None, eps, weight, mixed)
        return F.linear(mixed, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, eps, weight, mixed = ctx.saved_tensors
        of_weight, of_bias = grad.t() @ mixed, weight.new_zeros(len(weight))
        of_mixed = grad @ weight
        # The graphs are undirected: the gradient of a sum over neighbours is the same sum.
        of_x = _mix(_bag(ctx.adjacency.source, of_mixed, ctx.adjacency.pointer), of_mixed, eps)
        return of_x, _of_eps(of_mixed, x, eps), of_weight, of_bias, None


class _KnownMixLinear(torch.autograd.Function):
    """The same of node features, whose sums over neighbours are known and which have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sums: Tensor, eps: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
        mixed = _mix(sums.clone(), x, eps)
        ctx.save_for_backward(x if eps is not None else None, eps, weight, mixed)
        return F.linear(mixed, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, eps, weight, mixed = ctx.saved_tensors
        of_weight, of_bias = grad.t() @ mixed, weight.new_zeros(len(weight))
        return None, None, _of_eps(grad @ weight, x, eps) if eps is not None else None, of_weight, of_bias


def _mix(sums: Tensor, rows: Tensor, eps: Tensor | None) -> Tensor:
    """`sums + (1 + ε) · rows`, written over the sums."""
    return sums.add_(rows) if eps is None else sums.addcmul_(rows, 1 + eps)


def _of_eps(of_mixed: Tensor, x: Tensor, eps: Tensor | None) -> Tensor | None:
    return None if eps is None else torch.dot(of_mixed.flatten(), x.flatten()).view(1)
