from __future__ import annotations

import pytest
import torch

from fsgc.nn.dropout import Dropout, keep_mask

X = torch.ones(1001, 333)


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.25, 0.5, 0.7, 0.9])
def test_a_share_of_the_rate_is_dropped_and_the_mean_is_kept(rate: float) -> None:
    torch.manual_seed(0)
    y = Dropout(rate)(X)
    kept = y != 0
    # Five standard deviations of a binomial share.
    margin = 5 * (rate * (1 - rate) / X.numel()) ** 0.5
    assert abs(float((~kept).double().mean()) - rate) < margin + 1 / 65536
    assert abs(float(y.double().mean()) - 1) < margin / (1 - rate)
    assert len(y[kept].unique()) == 1
    torch.testing.assert_close(y[kept][0], torch.tensor(1 / (1 - rate)), rtol=1e-4, atol=0)


@pytest.mark.parametrize("rate", [0.5, 0.7])
def test_elements_are_independent(rate: float) -> None:
    torch.manual_seed(0)
    dropped = (keep_mask(X, rate) == 0).double().flatten() - rate
    for lag in (1, 2, 3, 4, 7, 8, 333):  # within a 64-bit word, from word to word, from row to row
        correlation = float((dropped[lag:] * dropped[:-lag]).mean()) / (rate * (1 - rate))
        assert abs(correlation) < 5 / X.numel() ** 0.5


def test_the_seed_of_torch_decides_the_mask() -> None:
    layer = Dropout(0.3)
    torch.manual_seed(3)
    first, second = layer(X), layer(X)
    torch.manual_seed(3)
    assert torch.equal(layer(X), first)
    assert not torch.equal(first, second)


def test_gradient_is_the_mask() -> None:
    x = X.clone().requires_grad_()
    y = Dropout(0.5)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero() -> None:
    assert Dropout(0.5).eval()(X) is X
    assert Dropout(0.0)(X) is X


def test_keeps_type_and_takes_any_shape() -> None:
    assert Dropout(0.5)(torch.ones(3, dtype=torch.float64)).dtype == torch.float64
    assert Dropout(0.7)(torch.ones(2, 0, 5)).shape == (2, 0, 5)
    assert Dropout(0.7)(torch.ones(3, 1, 5)).shape == (3, 1, 5)
