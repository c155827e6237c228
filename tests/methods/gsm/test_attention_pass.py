from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.attention_pass import AttentionPass
from fsgc.methods.gsm.super_graph import AttentionWeights, attend, link_bias

EPISODES, SIZE, TARGETS, HEADS, WIDTH, IN_WIDTH = 3, 9, 6, 2, 4, 5


def _links() -> Tensor:
    """Every target is linked to itself and to some others."""
    links = torch.rand(EPISODES, TARGETS, SIZE) < 0.3
    return links | torch.eye(TARGETS, SIZE, dtype=torch.bool)


def _weights() -> AttentionWeights:
    shapes = (EPISODES, HEADS * WIDTH, IN_WIDTH), (EPISODES, HEADS, 2, WIDTH), (EPISODES, WIDTH)
    return AttentionWeights(*(torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes))


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("dropout", [False, True])
def test_outputs_and_gradients_are_those_of_autograd(normalise: bool, dropout: bool) -> None:
    torch.manual_seed(0)
    weights, bias = _weights(), link_bias(_links()).double()
    layer = AttentionPass(AttentionWeights(*(weight.detach() for weight in weights)), bias, 0.1, normalise)
    for _ in range(2):  # the second pass finds the memory of the first
        x = torch.randn(EPISODES, SIZE, IN_WIDTH, dtype=torch.float64, requires_grad=True)
        keep = 2.0 * torch.randint(2, (TARGETS, SIZE, HEADS)).double() if dropout else None
        wanted = attend(weights, x, bias, 0.1, keep)
        wanted = F.normalize(wanted, dim=2) if normalise else wanted
        at_output = torch.randn_like(wanted)
        grads = torch.autograd.grad(wanted, [*weights, x], at_output)
        torch.testing.assert_close(layer.forward(x.detach(), keep), wanted)
        at_input = layer.backward(at_output, of_input=True)
        for ours, expected in zip([*layer.grads, at_input], grads, strict=True):
            torch.testing.assert_close(ours, expected)


def test_gradients_lie_in_memory_like_the_weights() -> None:
    """Adam on a CPU goes by memory: with another layout its steps would be wrong, silently."""
    weights = AttentionWeights(*(weight.detach() for weight in _weights()))
    layer = AttentionPass(weights, link_bias(_links()).double(), 0.1, False)
    at_output = torch.ones_like(layer.forward(torch.randn(EPISODES, SIZE, IN_WIDTH, dtype=torch.float64), None))
    assert layer.backward(at_output, of_input=False) is None
    assert [grad.stride() for grad in layer.grads] == [weight.stride() for weight in weights]
