"""Eigenvalues: the shape of a normalised Laplacian's spectrum, and the largest of adjacency matrix and Laplacian."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.segments import histogram, means, owners, quantiles
from fsgc.data.laplacian import Folded, Spectra, batched_eigenvalues
from fsgc.random import generator

GRID = np.linspace(0, 2, 21)
TIMES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
DENSE = 256
"""Graphs with more nodes left after folding are solved one by one for their largest eigenvalues only."""


def spectrum_columns(spectra: Spectra) -> Floats:
    """Histogram, heat trace and quantiles of normalised-Laplacian spectra, `[G, 21 + 9 + 7]`.

    An eigenvalue between two of the histogram's 21 points counts for both, the more for the nearer one, so that no
    rounding moves it from bin to bin. The heat trace is the mean of `exp(−t λ)`.
    """
    values, pointer = spectra.values, spectra.pointer
    graph, width = owners(pointer), GRID[1] - GRID[0]
    low = np.minimum((values / width).astype(np.int64), len(GRID) - 2)
    share = values / width - low
    graphs = len(spectra)
    shape = histogram(graph, low, graphs, len(GRID), 1 - share) + histogram(graph, low + 1, graphs, len(GRID), share)
    heat = np.stack([means(np.exp(-t * values), pointer) for t in TIMES], axis=1)
    return np.concatenate([shape / spectra.sizes[:, None], heat, quantiles(values, pointer, LEVELS)], axis=1)


def largest_eigenvalues(folded: Folded, nodes: Ints, kind: Literal["adjacency", "laplacian"], count: int) -> Floats:
    """The `count` largest eigenvalues of A, or of D − A, descending, `[G, count]`; 0 where there are fewer nodes.

    Args:
        folded: the graphs with leaves folded.
        nodes: int64 `[G]`, how many nodes each graph has in truth.
        kind: of which matrix.
        count: how many.
    """
    sign, diagonal = 1.0, np.zeros(len(folded.degree))
    if kind == "laplacian":
        sign, diagonal = -1.0, folded.degree.astype(np.float64)
    small = np.flatnonzero(folded.sizes <= DENSE)
    found = np.full((len(folded.sizes), count), -np.inf)
    values, pointer = batched_eigenvalues(folded, small, sign * folded.adjacency, diagonal)
    place = np.diff(pointer)[:, None] - 1 - np.arange(count)
    inside = place >= 0
    found[small] = np.where(inside, values[pointer[:-1, None] + np.maximum(place, 0)], -np.inf)
    large = np.flatnonzero(folded.sizes > DENSE)
    if len(large):
        found[large] = _largest_of_each(folded, large, sign, diagonal, count)
    # m leaves on one node give m − 1 eigenvalues that folding left out, 0 of A and 1 of D − A.
    missing = np.arange(count) < (nodes - folded.sizes)[:, None]
    filled = np.where(missing, 0.0 if kind == "adjacency" else 1.0, -np.inf)
    merged = -np.sort(-np.concatenate([found, filled], axis=1), axis=1)[:, :count]
    return np.where(np.isfinite(merged), merged, 0.0)


def _largest_of_each(folded: Folded, graphs: Ints, sign: float, diagonal: Floats, count: int) -> Floats:
    """By Lanczos' method, a graph at a time: a dense solver would compute all the others as well."""
    start = np.concatenate([[0], np.cumsum(folded.sizes)])
    edges = np.searchsorted(folded.edge_graph, np.arange(len(folded.sizes) + 1))
    found = np.empty((len(graphs), count))
    for row, graph in enumerate(graphs):
        size, span = int(folded.sizes[graph]), slice(edges[graph], edges[graph + 1])
        matrix = csr_array(
            (sign * folded.adjacency[span], (folded.target[span], folded.source[span])), shape=(size, size)
        )
        matrix.setdiag(diagonal[start[graph] : start[graph + 1]])
        first = generator("lanczos", size).normal(size=size)
        solved = eigsh(matrix, k=count, which="LA", v0=first, ncv=4 * count, return_eigenvectors=False)
        found[row] = np.sort(solved)[::-1]
    return found
