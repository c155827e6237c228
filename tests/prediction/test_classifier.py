from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import date
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from fsgc import FewShotClassifier, GraphStore
from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.errors import DataFormatError, FsgcError, SettingsError, StoreError
from fsgc.prediction.inputs import UnknownLabelsWarning
from tests.shapes import bare_shapes, data_of, shapes

LEARNED = ["pn", "pn_tae_mu", "gin", "maml", "gsm", "discriminant", "discriminant_pn", "head_pn", "untrained"]


def _unequal(count: int = 6) -> tuple[list[nx.Graph], list[str]]:
    graphs, labels = shapes(count, 1, ("ring", "star"))
    return graphs[2:], labels[2:]


@pytest.mark.parametrize("name", LEARNED)
def test_every_method_predicts_through_the_same_door(name: str, model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file(name)).fit(*_unequal())
    new, truth = shapes(5, 2, ("ring", "star"))
    probabilities = classifier.predict_proba(new)
    assert classifier.classes_.tolist() == ["ring", "star"]
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert classifier.predict(new).tolist() == classifier.classes_[probabilities.argmax(1)].tolist()
    assert 0 <= classifier.score(new, truth) <= 1


@pytest.mark.parametrize("name", ["discriminant", "wl", "sp"])
def test_some_need_no_model_file(name: str) -> None:
    classifier = FewShotClassifier(name).fit(*bare_shapes(4, 1))
    assert classifier.score(*bare_shapes(6, 2)) > 0.8  # rings, paths, stars, wheels and cliques differ in their degrees


def test_graphs_of_three_kinds_give_the_same(model_file: Callable[[str], Path]) -> None:
    graphs, labels = _unequal()
    new, _ = shapes(4, 3, ("ring", "star"))
    expected = FewShotClassifier(model_file("pn")).fit(graphs, labels).predict_proba(new)
    stores = [raw_from_networkx(part).named().store for part in (graphs, new)]
    found = FewShotClassifier(model_file("pn")).fit(stores[0], labels).predict_proba(stores[1])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    data = [[data_of(graph) for graph in part] for part in (graphs, new)]
    found = FewShotClassifier(model_file("pn")).fit(data[0], labels).predict_proba(data[1])
    np.testing.assert_allclose(found, expected, atol=1e-5)


LABELS: list[list[Hashable]] = [
    ["b", "a"], [3, 1], [2.5, 0.5], [True, False], [("a", 1), ("b", 2)], [None, "x"], [1, "one"],
    [date(2020, 1, 2), date(2019, 1, 1)], [frozenset({1}), frozenset({2, 3})],
]  # fmt: skip


@pytest.mark.parametrize("kinds", LABELS)
def test_labels_come_back_as_they_went_in(kinds: list[Hashable]) -> None:
    graphs, names = bare_shapes(4, 1, ("ring", "clique"))
    classifier = FewShotClassifier("wl").fit(graphs, [kinds[name == "ring"] for name in names])
    new, truth = bare_shapes(3, 2, ("ring", "clique"))
    predicted = list(classifier.predict(new))
    assert predicted == [kinds[name == "ring"] for name in truth]
    assert {type(label) for label in predicted} <= {type(label) for label in classifier.classes_}


