from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fsgc.methods.discriminant.metric import MetricSettings, WithinClasses


def _data(seed: int = 0, per_class: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), per_class)
    mixing = rng.normal(size=(6, 6))
    return rng.normal(size=(len(y), 6)) @ mixing + rng.normal(size=(4, 6))[y] * 2, y


def test_no_metric_is_the_identity() -> None:
    x, y = _data()
    np.testing.assert_array_equal(WithinClasses.of(x, y).transform(MetricSettings()), np.eye(6))


def test_gamma_1_whitens_classes() -> None:
    x, y = _data()
    moved = x @ WithinClasses.of(x, y).transform(MetricSettings(1.0, 1e-12))
    within = sum(np.cov(moved[y == c].T, bias=True) for c in range(4)) / 4
    np.testing.assert_allclose(within, np.eye(6), atol=1e-8)


def test_distances_are_those_of_linear_discriminant_analysis() -> None:
    """With γ = 1 and no ε the nearest mean is what sklearn's classifier with equal priors predicts."""
    x, y = _data()
    other, _ = _data(1)
    transform = WithinClasses.of(x, y).transform(MetricSettings(1.0, 1e-12))
    means = np.stack([x[y == c].mean(axis=0) for c in range(4)]) @ transform
    nearest = ((other @ transform)[:, None] - means) ** 2
    machine = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.25] * 4).fit(x, y)
    np.testing.assert_array_equal(nearest.sum(axis=2).argmin(axis=1), machine.predict(other))


def test_every_class_counts_the_same() -> None:
    x, y = _data()
    more = np.concatenate([x, np.repeat(x[y == 0], 5, axis=0)])
    again = WithinClasses.of(more, np.concatenate([y, np.zeros(5 * 30, int)]))
    np.testing.assert_allclose(again.variances, WithinClasses.of(x, y).variances)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_rho_weighs_what_tells_classes_apart(gamma: float) -> None:
    """By the definition, with the projections written out."""
    x, y = _data()
    within = WithinClasses.of(x, y)
    plain = within.transform(MetricSettings(gamma, 0.1))
    found = within.transform(MetricSettings(gamma, 0.1, 0.05))
    means = np.stack([x[y == c].mean(axis=0) for c in range(4)]) @ plain
    psi, axes = np.linalg.eigh(np.cov(means.T, bias=True))
    psi = np.maximum(psi, 0) / psi.max()
    expected = (x @ plain) @ (axes * np.sqrt(psi + 0.05)) @ axes.T
    np.testing.assert_allclose(x @ found, expected, atol=1e-9)


def test_a_single_class_has_no_means_to_tell_apart() -> None:
    x, y = _data()
    within = WithinClasses.of(x, np.zeros_like(y))
    np.testing.assert_array_equal(
        within.transform(MetricSettings(0.5, 0.1, 0.1)), within.transform(MetricSettings(0.5, 0.1))
    )


def test_vectors_that_do_not_vary_stay_finite() -> None:
    within = WithinClasses.of(np.ones((6, 3)), np.arange(6) % 2)
    for settings in (MetricSettings(1.0, 0.1), MetricSettings(1.0, 1.0, 0.01)):
        assert np.isfinite(within.transform(settings)).all()
