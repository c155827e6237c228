from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fsgc.data.features import FEATURES, FeatureEncoder, node_features
from fsgc.errors import DataFormatError, SettingsError
from tests.graphs import random_store

STORE = random_store(11, graphs=30, classes=5, attributes=3, max_nodes=6)
BASE = np.repeat(STORE.y < 3, STORE.num_nodes)


def test_standardised_attributes_agree_with_sklearn() -> None:
    scaler = StandardScaler().fit(STORE.node_attr[BASE].astype(np.float64))
    expected = scaler.transform(STORE.node_attr.astype(np.float64))
    np.testing.assert_allclose(node_features(STORE, ["attributes"], [0, 1, 2]).rows(), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["degree_onehot", "label_onehot"])
def test_one_hot_agrees_with_sklearn_and_has_a_slot_for_the_unseen(name: str) -> None:
    values = (STORE.degree if name == "degree_onehot" else STORE.node_label)[:, None]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(values[BASE])
    ours = node_features(STORE, [name], [0, 1, 2]).rows()
    np.testing.assert_array_equal(ours[:, :-1], encoder.transform(values))
    np.testing.assert_array_equal(ours.sum(axis=1), 1)


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
