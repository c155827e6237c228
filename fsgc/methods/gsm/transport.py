"""Optimal transport between spectra.

In one dimension the best plan pairs quantiles: the cost of moving one set of equally heavy points onto another is
`∫₀¹ |F⁻¹(t) - G⁻¹(t)|^p dt`. Quantile functions of `n` points are constant between multiples of `1/n`, so over the
cells between all multiples of all sizes at hand the integral of every pair is a finite sum: exact, for any sizes.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from fsgc.arrays import Floats, Ints
from fsgc.data.laplacian import Spectra
from fsgc.errors import SettingsError

ORDERS = (1, 2)
_ENTRIES = 2**22
"""Quantiles held at a time: 32 MB."""


def transport_costs(spectra: Spectra, order: int = 2) -> Floats:
    """The cost of transport between all pairs of spectra, `[G, G]`.

    Args:
        spectra: of `G` graphs.
        order: 2: squared-Euclidean cost, as GSM takes it; the result is the square of the 2-Wasserstein distance.
            1: the distance itself as cost; the result is the 1-Wasserstein distance.
    """
    if order not in ORDERS:
        raise SettingsError(f"order: {order!r} is unknown; allowed are 1 and 2")
    middles, widths = _cells(spectra.sizes)
    count = len(spectra)
    costs = np.zeros((count, count))
    pieces = -(-count * len(middles) // _ENTRIES)
    for cells in np.array_split(np.arange(len(middles)), pieces):
        place = np.floor(middles[cells] * spectra.sizes[:, None]).astype(np.int64)
        # Eigenvalues lie around 1; taking it off keeps the products below small and their rounding with them.
        quantiles = spectra.values[spectra.pointer[:-1, None] + place] - 1
        costs += _squared(quantiles, widths[cells]) if order == 2 else _absolute(quantiles, widths[cells])
    np.fill_diagonal(costs, 0)
    return np.maximum(costs, 0)


def _cells(sizes: Ints) -> tuple[Floats, Floats]:
    """Middles and widths of the cells between all `i/n` for the sizes `n`.

    Division rounds correctly, so equal fractions are equal numbers and `np.unique` joins them.
    """
    distinct = np.unique(sizes)
    numerator = np.arange(1, int(distinct.sum()) + 1) - np.repeat(np.cumsum(distinct) - distinct, distinct)
    edges = np.concatenate([[0.0], np.unique(numerator / np.repeat(distinct, distinct))])
    return (edges[1:] + edges[:-1]) / 2, np.diff(edges)


def _squared(quantiles: Floats, widths: Floats) -> Floats:
    """`Σ w (x - y)²` of all pairs of rows, as a matrix product."""
    weighted = quantiles * widths
    norms = np.einsum("gt,gt->g", weighted, quantiles)
    return norms[:, None] + norms[None, :] - 2 * (weighted @ quantiles.T)


def _absolute(quantiles: Floats, widths: Floats) -> Floats:
    """`Σ w |x - y|` of all pairs of rows."""
    return cdist(quantiles, quantiles, "cityblock", w=widths)
