"""Graph attention forward and backward without autograd, for the many small steps of fine-tuning.

`attend` and autograd give the same gradients. Written out, nothing is recorded, the large results come to lie in memory
that every step uses again, and each of the two layers is computed in the order that takes fewer products:

- `ProductsFirst`, for the first layer: all graphs times the weights, then sums along links. Its input is constant, so
  that two products with the weights are enough: one forward, one for their gradient.
- `SumsFirst`, for the second: sums along links, then the targets alone times the weights. It takes a third product,
  for the gradient of its input, but the supports, its targets, are about half of the graphs that they attend to.

A mean over heads is a sum with dropout masks divided by the number of heads, as `Masks` has them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.methods.gsm.link_softmax import Layout, LinkSoftmax
from fsgc.methods.gsm.super_graph import AttentionWeights, Links

_LEAST_NORM = 1e-12


class ProductsFirst:
    """A layer that attends from `n` graphs with constant features to the first `m` of them.

    Args:
        weights: `weight` `[B, H·d, in]`, `attention` `[B, 2·H, d]` (the sources' vectors, then the targets') and `bias`
            `[B, d]`; read anew in every pass.
        grads: where the gradients of the weights go.
        x: `[B, n, in]`.
        links: of the targets.
        slope: of the leaky ReLU.
    """

    def __init__(self, weights: AttentionWeights, grads: AttentionWeights, x: Tensor, links: Links, slope: float):
        self._weights, self._grads, self._x = weights, grads, x
        count, size, _ = x.shape
        heads = weights.attention.shape[1] // 2
        targets = links.source.shape[1]
        scores = Layout((2 * heads, size * heads), (0, heads, size * heads + 1))  # of each head's rows its own vectors
        attention = Layout((targets, size * heads), (size * heads, heads, 1))
        self._softmax = LinkSoftmax(links, heads, slope, scores, attention, x)
        self._product = x.new_empty(count, size, weights.weight.shape[1])
        self._rows = self._product.view(count, size * heads, -1)  # [B, n·H, d]: the heads are further rows
        self._grad_product = torch.empty_like(self._product)
        self._grad_rows = self._grad_product.view_as(self._rows)

    def forward(self, keep: Tensor) -> Tensor:
        """A dropout mask `[k, m·H]` to the output `[B, m, d]`."""
        weight, attention, bias = self._weights
        torch.bmm(self._x, weight.mT, out=self._product)
        self._softmax.forward(torch.bmm(attention, self._rows.mT), keep)
        return torch.baddbmm(bias.unsqueeze(1), self._softmax.attention, self._rows)

    def backward(self, grad: Tensor) -> None:
        """The gradient at the output, `[B, m, d]`, to those of the weights."""
        _, attention, _ = self._weights
        torch.sum(grad, 1, out=self._grads.bias)
        torch.bmm(grad, self._rows.mT, out=self._softmax.grad_attention)
        self._softmax.backward()
        torch.bmm(self._softmax.grad_scores, self._rows, out=self._grads.attention)
        torch.bmm(self._softmax.attention.mT, grad, out=self._grad_rows)
        self._grad_rows.baddbmm_(self._softmax.grad_scores.mT, attention)
        torch.bmm(self._grad_product.mT, self._x, out=self._grads.weight)


class SumsFirst:
    """A layer that attends from `n` graphs to the first `m` of them, few.

    Scores are `(Wᵀ a) · x`, so that no product of `W` with all graphs is ever needed.

    Args:
        weights: `weight` `[B, d, H·in]`, for each output the inputs of all heads; else as in `ProductsFirst`.
        grads: where the gradients of the weights go.
        sources: `n`.
        links: of the targets.
        slope: of the leaky ReLU.

    Attributes:
        grad_output: `[B, m, d]`, for the caller to write before `backward`.
    """

    def __init__(self, weights: AttentionWeights, grads: AttentionWeights, sources: int, links: Links, slope: float):
        self._weights, self._grads = weights, grads
        weight = weights.weight
        count, width, inputs = weight.shape
        heads = weights.attention.shape[1] // 2
        targets = links.source.shape[1]
        # A vector of one head is multiplied with the weights of all, and what is not of its own is never looked up.
        scores = Layout((2 * heads * heads, sources), (0, 1, (heads + 1) * sources))
        attention = Layout((targets * heads, sources), (heads * sources, 1, sources))
        self._softmax = LinkSoftmax(links, heads, slope, scores, attention, weight)
        self._vectors = weight.new_empty(count, 2 * heads, inputs)
        self._vector_rows = self._vectors.view(count, 2 * heads * heads, -1)
        # The gradient of the weights has a part by way of the sums and a part by way of the scores. Lying one below the
        # other, one product makes both.
        right, left = (
            weight.new_empty(count, targets + 2 * heads, inputs),
            weight.new_empty(count, targets + 2 * heads, width),
        )
        self._right, self._left = right, left
        self._sums, self._score_sums = right[:, :targets], right[:, targets:]
        self._sum_rows = self._sums.view(count, targets * heads, -1)
        self._score_sum_rows = self._score_sums.view(count, 2 * heads * heads, -1)
        self.grad_output, self._attention_rows = left[:, :targets], left[:, targets:]
        self._grad_sums = weight.new_empty(count, targets, inputs)
        self._grad_sum_rows = self._grad_sums.view(count, targets * heads, -1)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Features `[B, n, in]` and a dropout mask `[k, m·H]` to the output `[B, m, d]`."""
        weight, attention, bias = self._weights
        self._x = x
        torch.bmm(attention, weight, out=self._vectors)
        self._softmax.forward(torch.bmm(self._vector_rows, x.mT), keep)
        torch.bmm(self._softmax.attention, x, out=self._sum_rows)
        return torch.baddbmm(bias.unsqueeze(1), self._sums, weight.mT)

    def backward(self) -> Tensor:
        """`grad_output` to the gradients of the weights and that of the features."""
        weight, attention, _ = self._weights
        torch.sum(self.grad_output, 1, out=self._grads.bias)
        torch.bmm(self.grad_output, weight, out=self._grad_sums)
        torch.bmm(self._grad_sum_rows, self._x.mT, out=self._softmax.grad_attention)
        self._softmax.backward()
        torch.bmm(self._softmax.grad_scores, self._x, out=self._score_sum_rows)
        torch.bmm(self._score_sums, weight.mT, out=self._grads.attention)
        self._attention_rows.copy_(attention)
        torch.bmm(self._left.mT, self._right, out=self._grads.weight)
        at_x = torch.bmm(self._softmax.attention.mT, self._grad_sum_rows)
        return at_x.baddbmm_(self._softmax.grad_scores.mT, self._vector_rows)


class Normalised:
    """Outputs divided by their L2 norm, as `F.normalize` does it, or left alone.

    Args:
        active: whether they are divided.
    """

    def __init__(self, active: bool) -> None:
        self._active = active

    def forward(self, y: Tensor) -> Tensor:
        """`[B, m, d]` to the same of length 1; changes `y`."""
        if self._active:
            self._norm = y.norm(dim=2, keepdim=True).clamp_(min=_LEAST_NORM)
            self._y = y = y.div_(self._norm)
        return y

    def backward(self, grad: Tensor) -> None:
        """Turn the gradient at the result, `[B, m, d]`, into that at what `forward` was given; in place."""
        if self._active:
            grad.sub_(self._y * (grad * self._y).sum(2, keepdim=True)).div_(self._norm)
