from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.faith.attention import attention, average_over_neighbours
from fsgc.methods.faith.hierarchy import cosines

pytestmark = pytest.mark.usefixtures("double")


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_attention_row_by_row() -> None:
    similarity = cosines(draw(2, 6, 3))
    for matrix, weights in zip(similarity, attention(similarity, 0.4), strict=True):
        for row, mine in zip(matrix.tolist(), weights.tolist(), strict=True):
            total = sum(math.exp(value) for value in row if value > 0.4)
            assert mine == pytest.approx([math.exp(value) / total if value > 0.4 else 0 for value in row])


def test_a_row_like_nothing_at_all_has_finite_weights() -> None:
    assert torch.isfinite(attention(torch.zeros(1, 2, 2), 0.8)).all()


def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Unit vectors but for one that is zero, so that it has no edge; values; places; edges of the first three."""
    unit = F.normalize(draw(9, 4), dim=-1)
    unit[5] = 0
    place = torch.tensor([[3, 0, 1, 8, 0, 6, 2], [7, 3, 5, 4, 4, 1, 0]])
    edges = torch.zeros(7, 7)
    edges[:3, :3] = 1
    return unit.requires_grad_(), draw(9, 5).requires_grad_(), place, edges


def test_the_average_and_its_gradients_are_those_that_autograd_finds() -> None:
    unit, values, place, edges = inputs()
    expected = attention(unit[place] @ unit[place].mT + edges, 0.3) @ values[place]
    found = average_over_neighbours(unit, values, place, edges, 0.3)
    torch.testing.assert_close(found, expected)
    weights = draw(*found.shape)
    theirs = torch.autograd.grad((expected * weights).sum(), [unit, values])
    ours = torch.autograd.grad((found * weights).sum(), [unit, values])
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
    assert ours[1][5].abs().max() > 0


def test_the_gradients_of_the_average_are_those_of_finite_differences() -> None:
    unit, values, place, edges = inputs()
    assert torch.autograd.gradcheck(lambda u, v: average_over_neighbours(u, v, place[:1], edges, 0.3), (unit, values))