def test_in_the_ways_of_sklearn(model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file("pn"))
    assert classifier.get_params() == {"model": model_file("pn")}
    assert clone(classifier).set_params(model="wl").model == "wl"
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.predict([nx.path_graph(2)])
    scores = cross_val_score(FewShotClassifier("wl"), *bare_shapes(6, 1), cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8
    assert classifier.fit(*_unequal()) is classifier


def test_the_order_of_labelled_and_of_new_graphs_does_not_matter(model_file: Callable[[str], Path]) -> None:
    graphs, labels = _unequal()
    new, _ = shapes(4, 3, ("ring", "star"))
    expected = FewShotClassifier(model_file("pn_tae_mu")).fit(graphs, labels).predict_proba(new)
    turned = FewShotClassifier(model_file("pn_tae_mu")).fit(graphs[::-1], labels[::-1]).predict_proba(new[::-1])
    np.testing.assert_allclose(turned[::-1], expected, atol=1e-4)


def test_leave_one_out_is_a_loop_of_fits() -> None:
    graphs, labels = bare_shapes(4, 1, ("ring", "path", "wheel"))
    graphs, labels = graphs[3:], labels[3:]  # one ring: it cannot be left out
    left_out = FewShotClassifier("wl").fit(graphs, labels).leave_one_out()
    expected = []
    for i in range(1, len(graphs)):
        rest = FewShotClassifier("wl").fit(graphs[:i] + graphs[i + 1 :], labels[:i] + labels[i + 1 :])
        expected.append(rest.predict([graphs[i]])[0] == labels[i])
    assert left_out.graphs.tolist() == list(range(1, len(graphs)))
    assert left_out.right.tolist() == expected
    assert left_out.accuracy == np.mean(expected)


def test_many_labelled_graphs_are_left_out_some_at_a_time() -> None:
    left_out = FewShotClassifier("wl").fit(*bare_shapes(150, 1, ("ring", "clique"))).leave_one_out()
    assert (len(left_out.graphs), left_out.at_a_time, left_out.accuracy) == (300, 2, 1.0)


@pytest.mark.parametrize("name", ["pn", "wl"])
def test_the_nearest_graph_of_a_labelled_graph_is_itself(name: str, model_file: Callable[[str], Path]) -> None:
    graphs, labels = _unequal()
    classifier = FewShotClassifier(model_file("pn") if name == "pn" else "wl").fit(graphs, labels)
    nearest = classifier.nearest(graphs, 2)
    assert nearest.shape == (len(graphs), 2)
    for i, (first, _) in enumerate(nearest.tolist()):
        same = nx.vf2pp_is_isomorphic(graphs[i], graphs[first], node_label="label" if name == "wl" else None)
        assert first == i or same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda g: nx.set_node_attributes(g, 1.0, "third"),
            r"looks at 2 attributes of a node \(weight, size\), but .* 3",
        ),
        (lambda g: [g.nodes[n].pop("weight") for n in g], r"looks at 2 attributes .* have 1 \(size\)"),
        (lambda g: [g.nodes[n].pop("label") for n in g], r"looks at the labels of nodes \(C, N, …\), but .* none"),
    ],
)
def test_graphs_that_do_not_fit_are_explained(
    change: Callable[[nx.Graph], object], message: str, model_file: Callable[[str], Path]
) -> None:
    graphs, labels = _unequal()
    classifier = FewShotClassifier(model_file("pn")).fit(graphs, labels)
    new, _ = shapes(2, 3, ("ring",))
    for graph in new:
        change(graph)
    with pytest.raises(DataFormatError, match=f"the model {message}"):
        classifier.predict(new)


def test_unknown_node_labels_are_told(model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file("pn")).fit(*_unequal())
    new, _ = shapes(2, 3, ("ring",))
    nx.set_node_attributes(new[0], {0: "Xe", 1: "Xe"}, "label")
    with pytest.warns(UnknownLabelsWarning, match=r"2 of \d+ nodes have labels that are not known \(Xe\)"):
        classifier.predict(new)


def test_columns_in_another_order_are_put_right(model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file("pn")).fit(*_unequal())
    new, _ = shapes(3, 3, ("ring",))
    expected = classifier.predict_proba(new)
    for graph in new:
        for values in dict(graph.nodes(data=True)).values():
            values["weight"] = values.pop("weight")  # now the last
    np.testing.assert_allclose(classifier.predict_proba(new), expected, atol=1e-6)


def test_what_cannot_be(model_file: Callable[[str], Path], tmp_path: Path) -> None:
    graphs, labels = shapes(2, 1)
    with pytest.raises(FsgcError, match="maml was trained to tell 2 classes apart and cannot do it with 5"):
        FewShotClassifier(model_file("maml")).fit(graphs, labels)
    with pytest.raises(SettingsError, match="pn needs training: give a model file"):
        FewShotClassifier("pn").fit(graphs, labels)
    with pytest.raises(StoreError, match="does not exist"):
        FewShotClassifier(tmp_path / "none.pt").fit(graphs, labels)
    with pytest.raises(FsgcError, match="3 labels for 10 graphs"):
        FewShotClassifier("wl").fit(graphs, labels[:3])
    with pytest.raises(FsgcError, match="at least two classes"):
        FewShotClassifier("wl").fit(graphs[:2], labels[:2])
    with pytest.raises(DataFormatError, match=r"the label \['a'\] of type list is not hashable"):
        FewShotClassifier("wl").fit(graphs, [["a"]] * 10)  # type: ignore[list-item]
    with pytest.raises(DataFormatError, match="there are no graphs"):
        FewShotClassifier("wl").fit([], [])
    with pytest.raises(DataFormatError, match="have no nodes"):
        FewShotClassifier("wl").fit([nx.Graph(), nx.path_graph(2)], ["a", "b"])


def test_a_store_of_the_catalog_has_integers_for_labels() -> None:
    store = GraphStore.from_edges(
        np.array([2, 2, 3, 3]), np.array([0, 2, 4, 5, 7, 8]), np.array([1, 3, 5, 6, 8, 9]), np.zeros(4, int),
        node_label=np.array([5, 5, 5, 7, 5, 7, 9, 9, 7, 5]),
    )  # fmt: skip
    classifier = FewShotClassifier("wl").fit(store, ["pair", "pair", "path", "path"])
    assert classifier.predict(store).tolist() == ["pair", "pair", "path", "path"]
