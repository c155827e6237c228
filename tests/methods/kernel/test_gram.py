from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError, StoreError
from fsgc.methods.kernel.gram import GramStore, compute_gram, save_empty
from fsgc.methods.kernel.settings import KERNELS, KernelSettings
from tests.methods.kernel.oracle import dense_store, grakel_graphs, kernel_of

BY_LABEL = KernelSettings(node_labels="label")


@pytest.mark.parametrize("kernel", ["wl", "sp"])
def test_the_matrix_is_grakels_to_the_last_bit(kernel: str) -> None:
    store = dense_store(0, 30)
    gram = compute_gram(store, [0, 2], kernel, BY_LABEL)
    assert gram.graphs.tolist() == [g for g in range(30) if g % 3 != 1]
    chosen = store.select(gram.graphs)
    expected = kernel_of(kernel).fit_transform(grakel_graphs(chosen, chosen.node_label.astype(np.int64)))
    np.testing.assert_array_equal(gram.gram, expected)


@pytest.mark.parametrize(("counts", "size"), [("grakel", 5), ("exact", 3)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_entry_does_not_depend_on_the_other_graphs(kernel: str, counts: str, size: int) -> None:
    """Other neighbours in the store, another order, other classes beside them: the same values for the same pairs."""
    settings = replace(BY_LABEL, graphlet_counts=counts, graphlet_size=size)
    store = dense_store(1, 40)
    whole = compute_gram(store, [0, 1, 2], kernel, settings)
    rng = np.random.default_rng(0)
    for _ in range(5):
        some = rng.permutation(40)[:7]
        part = compute_gram(store.select(some), [0, 1, 2], kernel, settings)
        np.testing.assert_array_equal(part.gram, whole.gram[np.ix_(some, some)])


def test_the_diagonal_is_one_if_and_only_if_normalised() -> None:
    store = dense_store(2, 12)
    raw = compute_gram(store, [0, 1, 2], "wl", replace(BY_LABEL, wl_normalised=False)).gram
    np.testing.assert_allclose(np.diagonal(compute_gram(store, [0, 1, 2], "wl", BY_LABEL).gram), 1)
    assert np.diagonal(raw).min() > 1
    np.testing.assert_array_equal(raw, raw.round())


def _with_an_edgeless_graph() -> GraphStore:
    return GraphStore.from_edges(
        np.array([2, 2, 3]), np.array([0, 2]), np.array([1, 3]), np.array([9, 5, 5]), node_label=np.ones(7, int)
    )


def test_a_graph_the_kernel_sees_nothing_of_is_named_by_its_place_in_the_dataset() -> None:
    store = _with_an_edgeless_graph()
    with pytest.raises(DataFormatError, match="graph 2: the kernel 'sp' cannot be normalised: no two nodes are joined"):
        compute_gram(store, [5], "sp", BY_LABEL)
    normalised = KernelSettings(graphlet_normalised=True, graphlet_size=3)
    with pytest.raises(DataFormatError, match="graph 1: the kernel 'graphlet' cannot be normalised"):
        compute_gram(store, [5], "graphlet", normalised)
    assert np.isfinite(compute_gram(store, [5], "wl", BY_LABEL).gram).all(), "its nodes have labels"
    assert compute_gram(store, [5], "graphlet", KernelSettings()).gram.tolist() == [[0, 0], [0, 0]]


def test_kernels_classes_and_counts_that_do_not_exist_are_refused() -> None:
    store = dense_store(0, 6)
    with pytest.raises(SettingsError, match="unknown kernel 'rw'; there are: wl, sp, graphlet"):
        compute_gram(store, [0], "rw", KernelSettings())
    with pytest.raises(SettingsError, match="no graph is of the classes 7"):
        compute_gram(store, [7], "wl", KernelSettings())
    with pytest.raises(SettingsError, match="'exact' counts graphlets of 3 nodes, but graphlet_size is 4"):
        compute_gram(store, [0], "graphlet", KernelSettings(graphlet_counts="exact", graphlet_size=4))


def test_a_stored_matrix_comes_back(tmp_path: Path) -> None:
    store = dense_store(0, 9)
    gram = compute_gram(store, [1, 2], "sp", BY_LABEL)
    gram.save(tmp_path / "x.zarr")
    loaded = GramStore.load(tmp_path / "x.zarr")
    np.testing.assert_array_equal(loaded.gram, gram.gram)
    np.testing.assert_array_equal(loaded.graphs, gram.graphs)
    assert loaded.attributes["settings"]["node_labels"] == "label"
    loaded.check(store, "sp")
    with pytest.raises(StoreError, match="is of the kernel 'sp', not of 'wl'"):
        loaded.check(store, "wl")
    with pytest.raises(StoreError, match="of other graphs than those stored now"):
        loaded.check(dense_store(1, 9), "sp")


def test_rows_are_found_by_graph_and_graphs_of_other_classes_refused() -> None:
    gram = compute_gram(dense_store(0, 9), [1, 2], "wl", BY_LABEL)  # graphs 1 2 4 5 7 8
    assert gram.rows_of(np.array([[8, 1], [4, 5]])).tolist() == [[5, 0], [2, 3]]
    for outside in (0, 3, 9, 100):
        with pytest.raises(StoreError, match=f"graph {outside} is not of a novel class"):
            gram.rows_of(np.array([1, outside]))


def test_a_missing_or_empty_store_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no\.zarr does not exist; run 'dvc repro'"):
        GramStore.load(tmp_path / "no.zarr")
    save_empty(tmp_path / "pn.zarr", "pn")
    with pytest.raises(StoreError, match="is empty: it was made for 'pn', which is no kernel"):
        GramStore.load(tmp_path / "pn.zarr")
