from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from fsgc.arrays import Floats
from fsgc.methods.kernel.dual import solve_dual


def _problems(seed: int, scale: float, count: int = 40, shots: int = 6) -> tuple[Floats, Floats, Floats]:
    """Features of overlapping classes, their kernels and labels."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], shots) * np.ones((count, 1))
    features = scale * (rng.normal(size=(count, 2 * shots, 3)) + 0.7 * y[..., None])
    return features, features @ features.swapaxes(1, 2), y


@pytest.mark.parametrize("scale", [1e-2, 1.0, 10.0])
def test_the_decision_values_are_those_of_a_well_converged_svc(scale: float) -> None:
    """Of the bias, too, which is not unique where all multipliers are at a bound, as with the smallest scale."""
    _, gram, y = _problems(0, scale)
    weights, bias = solve_dual(gram, y, 1.0)
    for one, labels, w, b in zip(gram, y, weights, bias, strict=True):
        machine = SVC(kernel="precomputed", tol=1e-9).fit(one, labels)
        np.testing.assert_allclose(one @ w + b, machine.decision_function(one), atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("c", [0.1, 10.0])
def test_primal_and_dual_value_meet(scale: float, c: float) -> None:
    """Equal values prove the optimum, whatever found it. Margins count to 1e-5; LIBSVM's tolerance is 1e-3 of one."""
    _, gram, y = _problems(1, scale)
    weights, bias = solve_dual(gram, y, c)
    alpha = weights * y
    assert (alpha > 0).all()
    assert (alpha <= c).all()
    assert np.abs(weights.sum(axis=1)).max() < 1e-6 * c
    outputs = (gram @ weights[..., None])[..., 0]
    half = (weights * outputs).sum(axis=1) / 2
    primal = half + c * np.maximum(0, 1 - y * (outputs + bias[:, None])).sum(axis=1)
    np.testing.assert_allclose(primal, alpha.sum(axis=1) - half, rtol=1e-5, atol=1e-5 * c * y.shape[1])


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_equal_graphs_of_both_classes_are_no_fault(scale: float) -> None:
    """They cannot be told apart; the rest can, and the values of primal and dual meet."""
    features, _, y = _problems(3, scale)
    features[:, 1] = features[:, 7] = features[:, 8] = features[:, 0]
    gram = features @ features.swapaxes(1, 2)
    weights, bias = solve_dual(gram, y, 1.0)
    outputs = (gram @ weights[..., None])[..., 0]
    half = (weights * outputs).sum(axis=1) / 2
    primal = half + np.maximum(0, 1 - y * (outputs + bias[:, None])).sum(axis=1)
    np.testing.assert_allclose(primal, (weights * y).sum(axis=1) - half, rtol=1e-5, atol=1e-4)


def test_graphs_that_are_all_alike_to_the_kernel_are_no_fault() -> None:
    weights, bias = solve_dual(np.zeros((2, 4, 4)), np.array([[1.0, 1, -1, -1]] * 2), 1.0)
    assert np.isfinite(weights).all()
    assert np.isfinite(bias).all()
