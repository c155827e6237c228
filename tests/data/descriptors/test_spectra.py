from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fsgc.data.descriptors import spectra
from fsgc.data.descriptors.spectra import GRID, LEVELS, TIMES, largest_eigenvalues, spectrum_columns
from fsgc.data.laplacian import fold_leaves, laplacian_spectra
from tests.data.descriptors.oracle import awkward, matrices, networks, store_of


@pytest.mark.parametrize("dense", [256, 12])
@pytest.mark.parametrize("kind", ["adjacency", "laplacian"])
def test_the_largest_eigenvalues_are_those_of_numpy(kind: str, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to compute them: all graphs as batches, and the larger ones by Lanczos' method."""
    monkeypatch.setattr(spectra, "DENSE", dense)
    graphs = awkward()
    found = largest_eigenvalues(fold_leaves(graphs), graphs.num_nodes, kind, 3)  # type: ignore[arg-type]
    for matrix, own in zip(matrices(graphs), found, strict=True):
        if kind == "laplacian":
            matrix = np.diag(matrix.sum(axis=0)) - matrix
        expected = np.linalg.eigvalsh(matrix)[::-1][:3]
        np.testing.assert_allclose(own, np.pad(expected, (0, 3 - len(expected))), atol=1e-9)


def test_histogram_heat_trace_and_quantiles_are_those_of_numpy() -> None:
    graphs = awkward()
    found = spectrum_columns(laplacian_spectra(graphs))
    for network, own in zip(networks(graphs), found, strict=True):
        values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(network).toarray())
        hats = np.maximum(0, 1 - np.abs(values[:, None] - GRID) / (GRID[1] - GRID[0])).mean(axis=0)
        heat = [np.exp(-t * values).mean() for t in TIMES]
        np.testing.assert_allclose(own, [*hats, *heat, *np.quantile(values, LEVELS)], atol=1e-9)


def test_a_graph_of_4000_nodes() -> None:
    """Hubs with hundreds of leaves, and a tree between them; ARPACK on the whole matrix is the oracle."""
    from scipy.sparse.linalg import eigsh

    tree = nx.random_labeled_tree(1000, seed=3)
    rng = np.random.default_rng(0)
    tree.add_edges_from((int(rng.integers(0, 6)), 1000 + leaf) for leaf in range(3000))
    graphs = store_of([tree])
    matrix = nx.to_scipy_sparse_array(tree, dtype=float)
    found = largest_eigenvalues(fold_leaves(graphs), graphs.num_nodes, "adjacency", 9)
    expected = np.sort(eigsh(matrix, k=9, which="LA", ncv=80, return_eigenvectors=False))[::-1]
    np.testing.assert_allclose(found[0], expected, atol=1e-9)
