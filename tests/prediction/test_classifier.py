from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from datetime import date
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from fsgc import FewShotClassifier, GraphStore
from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.errors import FsgcError
from fsgc.methods.discriminant.few_shot import FewShotDiscriminant
from fsgc.methods.registry import METHODS
from fsgc.prediction.engines import UNABLE
from fsgc.prediction.inputs import UnknownLabelsWarning
from tests.shapes import bare_shapes, data_of, shapes, unequal_shapes


@pytest.mark.parametrize("name", [name for name in METHODS if name not in UNABLE])
def test_every_method_predicts_through_the_same_door(name: str, model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file(name)).fit(*unequal_shapes())
    new, truth = shapes(5, 2, ("ring", "star"))
    probabilities = classifier.predict_proba(new)
    assert classifier.classes_.tolist() == ["ring", "star"]
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert classifier.predict(new).tolist() == classifier.classes_[probabilities.argmax(1)].tolist()
    assert 0 <= classifier.score(new, truth) <= 1


@pytest.mark.parametrize("name", UNABLE)
def test_one_that_cannot_says_why(name: str, model_file: Callable[[str], Path]) -> None:
    with pytest.raises(FsgcError, match=f"{name} cannot classify other graphs than its dataset's: .* tasks of base"):
        FewShotClassifier(model_file(name)).fit(*unequal_shapes())


@pytest.mark.parametrize("name", ["discriminant", "wl", "sp"])
def test_some_need_no_model_file(name: str) -> None:
    classifier = FewShotClassifier(name).fit(*bare_shapes(4, 1))
    assert classifier.score(*bare_shapes(6, 2)) > 0.8  # rings, paths, stars, wheels and cliques differ in their degrees


