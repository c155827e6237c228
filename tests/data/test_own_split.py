"""Which classes of a user's dataset serve what, which of its columns tell something, and the file of both."""

from __future__ import annotations

import tomllib

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import f_classif

from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.data.informative import correlation_ratio, features_for, node_columns
from fsgc.data.own_split import HELD_OUT_SHARE, propose_split
from fsgc.data.toml import as_toml
from fsgc.errors import SettingsError


@given(
    st.dictionaries(st.text(min_size=1, max_size=4), st.integers(20, 90), min_size=4, max_size=60),
    st.sampled_from([None, 2, 3, 5]),
)
def test_the_split_covers_all_classes_once(sizes: dict[str, int], way: int | None) -> None:
    if way is not None and len(sizes) < 2 * way:
        with pytest.raises(SettingsError, match="-way episodes need"):
            propose_split("mine", sizes, way)
        return
    split = propose_split("mine", sizes, way)
    assert sorted((*split.base, *split.validation, *split.novel)) == sorted(sizes)
    assert min(len(split.base), len(split.novel)) >= split.way
    assert not split.validation or len(split.validation) >= split.way
    assert propose_split("mine", dict(reversed(list(sizes.items()))), way) == split
    smallest = min(sizes[c] for c in (*split.novel, *split.validation, *split.base))
    if not split.validation:
        smallest = min(min(sizes[c] for c in split.novel), *(round(HELD_OUT_SHARE * sizes[c]) for c in split.base))
    assert split.most_shots == smallest - 1


def test_classes_too_small_to_split_are_named() -> None:
    with pytest.raises(
        SettingsError, match=r"2 are large enough \(too small: c 3, d 19\); use a smaller --min-class, more"
    ):
        propose_split("mine", {"a": 30, "b": 30}, 2, None, {"c": 3, "d": 19})
    with pytest.raises(
        SettingsError, match=r"4 are large enough; use a smaller --way, more graphs or classes, or 'fsgc"
    ):
        propose_split("mine", dict.fromkeys("abcd", 30), 3)
    with pytest.raises(
        SettingsError, match=r"the class 'c' has 3 graphs, too few for an episode .* larger --min-class"
    ):
        propose_split("mine", {"a": 30, "b": 30, "c": 3, "d": 30}, 2, ["a", "b"])
    with pytest.raises(SettingsError, match="way: 0 classes are nothing to choose from"):
        propose_split("mine", {"a": 30, "b": 30, "c": 30, "d": 30}, 0)


def test_informative_columns_against_the_f_test() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 200)
    values = rng.normal(size=(200, 3)) + np.outer(y, [0.0, 0.3, 3.0])
    values = np.concatenate([values, np.full((200, 1), 0.1)], axis=1)
    found = correlation_ratio(values, y)
    f, _ = f_classif(values[:, :3], y)
    np.testing.assert_allclose(found[:3], 3 * f / (3 * f + 196))  # η² = (c−1) F / ((c−1) F + n − c)
    assert found[3] == 0


def test_features_follow_what_varies() -> None:
    graphs = [nx.path_graph(3 + i % 2) for i in range(8)]
    assert features_for(node_columns(raw_from_networkx(graphs, list("abab" * 2)).named(), [0, 1])) == ("degree_onehot",)
    for number, graph in enumerate(graphs):
        nx.set_node_attributes(graph, 1.0, "same")
        nx.set_node_attributes(graph, str(number % 2), "label")
    columns = node_columns(raw_from_networkx(graphs, list("abab" * 2)).named(), [0, 1])
    assert [(c.name, c.distinct, c.explained) for c in columns] == [("labels", 2, 1.0), ("same", 1, 0.0)]
    assert features_for(columns) == ("label_onehot",)
    nx.set_node_attributes(graphs[0], 2.0, "same")
    assert features_for(node_columns(raw_from_networkx(graphs, list("abab" * 2)).named(), [0, 1])) == (
        "attributes",
        "label_onehot",
    )


values = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-9, 9) | st.booleans(), st.lists, max_leaves=5
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), values))
def test_toml_is_read_back(content: dict[str, object]) -> None:
    assert tomllib.loads(as_toml(content, "two\nlines")) == content
