from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from fsgc.data.descriptors.store import LabelKinds, compute_descriptors
from fsgc.data.graph_store import GraphStore
from fsgc.methods.discriminant.counted_views import CYCLE_COLUMNS
from fsgc.methods.discriminant.graph_data import GraphData
from fsgc.methods.discriminant.views import VIEWS
from tests.data.descriptors.oracle import awkward, matrices, shuffled
from tests.graphs import random_store

KNOWN = np.arange(15)


def _data(graphs: GraphStore, words: bool = False, without_cycles: bool = False) -> GraphData:
    kinds = LabelKinds(words=True) if words else LabelKinds((0, 1, 2, 3, 4))
    return GraphData(graphs, compute_descriptors(graphs, kinds), without_cycles)


def _graphs(seed: int = 0) -> GraphStore:
    return random_store(seed, graphs=25, attributes=2, max_nodes=12)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_says_what_it_measures(name: str) -> None:
    assert VIEWS[name].about.endswith(".")
    assert VIEWS[name].scalings


@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_the_order_of_nodes_changes_nothing(seed: int) -> None:
    for words in (False, True):
        data, mixed = _data(_graphs(seed), words), _data(shuffled(_graphs(seed), seed)[0], words)
        for name, view in VIEWS.items():
            if view.applies(data):
                fitted = view.fit(data, KNOWN)
                # Node vectors are kept in single precision, and with them what is averaged over nodes.
                np.testing.assert_allclose(view.rows(mixed, fitted), view.rows(data, fitted), atol=1e-5, err_msg=name)


@pytest.mark.parametrize("words", [False, True])
def test_other_graphs_change_nothing(words: bool) -> None:
    """Neither what a view knows nor the rows of known graphs depend on graphs that are not known."""
    graphs = _graphs()
    other = np.repeat(np.arange(25) >= 15, graphs.num_nodes)
    noise = replace(
        graphs,
        node_label=np.where(other, 77, graphs.node_label).astype(np.int32),
        node_attr=np.where(other[:, None], 1e3, graphs.node_attr).astype(np.float32),
    )
    data, noisy = _data(graphs, words), _data(noise, words)
    for name, view in VIEWS.items():
        if view.applies(data):
            fitted, again = view.fit(data, KNOWN), view.fit(noisy, KNOWN)
            for key in fitted:
                np.testing.assert_array_equal(fitted[key], again[key], err_msg=f"{name} {key}")
            np.testing.assert_array_equal(view.rows(data, fitted)[KNOWN], view.rows(noisy, again)[KNOWN], err_msg=name)


@pytest.mark.parametrize("name", ["nodes", "neighbourhoods", "places", "edges"])
def test_random_features_are_means_of_cosines(name: str) -> None:
    """A node, or edge, at a time."""
    graphs = _graphs()
    data = _data(graphs)
    view = VIEWS[name]
    fitted = view.fit(data, KNOWN)
    found = view.rows(data, fitted)
    vectors = np.split(data.vectors, graphs.node_ptr[1:-1])
    attributes = np.split(graphs.node_attr, graphs.node_ptr[1:-1])
    for graph, matrix in enumerate(matrices(graphs)):
        local = []
        for node in range(len(matrix)):
            around = np.flatnonzero(matrix[node])
            mean = vectors[graph][around].mean(axis=0) if len(around) else np.zeros(data.vectors.shape[1])
            if name == "nodes":
                local.append(vectors[graph][node])
            elif name == "neighbourhoods":
                local.append(np.concatenate([vectors[graph][node], mean]))
            elif name == "places":
                local.append(attributes[graph][node])
            else:
                for other in around:
                    one, two = attributes[graph][other], attributes[graph][node]
                    local.append(np.concatenate([(one + two) / 2, two - one]))
        waves = [
            np.cos((vector - fitted["mean"]) * fitted["scale"] @ fitted["weights"] + fitted["phases"])
            for vector in local
        ]
        expected = np.mean(waves, axis=0) if waves else np.zeros(found.shape[1])
        np.testing.assert_allclose(found[graph], expected, atol=1e-4)


def test_words_are_tf_idf_in_leading_directions() -> None:
    """With as many directions as there are words, inner products are those of sklearn's TF-IDF."""
    graphs = _graphs()
    data = _data(graphs, words=True)
    view = VIEWS["words"]
    fitted = view.fit(data, np.arange(25))
    counts = np.stack([np.bincount(own, minlength=5) for own in np.split(graphs.node_label, graphs.node_ptr[1:-1])])
    expected = TfidfTransformer().fit_transform(counts).toarray()
    found = view.rows(data, fitted)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_labels_and_their_pairs_are_shares() -> None:
    data = _data(_graphs())
    view = VIEWS["labels"]
    rows = view.rows(data, view.fit(data, np.arange(25)))
    np.testing.assert_allclose(rows[:, :5].sum(axis=1), 1)
    np.testing.assert_allclose(rows[:, 5:].sum(axis=1), data.graphs.num_edges > 0)


def test_moments_are_those_of_numpy() -> None:
    graphs = _graphs()
    data = _data(graphs)
    view = VIEWS["moments"]
    fitted = view.fit(data, np.arange(25))
    found = view.rows(data, fitted)
    whole = (graphs.node_attr - graphs.node_attr.mean(axis=0)) / graphs.node_attr.std(axis=0)
    for own, x, matrix in zip(found, np.split(whole, graphs.node_ptr[1:-1]), matrices(graphs), strict=True):
        covariance = np.cov(x.T, bias=True)
        np.testing.assert_allclose(own[:2], x.mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(own[2:5], covariance[np.triu_indices(2)], atol=1e-5)
        one, other = np.nonzero(matrix)
        lengths = np.linalg.norm(x[one] - x[other], axis=1)
        assert own[-1] == pytest.approx(lengths.mean() if len(one) else 0, abs=1e-5)


def test_without_cycles_no_column_counts_them() -> None:
    """Adding a triangle to a graph without changing any degree, distance or spectrum is impossible; names must do."""
    data = _data(awkward(), without_cycles=True)
    kept = VIEWS["statistics"].rows(data, {}).shape[1]
    names = data.descriptors.columns["statistics"]
    assert kept == sum(not any(part in name for part in CYCLE_COLUMNS) for name in names) < len(names)
    for left_out in ("triangles", "4-cycles", "transitivity", "clustering", "mean return probability 3", "paws"):
        assert any(part in left_out for part in CYCLE_COLUMNS)
    assert data.vectors.shape[1] == 1 + 0 + 5  # degree, no attributes, labels
