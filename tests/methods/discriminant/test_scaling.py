from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from fsgc.errors import SettingsError
from fsgc.methods.discriminant.scaling import SCALINGS, Scaling

X = np.random.default_rng(0).lognormal(size=(50, 4)) * [1, 10, 100, 0]
KNOWN = np.arange(30)


@pytest.mark.parametrize("kind", SCALINGS)
def test_known_rows_have_mean_0_and_total_variance_1(kind: str) -> None:
    rows = Scaling.fit(kind, X, KNOWN).apply(X)[KNOWN]
    assert rows.var(axis=0).sum() == pytest.approx(1)
    if kind in ("norm", "plain"):
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)


def test_standard_and_log_are_those_of_sklearn_up_to_one_factor() -> None:
    for kind, x in (("standard", X), ("log", np.log1p(X))):
        expected = np.clip(StandardScaler().fit(x[KNOWN]).transform(x), -5, 5)
        found = Scaling.fit(kind, X, KNOWN).apply(X)
        factor = np.sqrt(expected[KNOWN].var(axis=0).sum())
        np.testing.assert_allclose(found * factor, expected, atol=1e-9)


@pytest.mark.parametrize("kind", SCALINGS)
def test_other_rows_change_nothing(kind: str) -> None:
    noise = X.copy()
    noise[30:] *= 1e6
    np.testing.assert_array_equal(Scaling.fit(kind, noise, KNOWN).apply(X), Scaling.fit(kind, X, KNOWN).apply(X))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="scaling must be one of standard, log, norm, plain, got 'rank'"):
        Scaling.fit("rank", X, KNOWN)
