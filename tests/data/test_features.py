from __future__ import annotations

import itertools
import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fsgc.data.catalog import dataset
from fsgc.data.encodings import NearestOneHot, WordVectors
from fsgc.data.features import FEATURES, FeatureEncoder, check_features, node_features
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, SettingsError
from tests.graphs import random_store

STORE = random_store(11, graphs=30, classes=5, attributes=3, max_nodes=6)
BASE = np.repeat(STORE.y < 3, STORE.num_nodes)


def test_standardised_attributes_agree_with_sklearn() -> None:
    scaler = StandardScaler().fit(STORE.node_attr[BASE].astype(np.float64))
    expected = scaler.transform(STORE.node_attr.astype(np.float64))
    np.testing.assert_allclose(node_features(STORE, ["attributes"], [0, 1, 2]).rows(), expected, atol=1e-5)


def test_one_hot_agrees_with_sklearn_and_has_a_slot_for_the_unseen() -> None:
    values = STORE.node_label[:, None]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(values[BASE])
    ours = node_features(STORE, ["label_onehot"], [0, 1, 2]).rows()
    np.testing.assert_array_equal(ours[:, :-1], encoder.transform(values))
    np.testing.assert_array_equal(ours.sum(axis=1), 1)


def test_an_unseen_degree_takes_the_nearest_seen_one() -> None:
    encoding = NearestOneHot.fit(np.array([1, 2, 7, 2]))
    columns = encoding.encode(np.array([0, 1, 2, 3, 4, 5, 6, 7, 100])).rows().argmax(axis=1)
    # 1, 2 and 7 were seen; every value goes to the nearest of them, 4.5 being the middle between 2 and 7.
    np.testing.assert_array_equal(columns, [0, 0, 1, 1, 1, 2, 2, 2, 2])
    seen = np.flatnonzero(np.isin(STORE.degree, STORE.degree[BASE]))
    ours = node_features(STORE, ["degree_onehot"], [0, 1, 2]).rows()
    encoder = OneHotEncoder(sparse_output=False).fit(STORE.degree[BASE][:, None])
    np.testing.assert_array_equal(ours[seen, :-1], encoder.transform(STORE.degree[seen][:, None]))


def _documents(graphs: GraphStore) -> list[str]:
    ends = np.cumsum(graphs.num_nodes)
    return [" ".join(f"w{word}" for word in words) for words in np.split(graphs.node_label, ends[:-1])]


def test_idf_agrees_with_sklearn() -> None:
    """sklearn's smoothed idf is ours plus one; standardising takes the one away."""
    base = STORE.select(np.flatnonzero(STORE.y < 3))
    vectoriser = TfidfVectorizer(norm=None, token_pattern=r"\S+").fit(_documents(base))
    idf = {word: vectoriser.idf_[column] for word, column in vectoriser.vocabulary_.items()}
    of_nodes = np.array([idf[f"w{word}"] for word in base.node_label])
    expected = (of_nodes - of_nodes.mean()) / of_nodes.std()
    ours = node_features(STORE, ["idf"], [0, 1, 2]).rows()
    np.testing.assert_allclose(ours[BASE, 0], expected, atol=1e-5)


def test_word_vectors_are_the_leading_singular_vectors_of_base_documents() -> None:
    base = STORE.select(np.flatnonzero(STORE.y < 3))
    # One node a distinct word, as in graphs of documents.
    kept = [
        np.unique(words, return_index=True)[1] for words in np.split(base.node_label, np.cumsum(base.num_nodes)[:-1])
    ]
    values = np.concatenate(
        [
            np.stack([base.node_label[first + rows], np.full(len(rows), graph)], axis=1)
            for graph, (first, rows) in enumerate(zip(base.node_ptr[:-1], kept, strict=True))
        ]
    )
    encoding = WordVectors.fit(values)
    words, graph = np.unique(values[:, 0]), values[:, 1]
    matrix = np.zeros((graph.max() + 1, len(words)))
    counts = np.array([(values[:, 0] == word).sum() for word in words])
    idf = np.log((1 + len(matrix)) / (1 + counts))
    matrix[graph, np.searchsorted(words, values[:, 0])] = idf[np.searchsorted(words, values[:, 0])]
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    right = np.linalg.svd(matrix)[2][: encoding.vectors.shape[1]].T * np.sqrt(len(words))
    np.testing.assert_allclose(encoding.vectors[:-1] @ encoding.vectors[:-1].T, right @ right.T, atol=1e-3)
    assert (encoding.encode(np.array([[10**6, 0]])).rows() == 0).all(), "a word no base graph has"


def test_raw_attributes_are_left_alone() -> None:
    np.testing.assert_array_equal(node_features(STORE, ["attributes_raw"], [0]).rows(), STORE.node_attr)


