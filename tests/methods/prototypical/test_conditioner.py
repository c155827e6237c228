from __future__ import annotations

import torch

from fsgc.methods.prototypical.conditioner import EpisodeConditioner, ResidualMLP


def test_scales_and_shifts_are_those_of_the_formula() -> None:
    torch.manual_seed(0)
    conditioner = EpisodeConditioner(width=6, layers=3, gamma0=0.5, beta0=2.0)
    episodes = torch.randn(4, 6)
    gamma, beta = conditioner(episodes)
    assert gamma.shape == beta.shape == (4, 3, 6)
    torch.testing.assert_close(gamma, 0.5 * conditioner.scale(episodes).view(4, 3, 6) + 1)
    torch.testing.assert_close(beta, 2.0 * conditioner.shift(episodes).view(4, 3, 6))


def test_zero_scalars_condition_nothing() -> None:
    gamma, beta = EpisodeConditioner(6, 3, 0.0, 0.0)(torch.randn(4, 6))
    assert (gamma == 1).all()
    assert (beta == 0).all()


def test_the_penalty_is_the_sum_of_two_norms_and_has_a_gradient_at_zero() -> None:
    conditioner = EpisodeConditioner(6, 4, 0.0, 3.0)
    penalty = conditioner.penalty()
    assert penalty.item() == 6.0  # ‖0‖ + ‖(3, 3, 3, 3)‖
    penalty.backward()  # type: ignore[no-untyped-call]
    assert conditioner.gamma0.grad is not None
    assert torch.isfinite(conditioner.gamma0.grad).all()


def test_the_residual_mlp_is_that_of_the_formula() -> None:
    mlp = ResidualMLP(4, 3)
    x = torch.randn(5, 4)
    first, _, second, _, third = mlp.block
    inner = third(torch.relu(second(torch.relu(first(x)))))
    torch.testing.assert_close(mlp(x), torch.relu(x @ mlp.shortcut.weight.T + mlp.shortcut.bias + inner))
    assert first.out_features == second.out_features == 2