def test_graphs_of_three_kinds_give_the_same(model_file: Callable[[str], Path]) -> None:
    graphs, labels = unequal_shapes()
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
    assert classifier.get_params() == {"model": model_file("pn"), "calibrate": False}
    assert clone(classifier).set_params(model="wl").model == "wl"
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.predict([nx.path_graph(2)])
    scores = cross_val_score(FewShotClassifier("wl"), *bare_shapes(6, 1), cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8
    assert classifier.fit(*unequal_shapes()) is classifier
    assert get_tags(classifier).estimator_type == "classifier"
    assert not get_tags(classifier).input_tags.two_d_array
    new, _ = shapes(3, 3, ("ring", "star"))
    for fitted in (classifier, FewShotClassifier("discriminant").fit(*unequal_shapes())):
        sent = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(sent.predict_proba(new), fitted.predict_proba(new))
        before = fitted.get_params()
        fitted.fit(*unequal_shapes(4))
        assert fitted.get_params() == before
        np.testing.assert_array_equal(
            fitted.predict_proba(new),
            clone(fitted).fit(*unequal_shapes(4)).predict_proba(new),
            "a second fit forgets the first",
        )


def test_the_order_of_labelled_and_of_new_graphs_does_not_matter(model_file: Callable[[str], Path]) -> None:
    graphs, labels = unequal_shapes()
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


def _of_kind(kind: str, count: int, seed: int) -> tuple[list[nx.Graph], list[str]]:
    graphs, labels = (bare_shapes if kind == "bare" else shapes)(count, seed, ("ring", "path", "wheel"))
    for number, graph in enumerate(graphs):
        if kind == "rare labels":  # a kind of node that one graph has alone
            nx.set_node_attributes(graph, {0: f"only in {number}"}, "label")
        if kind == "words":  # 40 labels are kinds of nodes, more are words; without a certain graph there are only 40
            nx.set_node_attributes(graph, {n: str((7 * number + n) % 41) for n in graph}, "label")
    return graphs, labels


@pytest.mark.parametrize("kind", ["bare", "labels and attributes", "rare labels", "words"])
def test_the_discriminant_describes_graphs_once_with_the_same_result(kind: str) -> None:
    """`FewShotDiscriminant`, fitted anew without each graph, is the oracle."""
    graphs, labels = _of_kind(kind, 4, 1)
    classifier = FewShotClassifier("discriminant").fit(graphs, labels)
    found, store, y = classifier.leave_one_out(), classifier._known.store, classifier._y
    for place, graph in enumerate(found.graphs):
        rest = np.setdiff1d(np.arange(len(graphs)), [graph])
        oracle = FewShotDiscriminant().fit(store.select(rest), y[rest]).scores(store.select([graph]))
        np.testing.assert_allclose(found.scores[place], oracle[0], atol=1e-9, rtol=1e-9)
    new, _ = _of_kind(kind, 3, 2)
    oracle = FewShotDiscriminant().fit(store, y).scores(classifier._new(new).store)
    np.testing.assert_allclose(classifier.decision_function(new), oracle, atol=1e-9, rtol=1e-9)


def test_large_graphs_with_attributes_are_left_out_in_fewer_parts() -> None:
    graphs, labels = shapes(20, 1, ("ring", "path"))
    classifier = FewShotClassifier("discriminant").fit(graphs, labels)
    classifier.engine_.attach(classifier._known.store)
    assert classifier.engine_.most_folds() > 1000  # type: ignore[operator]
    plain = FewShotClassifier("discriminant").fit(*bare_shapes(4, 1))
    plain.engine_.attach(plain._known.store)
    assert plain.engine_.most_folds() is None
    classifier.engine_.most_folds = lambda: 10  # type: ignore[method-assign]
    assert (classifier.leave_one_out().at_a_time, len(classifier.leave_one_out().graphs)) == (4, 40)


def test_calibration_changes_probabilities_and_no_prediction() -> None:
    graphs, labels = bare_shapes(12, 1)
    plain, scaled = (FewShotClassifier("discriminant", calibrate=c).fit(graphs, labels) for c in (False, True))
    new, truth = bare_shapes(12, 2)
    assert scaled.predict(new).tolist() == plain.predict(new).tolist()
    expected = softmax(scaled.score_scale() * plain.decision_function(new), axis=1)
    np.testing.assert_allclose(scaled.predict_proba(new), expected)
    assert log_loss(truth, scaled.predict_proba(new), labels=scaled.classes_) < log_loss(
        truth, plain.predict_proba(new), labels=plain.classes_
    )
    alone = FewShotClassifier("wl", calibrate=True).fit(graphs[::12], labels[::12])
    assert alone.score_scale() == 1.0, "nothing can be left out"


def test_many_labelled_graphs_are_left_out_some_at_a_time() -> None:
    left_out = FewShotClassifier("wl").fit(*bare_shapes(150, 1, ("ring", "clique"))).leave_one_out()
    assert (len(left_out.graphs), left_out.at_a_time, left_out.accuracy) == (300, 2, 1.0)


@pytest.mark.parametrize("name", ["pn", "wl"])
def test_the_nearest_graph_of_a_labelled_graph_is_itself(name: str, model_file: Callable[[str], Path]) -> None:
    graphs, labels = unequal_shapes()
    classifier = FewShotClassifier(model_file("pn") if name == "pn" else "wl").fit(graphs, labels)
    nearest = classifier.nearest(graphs, 2)
    assert nearest.shape == (len(graphs), 2)
    for i, (first, _) in enumerate(nearest.tolist()):
        same = nx.vf2pp_is_isomorphic(graphs[i], graphs[first], node_label="label" if name == "wl" else None)
        assert first == i or same


@pytest.mark.parametrize("name", ["wl", "sp", "graphlet"])
def test_a_kernel_from_a_file_compares_the_graphs_it_is_given(name: str, model_file: Callable[[str], Path]) -> None:
    """Its dataset's nodes have labels and attributes; these have none, and a kernel has learned nothing of either."""
    graphs, labels = bare_shapes(4, 1)
    new, _ = bare_shapes(3, 2)
    found = FewShotClassifier(model_file(name)).fit(graphs, labels).predict_proba(new)
    np.testing.assert_allclose(found, FewShotClassifier(name).fit(graphs, labels).predict_proba(new))


def test_a_kernel_needs_no_attributes() -> None:
    graphs, labels = unequal_shapes()
    new, _ = shapes(2, 3, ("ring",))
    classifier = FewShotClassifier("wl").fit(graphs, labels)
    expected = classifier.predict_proba(new)
    for graph in new:
        for values in dict(graph.nodes(data=True)).values():
            del values["weight"]
    np.testing.assert_array_equal(classifier.predict_proba(new), expected)


def test_unknown_node_labels_are_told(model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file("pn")).fit(*unequal_shapes())
    new, _ = shapes(2, 3, ("ring",))
    nx.set_node_attributes(new[0], {0: "Xe", 1: "Xe"}, "label")
    with pytest.warns(UnknownLabelsWarning, match=r"2 of \d+ nodes have labels that are not known \(Xe\)"):
        classifier.predict(new)


def test_columns_in_another_order_are_put_right(model_file: Callable[[str], Path]) -> None:
    classifier = FewShotClassifier(model_file("pn")).fit(*unequal_shapes())
    new, _ = shapes(3, 3, ("ring",))
    expected = classifier.predict_proba(new)
    for graph in new:
        for values in dict(graph.nodes(data=True)).values():
            values["weight"] = values.pop("weight")  # now the last
    np.testing.assert_allclose(classifier.predict_proba(new), expected, atol=1e-6)


def test_a_store_of_the_catalog_has_integers_for_labels() -> None:
    store = GraphStore.from_edges(
        np.array([2, 2, 3, 3]), np.array([0, 2, 4, 5, 7, 8]), np.array([1, 3, 5, 6, 8, 9]), np.zeros(4, int),
        node_label=np.array([5, 5, 5, 7, 5, 7, 9, 9, 7, 5]),
    )  # fmt: skip
    classifier = FewShotClassifier("wl").fit(store, ["pair", "pair", "path", "path"])
    assert classifier.predict(store).tolist() == ["pair", "pair", "path", "path"]
