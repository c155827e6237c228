from __future__ import annotations

import torch

from fsgc.methods.prototypical.conditioner import ResidualMLP, TaskConditioner


def test_shapes_and_formula() -> None:
    torch.manual_seed(0)
    conditioner = TaskConditioner(width=6, layers=3, gamma0=0.5, beta0=2.0)
    task = torch.randn(4, 6)
    gamma, beta = conditioner(task)
    assert gamma.shape == beta.shape == (4, 3, 6)
    torch.testing.assert_close(gamma, 0.5 * conditioner.scale(task).view(4, 3, 6) + 1)
    torch.testing.assert_close(beta, 2.0 * conditioner.shift(task).view(4, 3, 6))


def test_zero_scalars_condition_nothing() -> None:
    gamma, beta = TaskConditioner(6, 3, 0.0, 0.0)(torch.randn(4, 6))
    assert (gamma == 1).all()
    assert (beta == 0).all()


def test_the_penalty_is_the_sum_of_two_norms_and_has_a_gradient_at_zero() -> None:
    conditioner = TaskConditioner(6, 4, 0.0, 3.0)
    penalty = conditioner.penalty()
    assert penalty.item() == 6.0  # ‖0‖ + ‖(3, 3, 3, 3)‖
    penalty.backward()  # type: ignore[no-untyped-call]
    assert conditioner.gamma0.grad is not None
    assert torch.isfinite(conditioner.gamma0.grad).all()


def test_the_residual_mlp_by_hand() -> None:
    mlp = ResidualMLP(4, 3)
    x = torch.randn(5, 4)
    first, _, second, _, third = mlp.block
    inner = third(torch.relu(second(torch.relu(first(x)))))
    torch.testing.assert_close(mlp(x), torch.relu(x @ mlp.shortcut.weight.T + mlp.shortcut.bias + inner))
    assert first.out_features == second.out_features == 2
