"""Products of the weights of an episode, which replace products of its node rows; with derivatives written out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.maml.flat_weights import Pieces


class WeightProducts(NamedTuple):
    """Products of weights, or tangents of them; biases are the last rows.

    Attributes:
        first: what the input and its neighbour sums are multiplied by, `[B, 2·F, d]`.
        between: from one convolution's hidden rows to the next, `[B, d+1, d]` each.
        jumps: from hidden rows to LayerNorm, the mean over features taken off, `[B, d, d]` each.
        jump: from the input to LayerNorm, the same, with all biases, `[B, F+1, d]`.
    """

    first: Tensor
    between: list[Tensor]
    jumps: list[Tensor]
    jump: Tensor


class ProductGradients(NamedTuple):
    """Gradients of what the products are made of, or tangents of them; shapes as in `Pieces`, `own` `[B]`."""

    own: Tensor
    first: Tensor
    lasts: list[Tensor]
    nexts: list[Tensor]


def own(weights: Pieces, index: int) -> Tensor:
    """`1 + ε` of a convolution, `[B, 1, 1]`."""
    return 1 + tangent_of_own(weights, index)


def tangent_of_own(tangents: Pieces, index: int) -> Tensor:
    """`dε` of a convolution, `[B, 1, 1]`."""
    return tangents.eps[:, index].view(-1, 1, 1)


def multiply(weights: Pieces) -> WeightProducts:
    """The products."""
    first = torch.cat([weights.first * own(weights, 0), weights.first], 1)
    return _cut(first, [torch.bmm(v, n) for v, n in zip(weights.lasts, weights.nexts, strict=True)], weights.jump)


def multiply_push(weights: Pieces, tangents: Pieces) -> WeightProducts:
    """Tangents of the weights to those of the products."""
    upper = torch.addcmul(weights.first * tangent_of_own(tangents, 0), tangents.first, own(weights, 0))
    pairs = zip(weights.lasts, weights.nexts, tangents.lasts, tangents.nexts, strict=True)
    hops = [torch.bmm(dv, n).baddbmm_(v, dn) for v, n, dv, dn in pairs]
    return _cut(torch.cat([upper, tangents.first], 1), hops, tangents.jump)


def gradients(weights: Pieces, first: Tensor, hops: list[Tensor]) -> ProductGradients:
    """The gradients at `WeightProducts.first` and at the products of lasts and nexts to those of their factors."""
    upper, lower = first.chunk(2, 1)
    return ProductGradients(
        dot(upper, weights.first),
        torch.addcmul(lower, upper, own(weights, 0)),
        [torch.bmm(hop, n.mT) for hop, n in zip(hops, weights.nexts, strict=True)],
        [torch.bmm(v.mT, hop) for hop, v in zip(hops, weights.lasts, strict=True)],
    )


def gradients_push(
    weights: Pieces, tangents: Pieces, first: Tensor, hops: list[Tensor], d_first: Tensor, d_hops: list[Tensor]
) -> ProductGradients:
    """The tangents of `gradients`, given those of the weights and of the gradients at the products."""
    upper, _ = first.chunk(2, 1)
    found = gradients(weights, d_first, d_hops)
    for last, hop, dn in zip(found.lasts, hops, tangents.nexts, strict=True):
        last.baddbmm_(hop, dn.mT)
    for following, hop, dv in zip(found.nexts, hops, tangents.lasts, strict=True):
        following.baddbmm_(dv.mT, hop)
    of_own = found.own + dot(upper, tangents.first)
    return ProductGradients(of_own, found.first.addcmul_(upper, tangent_of_own(tangents, 0)), found.lasts, found.nexts)


def centred(matrix: Tensor) -> Tensor:
    """The mean over the last dimension taken off: what LayerNorm does to rows, done to what makes them."""
    return matrix - matrix.mean(-1, keepdim=True)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The sum of the products of all numbers of an episode, `[B, n, d]` twice to `[B]`."""
    return (a * b).sum((1, 2))


def _cut(first: Tensor, hops: list[Tensor], jump: Tensor) -> WeightProducts:
    width = jump.shape[2]
    to_jump = [hop[:, :, -width:] for hop in hops]
    bias = torch.stack([jump[:, -1:], *(hop[:, -1:] for hop in to_jump)]).sum(0)
    return WeightProducts(
        first,
        [hop[:, :, :width] for hop in hops[:-1]],
        [centred(hop[:, :-1]) for hop in to_jump],
        centred(torch.cat([jump[:, :-1], bias], 1)),
    )