def test_a_value_only_novel_classes_have_does_not_widen_the_features() -> None:
    label = STORE.node_label.copy()
    label[~BASE] = 99
    changed = type(STORE)(STORE.node_ptr, STORE.edge_ptr, STORE.edge_index, label, STORE.node_attr, STORE.y)
    before, after = (node_features(s, ["label_onehot"], [0, 1, 2]).rows() for s in (STORE, changed))
    assert before.shape == after.shape
    np.testing.assert_array_equal(before[BASE], after[BASE])
    assert (after[~BASE, -1] == 1).all()


@pytest.mark.parametrize("name", FEATURES)
def test_features_of_base_graphs_do_not_depend_on_novel_graphs(name: str) -> None:
    """The novel graphs taken away: not a bit of the base rows changes."""
    alone = node_features(STORE.select(np.flatnonzero(STORE.y < 3)), [name], [0, 1, 2]).rows()
    np.testing.assert_array_equal(node_features(STORE, [name], [0, 1, 2]).rows()[BASE], alone)


def test_a_constant_column_is_zero_not_nan() -> None:
    constant = type(STORE)(
        STORE.node_ptr, STORE.edge_ptr, STORE.edge_index, STORE.node_label * 0 + 7, STORE.node_attr, STORE.y
    )
    assert (node_features(constant, ["label"], [0]).table == 0).all()


def test_blocks_come_in_the_order_named() -> None:
    both = node_features(STORE, ["degree", "attributes"], [0, 1, 2]).rows()
    np.testing.assert_array_equal(both[:, 0], STORE.degree)
    assert both.shape == (len(STORE.node_label), 4)
    assert both.dtype == np.float32


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingsError, match="'colour' is unknown; choose from degree"):
        node_features(STORE, ["colour"], [0])
    with pytest.raises(SettingsError, match="empty"):
        node_features(STORE, [], [0])
    with pytest.raises(SettingsError, match="base class"):
        node_features(STORE, ["degree"], [77])
    with pytest.raises(SettingsError, match=r"^features: these graphs have no attributes; choose others$"):
        node_features(random_store(0), ["degree", "attributes"], [0])


def test_combined_one_hot_features_keep_a_small_table() -> None:
    names = ["degree_onehot", "label_onehot"]
    both = node_features(STORE, names, [0, 1, 2])
    apart = [node_features(STORE, [name], [0, 1, 2]).rows() for name in names]
    np.testing.assert_array_equal(both.rows(), np.concatenate(apart, axis=1))
    assert len(both.table) < len(STORE.node_label) / 2
    nodes = np.array([5, 3, 3])
    np.testing.assert_array_equal(both.rows(nodes), both.rows()[nodes])


@pytest.mark.parametrize("names", [[name] for name in FEATURES] + [["attributes", "label_onehot", "degree_onehot"]])
def test_an_encoder_read_back_gives_other_graphs_the_same_features(names: list[str]) -> None:
    fitted = FeatureEncoder.fit(STORE, names, [0, 1, 2])
    state = json.loads(json.dumps(fitted.state()))
    some = np.array([5, 3, 0])
    expected = fitted.encode(STORE).rows(STORE.rows_of(some))
    np.testing.assert_array_equal(FeatureEncoder.from_state(state).encode(STORE.select(some)).rows(), expected)


def test_other_attributes_than_expected_are_refused() -> None:
    fitted = FeatureEncoder.fit(STORE, ["attributes"], [0, 1, 2])
    narrow = replace(STORE, node_attr=STORE.node_attr[:, :1])
    with pytest.raises(DataFormatError, match=f"the nodes have 1 attributes, expected {STORE.node_attr.shape[1]}"):
        fitted.encode(narrow)


def test_structure_is_what_networkx_and_a_walk_count() -> None:
    ours = FEATURES["structure"].values(STORE)
    for graph in range(len(STORE)):
        first, last = STORE.node_ptr[graph : graph + 2]
        edges = STORE.edge_index[:, STORE.edge_ptr[graph] : STORE.edge_ptr[graph + 1]]
        network = nx.Graph()
        network.add_nodes_from(range(last - first))
        network.add_edges_from(edges.T.tolist())
        matrix = nx.to_numpy_array(network, nodelist=range(last - first))
        degree = matrix.sum(axis=1)
        step = matrix / np.maximum(degree, 1)[:, None]
        returns = [np.diag(np.linalg.matrix_power(step, k)) for k in range(2, 7)]
        squares = [
            sum(len((set(network[a]) & set(network[b])) - {v}) for a, b in itertools.combinations(network[v], 2))
            for v in network
        ]
        triangles = [nx.triangles(network, v) for v in network]
        expected = np.log1p(np.stack([degree, triangles, squares, *returns], axis=1))
        np.testing.assert_allclose(ours[first:last], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("triangles", ("structure",)),
        ("enzymes", ("structure", "label_onehot")),
        ("coil_del", ("structure", "attributes")),
        ("graph_r52", ("structure", "idf")),
    ],
)
def test_structural_inputs_keep_what_nodes_have_themselves(key: str, names: tuple[str, ...]) -> None:
    assert check_features(dataset(key), "structural") == names
