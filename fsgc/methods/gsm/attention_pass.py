"""Graph attention forward and backward without autograd, for the many small steps of fine-tuning.

`attend` and autograd give the same gradients. Written out, nothing is recorded, and the large results (products with
the weights, gradients of the weights) come to lie in memory that every step uses again. `benchmarks/gsm.py` times it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.super_graph import AttentionWeights

_LEAST_NORM = 1e-12


class AttentionPass:
    """One layer of `attend` on fixed links: `forward`, then `backward`, any number of times.

    Args:
        weights: of the layer, contiguous; read anew in every pass.
        bias: `[B, m, n]`, the links as `link_bias` has them.
        slope: of the leaky ReLU.
        normalise: whether the outputs are divided by their L2 norm.

    Attributes:
        grads: where `backward` leaves the gradients of the weights.
    """

    def __init__(self, weights: AttentionWeights, bias: Tensor, slope: float, normalise: bool) -> None:
        self.weights, self.slope, self.normalise = weights, slope, normalise
        self.grads = AttentionWeights(*(torch.empty_like(weight) for weight in weights))
        count, self._targets, size = bias.shape
        heads = weights.attention.shape[1]
        self._bias = bias.unsqueeze(3)
        self._product = weights.weight.new_empty(count, size, weights.weight.shape[1])
        self._rows = self._product.view(count, size * heads, -1)  # [B, n·H, d]: the heads are further rows
        self._grad_product = torch.empty_like(self._product)
        self._grad_rows = self._grad_product.view_as(self._rows)
        self._grad_scores = bias.new_zeros(count, size * heads, 2 * heads)
        self._own_grad_scores = _own(self._grad_scores, heads)

    def forward(self, x: Tensor, keep: Tensor | None) -> Tensor:
        """Features `[B, n, in]` and a dropout mask as in `attend` to `[B, m, d]`."""
        weight, attention, bias = self.weights
        heads = attention.shape[1]
        self._x, self._keep = x, keep
        torch.bmm(x, weight.mT, out=self._product)
        as_source, as_target = _own(torch.bmm(self._rows, attention.flatten(1, 2).mT), heads).unbind(2)
        self._pairs = as_target[:, : self._targets, None] + as_source.unsqueeze(1)  # [B, m, n, H]
        self._p = F.leaky_relu(self._pairs, self.slope).add_(self._bias).softmax(2)
        self._kept = self._p if keep is None else self._p * keep
        y = torch.baddbmm(bias.unsqueeze(1), self._kept.flatten(2), self._rows, alpha=1 / heads)
        if self.normalise:
            self._norm = y.norm(dim=2, keepdim=True).clamp_(min=_LEAST_NORM)
            self._y = y = y / self._norm
        return y

    def backward(self, grad: Tensor, of_input: bool) -> Tensor | None:
        """The gradient at the output, `[B, m, d]`, to those of the weights and, where asked for, that of the input."""
        weight, attention, _ = self.weights
        heads = attention.shape[1]
        if self.normalise:
            grad = (grad - self._y * (grad * self._y).sum(2, keepdim=True)) / self._norm
        torch.sum(grad, 1, out=self.grads.bias)
        grad = grad / heads
        at_p = torch.bmm(grad, self._rows.mT).view_as(self._p)
        at_p = at_p if self._keep is None else at_p.mul_(self._keep)
        at_scores = torch.ops.aten._softmax_backward_data(at_p, self._p, 2, at_p.dtype)
        at_pairs = torch.ops.aten.leaky_relu_backward(at_scores, self._pairs, self.slope, False)
        torch.sum(at_pairs, 1, out=self._own_grad_scores[:, :, 0])
        torch.sum(at_pairs, 2, out=self._own_grad_scores[:, : self._targets, 1])
        torch.bmm(self._kept.flatten(2).mT, grad, out=self._grad_rows)
        self._grad_rows.baddbmm_(self._grad_scores, attention.flatten(1, 2))
        torch.bmm(self._grad_scores.mT, self._rows, out=self.grads.attention.view(len(grad), 2 * heads, -1))
        torch.bmm(self._grad_product.mT, self._x, out=self.grads.weight)
        return torch.bmm(self._grad_product, weight) if of_input else None


def _own(scores: Tensor, heads: int) -> Tensor:
    """Of scores `[B, n·H, H·2]` those of each head's rows under its own two vectors, a view `[B, n, 2, H]`."""
    return scores.view(len(scores), -1, heads, heads, 2).diagonal(0, 2, 3)
