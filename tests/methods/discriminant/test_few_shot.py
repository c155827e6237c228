"""Sets made by hand: what a user brings, without base classes."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from fsgc.data.descriptors.store import Descriptors, LabelKinds, compute_descriptors
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from fsgc.methods.discriminant import few_shot
from fsgc.methods.discriminant.few_shot import DescribedGraphs, FewShotDiscriminant
from tests.data.descriptors.oracle import shuffled, store_of
from tests.graphs import random_store


def _rings_and_crowds(seed: int, rings: int, crowds: int) -> tuple[GraphStore, list[str]]:
    rng = np.random.default_rng(seed)
    networks = [nx.cycle_graph(int(rng.integers(8, 20))) for _ in range(rings)]
    sizes = rng.integers(8, 20, size=crowds)
    networks += [nx.gnp_random_graph(int(size), 0.5, seed=int(rng.integers(1000))) for size in sizes]
    return store_of(networks), ["ring"] * rings + ["crowd"] * crowds


@pytest.mark.parametrize(("rings", "crowds"), [(5, 5), (3, 3), (2, 7)])
def test_rings_are_told_from_crowds(rings: int, crowds: int) -> None:
    store, labels = _rings_and_crowds(0, rings, crowds)
    method = FewShotDiscriminant().fit(store, labels)
    new, truth = _rings_and_crowds(1, 20, 20)
    scores = method.scores(new)
    assert scores.shape == (40, 2)
    assert method.classes.tolist() == ["crowd", "ring"]
    assert (method.classes[scores.argmax(axis=1)] == truth).all()


def test_one_graph_of_each_class_is_enough() -> None:
    """The nearest of the two, where sizes do not mislead."""
    store = store_of([nx.cycle_graph(12), nx.gnp_random_graph(12, 0.5, seed=0)])
    method = FewShotDiscriminant().fit(store, [7, 3])
    assert method.classes.tolist() == [3, 7]
    new = store_of([nx.cycle_graph(12), *(nx.gnp_random_graph(12, 0.5, seed=seed) for seed in range(1, 9))])
    assert method.classes[method.scores(new).argmax(axis=1)].tolist() == [7] + [3] * 8


def test_labels_and_attributes_count() -> None:
    """The same graphs twice over: classes differ by labels alone, then by attributes alone."""
    store, _ = _rings_and_crowds(0, 8, 0)
    where = np.repeat(np.arange(8) % 2, store.num_nodes)
    rng = np.random.default_rng(0)
    labelled = replace(store, node_label=np.where(rng.random(len(where)) < 0.9, where, 1 - where).astype(np.int32))
    placed = replace(
        store,
        node_label=np.zeros(len(where), np.int32),
        node_attr=rng.normal(size=(len(where), 2)).astype(np.float32) + 2 * where[:, None].astype(np.float32),
    )
    for graphs in (labelled, placed):
        method = FewShotDiscriminant().fit(graphs.select([0, 1, 2, 3]), [0, 1, 0, 1])
        assert method.scores(graphs.select([4, 5, 6, 7])).argmax(axis=1).tolist() == [0, 1, 0, 1]


def test_a_graph_is_scored_by_itself_in_any_order_of_nodes_and_supports() -> None:
    store, labels = _rings_and_crowds(0, 4, 3)
    new, _ = _rings_and_crowds(1, 5, 5)
    scores = FewShotDiscriminant().fit(store, labels).scores(new)
    method = FewShotDiscriminant().fit(store.select(np.arange(7)[::-1]), labels[::-1])
    np.testing.assert_allclose(method.scores(new), scores, atol=1e-8)
    np.testing.assert_allclose(method.scores(new.select([3])), scores[3:4], atol=1e-8)
    np.testing.assert_allclose(method.scores(shuffled(new, 0)[0]), scores, atol=1e-6)


@pytest.mark.parametrize("max_nodes", [4, 12])
def test_leaving_graphs_out_describes_them_once_and_changes_no_score(
    max_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the labelled graphs and those asked about came in stores of their own, each time anew."""
    store = random_store(3, graphs=16, attributes=2, max_nodes=max_nodes)
    labels = np.arange(16) % 3
    described = DescribedGraphs(store)
    computed: list[LabelKinds] = []

    def counted(graphs: GraphStore, kinds: LabelKinds) -> Descriptors:
        computed.append(kinds)
        return compute_descriptors(graphs, kinds)

    found = []
    with monkeypatch.context() as patch:
        patch.setattr(few_shot, "compute_descriptors", counted)
        for left_out in range(16):
            rest = np.delete(np.arange(16), left_out)
            method = FewShotDiscriminant().fit_some(described, rest, labels[rest])
            found.append(method.scores_of_some(described, np.array([left_out])))
    assert len(computed) == len(set(computed)) <= 2
    for left_out, scores in enumerate(found):
        rest = np.delete(np.arange(16), left_out)
        alone = FewShotDiscriminant().fit(store.select(rest), labels[rest]).scores(store.select([left_out]))
        np.testing.assert_allclose(scores, alone, rtol=1e-5, atol=1e-6)


def test_one_description_serves_whichever_graphs_are_labelled() -> None:
    described = DescribedGraphs(random_store(0, graphs=5))
    everything = described.of_labelled(np.arange(5))
    assert described.of_labelled(np.arange(2)) is everything
    assert described.by(everything.descriptors.kinds) is everything
    other = LabelKinds((0,))
    assert described.by(other).descriptors.kinds == other


def test_sets_that_cannot_be_learned_from_are_refused() -> None:
    store, labels = _rings_and_crowds(0, 2, 2)
    with pytest.raises(DataFormatError, match="4 graphs need as many labels, got 3"):
        FewShotDiscriminant().fit(store, labels[:3])
    with pytest.raises(DataFormatError, match="at least two classes are needed, got 1"):
        FewShotDiscriminant().fit(store, ["ring"] * 4)
    with_attributes = replace(store, node_attr=np.zeros((len(store.node_label), 2), np.float32))
    with pytest.raises(DataFormatError, match="have 2 node attributes, those it was fitted on 0"):
        FewShotDiscriminant().fit(store, labels).scores(with_attributes)
