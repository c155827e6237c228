"""The class head forward and backward without autograd, for the many small steps of fine-tuning."""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.nn.heads import HeadWeights


class HeadPass:
    """Gradients of each episode's mean cross-entropy, as `head_gradients` has them, in memory that is used again.

    Args:
        weights: stacked, `[B, …]`; read anew in every pass.
        grads: where the gradients of the weights go.
        target: one-hot labels, `[B, N, S]`.
    """

    def __init__(self, weights: HeadWeights, grads: HeadWeights, target: Tensor) -> None:
        self._weights, self._grads, self._target = weights, grads, target

    def backward(self, z: Tensor, keep: Tensor, at_input: Tensor) -> None:
        """Features `[B, S, d]` and a dropout mask of the hidden layer, `[S, h]`, to all gradients.

        The gradient at the features is written to `at_input`, `[B, S, d]`.
        """
        weights, grads = self._weights, self._grads
        hidden = torch.baddbmm(weights.hidden_bias.unsqueeze(1), z, weights.hidden_weight.mT).relu_().mul_(keep)
        scores = torch.baddbmm(weights.out_bias.unsqueeze(2), weights.out_weight, hidden.mT)
        error = torch.softmax(scores, 1).sub_(self._target).div_(z.shape[1])
        torch.bmm(error, hidden, out=grads.out_weight)
        torch.sum(error, 2, out=grads.out_bias)
        at_hidden = torch.bmm(error.mT, weights.out_weight).mul_(keep)
        at_hidden = torch.ops.aten.threshold_backward(at_hidden, hidden, 0)
        torch.bmm(at_hidden.mT, z, out=grads.hidden_weight)
        torch.sum(at_hidden, 1, out=grads.hidden_bias)
        torch.bmm(at_hidden, weights.hidden_weight, out=at_input)
