from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsgc.errors import SettingsError
from fsgc.methods.kernel.labels import node_labels
from tests.graphs import random_store


@pytest.mark.parametrize("name", ["degree", "label", "attributes"])
def test_equal_labels_for_equal_values_and_no_others(name: str) -> None:
    store = random_store(0, attributes=2)
    store = replace(store, node_attr=np.round(store.node_attr))
    assert np.signbit(store.node_attr[store.node_attr == 0]).any(), "0 and −0 are equal"
    values = {
        "degree": [int(d) for d in store.degree],
        "label": store.node_label.tolist(),
        "attributes": [tuple(row) for row in store.node_attr.tolist()],
    }[name]
    labels = node_labels(store, name)
    assert labels.dtype == np.int64
    assert labels.min() >= 0
    assert len(set(zip(values, labels.tolist(), strict=True))) == len(set(values)) == len(set(labels.tolist()))


def test_what_the_graphs_do_not_have_is_refused() -> None:
    store = random_store(0)
    with pytest.raises(SettingsError, match=r"kernel\.node_labels: these graphs have no node attributes"):
        node_labels(store, "attributes")
    with pytest.raises(SettingsError, match=r"kernel\.node_labels: these graphs have no node labels"):
        node_labels(replace(store, node_label=np.zeros_like(store.node_label)), "label")


def test_auto_takes_labels_where_there_are_any_else_degrees() -> None:
    store = random_store(0)
    np.testing.assert_array_equal(node_labels(store, "auto"), node_labels(store, "label"))
    unlabelled = replace(store, node_label=np.full_like(store.node_label, 3))
    np.testing.assert_array_equal(node_labels(unlabelled, "auto"), store.degree)
