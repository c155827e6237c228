from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsgc.data.catalog import dataset
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import make_split
from fsgc.errors import DataFormatError, SettingsError, StoreError
from fsgc.methods.kernel.compute import compute_gram
from fsgc.methods.kernel.gram import GramStore
from fsgc.methods.kernel.prepare import make_gram
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


@pytest.mark.parametrize(
    "settings",
    [
        replace(BY_LABEL, graphlet_counts="grakel", graphlet_size=5),
        replace(BY_LABEL, graphlet_counts="exact", graphlet_size=3),
    ],
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_entry_does_not_depend_on_the_other_graphs(kernel: str, settings: KernelSettings) -> None:
    """Other neighbours in the store, another order, other classes beside them: the same values for the same pairs."""
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


def test_a_missing_store_or_one_of_another_kind_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no\.zarr does not exist; run 'dvc repro'"):
        GramStore.load(tmp_path / "no.zarr")
    dense_store(0, 9).save(tmp_path / "graphs.zarr")
    with pytest.raises(StoreError, match=r"graphs\.zarr"):
        GramStore.load(tmp_path / "graphs.zarr")


def test_the_maker_stores_the_matrix_of_the_novel_classes(tmp_path: Path) -> None:
    graphs = dense_store(0, 18)
    graphs.y[:] = np.arange(18) % 6 + 1
    split = make_split(dataset("enzymes"), graphs.y)
    said = make_gram(tmp_path / "x.zarr", graphs, split, BY_LABEL, kernel="sp")
    stored, expected = GramStore.load(tmp_path / "x.zarr"), compute_gram(graphs, split.novel, "sp", BY_LABEL)
    np.testing.assert_array_equal(stored.gram, expected.gram)
    assert stored.graphs.tolist() == [g for g in range(18) if graphs.y[g] in split.novel]
    assert said == f"the sp kernel between {len(stored.graphs)} graphs"
