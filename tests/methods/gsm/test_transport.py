from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from fsgc.data.laplacian import Spectra
from fsgc.errors import SettingsError
from fsgc.methods.gsm import transport
from fsgc.methods.gsm.transport import transport_costs


def random_spectra(seed: int, sizes: list[int]) -> Spectra:
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.uniform(0, 2, size)) for size in sizes]
    return Spectra(np.concatenate(rows), np.concatenate([[0], np.cumsum(sizes)]))


def rows_of(spectra: Spectra) -> list[np.ndarray]:
    return np.split(spectra.values, spectra.pointer[1:-1])


def by_linear_program(a: np.ndarray, b: np.ndarray, order: int) -> float:
    """The transport problem itself: plans of non-negative entries with the given row and column sums."""
    cost = np.abs(a[:, None] - b[None]) ** order
    rows = np.kron(np.eye(len(a)), np.ones(len(b)))
    columns = np.kron(np.ones(len(a)), np.eye(len(b)))
    sums = np.concatenate([np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b))])
    return float(linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=sums).fun)


@pytest.mark.parametrize("order", [1, 2])
def test_costs_are_those_of_the_linear_program(order: int) -> None:
    spectra = random_spectra(0, [1, 2, 3, 5, 5, 6, 7])
    rows = rows_of(spectra)
    expected = [[by_linear_program(a, b, order) for b in rows] for a in rows]
    np.testing.assert_allclose(transport_costs(spectra, order), expected, atol=1e-12)


def test_the_first_order_is_scipys_wasserstein_distance() -> None:
    spectra = random_spectra(1, [1, 4, 9, 10, 30, 77, 77])
    rows = rows_of(spectra)
    expected = [[wasserstein_distance(a, b) for b in rows] for a in rows]
    np.testing.assert_allclose(transport_costs(spectra, 1), expected, atol=1e-13)


def test_equal_sizes_pair_in_order() -> None:
    spectra = random_spectra(2, [40, 40, 40])
    rows = np.stack(rows_of(spectra))
    np.testing.assert_allclose(transport_costs(spectra), ((rows[:, None] - rows[None]) ** 2).mean(-1), atol=1e-14)


def test_a_spectrum_repeated_has_no_distance_to_itself() -> None:
    """Distributions matter, not sizes: every value twice is the same distribution."""
    values = np.sort(np.random.default_rng(3).uniform(0, 2, 11))
    spectra = Spectra(np.concatenate([values, np.repeat(values, 2)]), np.array([0, 11, 33]))
    for order in (1, 2):
        assert transport_costs(spectra, order).max() < 1e-15


@pytest.mark.parametrize("order", [1, 2])
def test_costs_do_not_depend_on_how_many_quantiles_are_held_at_a_time(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectra = random_spectra(4, [5, 8, 13, 21])
    whole = transport_costs(spectra, order)
    monkeypatch.setattr(transport, "_ENTRIES", 20)
    np.testing.assert_allclose(transport_costs(spectra, order), whole, atol=1e-15)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(SettingsError, match="order: 3 is unknown; allowed are 1 and 2"):
        transport_costs(random_spectra(0, [2, 3]), 3)
