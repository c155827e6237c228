"""Histograms of graphs as one sparse matrix; a kernel is the inner product of two of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fsgc.arrays import Ints


def histogram_matrix(graph: Ints, feature: Ints, count: npt.NDArray[Any], num_graphs: int) -> csr_array:
    """The counts of features in graphs, sparse float64 `[G, F]`.

    Args:
        graph: int64 `[n]`, the row of each entry.
        feature: int64 `[n]`, any exact code of its feature; equal codes share a column.
        count: `[n]`, how often; entries of the same graph and feature add up.
        num_graphs: G.
    """
    codes, column = np.unique(feature, return_inverse=True)
    return csr_array((count.astype(np.float64), (graph, column)), shape=(num_graphs, len(codes)))
