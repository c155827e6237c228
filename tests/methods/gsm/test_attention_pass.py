from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.attention_pass import Normalised, ProductsFirst, SumsFirst
from fsgc.methods.gsm.super_graph import AttentionWeights, Links, attend, link_bias
from tests.methods.gsm.links import as_matrix, made_up_links, mask_matrix

EPISODES, SIZE, TARGETS, WIDTH, IN_WIDTH = 3, 9, 6, 4, 5
CASES = [(1, 2), (2, 2), (2, 4), (3, 1)]
"""Heads and neighbours; among four neighbours some places are free."""


def _made_up(heads: int, neighbours: int) -> tuple[Links, AttentionWeights, Tensor, Tensor]:
    """Links, weights of `attend`, features and a mask along links, all in double precision."""
    torch.manual_seed(0)
    links = made_up_links(EPISODES, SIZE, neighbours)
    shapes = (EPISODES, heads * WIDTH, IN_WIDTH), (EPISODES, heads, 2, WIDTH), (EPISODES, WIDTH)
    weights = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    x = torch.randn(EPISODES, SIZE, IN_WIDTH, dtype=torch.float64, requires_grad=True)
    keep = 2.0 * torch.randint(2, (neighbours, TARGETS, heads)).double()
    return Links(links.source[:, :TARGETS], links.taken[:, :TARGETS]), AttentionWeights(*weights), x, keep


def _expected(links: Links, weights: AttentionWeights, x: Tensor, keep: Tensor) -> Tensor:
    bias = link_bias(as_matrix(links, SIZE)).double()
    return attend(weights, x, bias, 0.1, mask_matrix(links, SIZE, keep))


def _planes(attention: Tensor) -> Tensor:
    """The vectors of all heads as sources, then those as targets: `[B, H, 2, d]` to `[B, 2·H, d]`."""
    return attention.detach().transpose(1, 2).flatten(1, 2)


def _by_output(weight: Tensor, heads: int) -> Tensor:
    """`[B, H·d, in]` to `[B, d, H·in]`."""
    return weight.detach().view(len(weight), heads, -1, IN_WIDTH).transpose(1, 2).flatten(2)


def _empty_like(weights: AttentionWeights) -> AttentionWeights:
    return AttentionWeights(*(torch.full_like(weight, torch.nan) for weight in weights))


def test_made_up_links_leave_places_free() -> None:
    assert not made_up_links(EPISODES, SIZE, 4).taken[:, :TARGETS].all()


@pytest.mark.parametrize(("heads", "neighbours"), CASES)
def test_products_first_has_outputs_and_gradients_of_autograd(heads: int, neighbours: int) -> None:
    links, weights, x, keep = _made_up(heads, neighbours)
    own = AttentionWeights(weights.weight.detach(), _planes(weights.attention), weights.bias.detach())
    grads = _empty_like(own)
    layer = ProductsFirst(own, grads, x.detach(), links, 0.1)
    for mask in (keep, 2.0 - keep):  # the second pass finds the memory of the first
        wanted = _expected(links, weights, x, mask)
        at_output = torch.randn_like(wanted)
        weight, attention, bias = torch.autograd.grad(wanted, [*weights], at_output)
        torch.testing.assert_close(layer.forward((mask / heads).flatten(1)), wanted)
        layer.backward(at_output)
        for ours, expected in zip(grads, (weight, _planes(attention), bias), strict=True):
            torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize(("heads", "neighbours"), CASES)
def test_sums_first_has_outputs_and_gradients_of_autograd(heads: int, neighbours: int) -> None:
    links, weights, x, keep = _made_up(heads, neighbours)
    own = AttentionWeights(_by_output(weights.weight, heads), _planes(weights.attention), weights.bias.detach())
    grads = _empty_like(own)
    layer = SumsFirst(own, grads, SIZE, links, 0.1)
    for mask in (keep, 2.0 - keep):
        wanted = _expected(links, weights, x, mask)
        at_output = torch.randn_like(wanted)
        weight, attention, bias, at_x = torch.autograd.grad(wanted, [*weights, x], at_output)
        torch.testing.assert_close(layer.forward(x.detach(), (mask / heads).flatten(1)), wanted)
        layer.grad_output.copy_(at_output)
        torch.testing.assert_close(layer.backward(), at_x)
        for ours, expected in zip(grads, (_by_output(weight, heads), _planes(attention), bias), strict=True):
            torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("active", [False, True])
def test_normalised_is_normalize_and_its_gradient(active: bool) -> None:
    y = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    wanted = F.normalize(y, dim=2) if active else y.clone()
    at_output = torch.randn_like(wanted)
    (expected,) = torch.autograd.grad(wanted, [y], at_output)
    step = Normalised(active)
    torch.testing.assert_close(step.forward(y.detach().clone()), wanted)
    step.backward(at_output)
    torch.testing.assert_close(at_output, expected)
