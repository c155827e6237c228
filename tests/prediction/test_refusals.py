"""Graphs and labels that a classifier refuses, and what a refusal leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fsgc import FewShotClassifier
from fsgc.errors import DataFormatError, FsgcError, SettingsError, StoreError
from tests.shapes import data_of, shapes, unequal_shapes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda g: nx.set_node_attributes(g, 1.0, "third"),
            r"looks at 2 attributes of a node \(weight, size\), but .* 3",
        ),
        (lambda g: [g.nodes[n].pop("weight") for n in g], r"looks at 2 attributes .* have 1 \(size\)"),
        (lambda g: [g.nodes[n].pop("label") for n in g], r"looks at the labels of nodes \(C, N\), but .* none"),
    ],
)
def test_graphs_that_do_not_fit_are_explained(
    change: Callable[[nx.Graph], object], message: str, model_file: Callable[[str], Path]
) -> None:
    graphs, labels = unequal_shapes()
    classifier = FewShotClassifier(model_file("pn")).fit(graphs, labels)
    new, _ = shapes(2, 3, ("ring",))
    for graph in new:
        change(graph)
    with pytest.raises(DataFormatError, match=f"the model {message}"):
        classifier.predict(new)


def test_attributes_of_other_names_are_refused() -> None:
    graphs, labels = unequal_shapes()
    classifier = FewShotClassifier("discriminant").fit(graphs, labels)
    new, _ = shapes(2, 3, ("ring",))
    for graph in new:
        for values in dict(graph.nodes(data=True)).values():
            values["radius"] = values.pop("weight")
    with pytest.raises(DataFormatError, match=r"looks at the attributes weight, size of a node, .* have size, radius"):
        classifier.predict(new)
    numbered = [data_of(graph) for graph in shapes(2, 3, ("ring",))[0]]
    assert len(classifier.predict(numbered)) == 2, "without names, the places decide"


def test_a_fit_that_fails_changes_nothing() -> None:
    graphs, labels = shapes(3, 1, ("ring", "star"))
    new = shapes(1, 2, ("ring", "star"))[0]
    classifier = FewShotClassifier("wl").fit(graphs, labels)
    before = classifier.predict(new).tolist()
    with pytest.raises(DataFormatError, match="have no nodes"):
        classifier.fit([*graphs[:0:-1], nx.Graph()], labels[::-1])
    assert classifier.predict(new).tolist() == before
    fresh = FewShotClassifier("nothing.pt")
    with pytest.raises(FsgcError):
        fresh.fit(graphs, labels)
    with pytest.raises(NotFittedError):
        fresh.predict(new)


@pytest.mark.parametrize("label", [float("nan"), np.float32("nan")])
def test_a_label_that_is_not_a_number(label: Hashable) -> None:
    graphs, labels = shapes(2, 1, ("ring", "star"))
    with pytest.raises(DataFormatError, match="a label is NaN"):
        FewShotClassifier("wl").fit(graphs, [*labels[:-1], label])


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
