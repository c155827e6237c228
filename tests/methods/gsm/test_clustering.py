from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from fsgc.data.catalog import dataset
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import Spectra, laplacian_spectra
from fsgc.data.splits import Split, make_split
from fsgc.methods.gsm.clustering import class_prototypes, complete_linkage, find_superclasses
from fsgc.methods.gsm.superclasses import base_graphs
from fsgc.methods.gsm.transport import transport_costs
from tests.graphs import random_store


def made_up() -> tuple[GraphStore, Split]:
    graphs = random_store(3, graphs=300, classes=15, max_nodes=12)
    return graphs, make_split(dataset("letter_high"), graphs.y)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_scikit_learn(seed: int) -> None:
    points = np.random.default_rng(seed).random((12, 2))
    costs = ((points[:, None] - points[None]) ** 2).sum(-1)
    members = complete_linkage(costs)
    for count in range(1, 13):
        ours = members[:, count - 1]
        theirs = AgglomerativeClustering(count, metric="precomputed", linkage="complete").fit_predict(costs)
        assert sorted(set(ours.tolist())) == list(range(count))
        assert adjusted_rand_score(ours, theirs) == 1.0


def test_one_class_is_one_cluster() -> None:
    assert complete_linkage(np.zeros((1, 1))).tolist() == [[0]]


def test_a_prototype_has_the_least_summed_cost() -> None:
    """Spectra of one value each: the prototype is the value with the least sum of squared differences."""
    values = np.array([0.0, 0.9, 1.0, 2.0, 0.1, 0.5, 0.6, 1.9])
    spectra = Spectra(values, np.arange(9))
    classes = np.array([7, 7, 7, 7, 2, 2, 2, 2])
    # Class 2 is 0.1 0.5 0.6 1.9 and comes first: 0.6 is nearest its mean 0.775; class 7 has mean 0.975: 1.0.
    assert class_prototypes(spectra, classes).tolist() == [6, 2]


def test_prototypes_costs_and_clusters_are_those_of_loops_over_training_graphs() -> None:
    graphs, split = made_up()
    found = find_superclasses(graphs, split)
    assert found.classes.tolist() == sorted(split.base)
    for one, prototype in zip(found.classes, found.prototypes, strict=True):
        pool = split.pools(graphs.y, "train")[int(one)]
        costs = transport_costs(laplacian_spectra(graphs.select(pool)))
        assert prototype == pool[costs.sum(1).argmin()]
    costs = transport_costs(laplacian_spectra(graphs.select(found.prototypes)))
    np.testing.assert_allclose(found.costs, costs, atol=1e-14)
    np.testing.assert_array_equal(found.members, complete_linkage(found.costs))


def test_only_training_graphs_of_base_classes_count() -> None:
    """Neither novel classes nor graphs held out for validation change anything, the fingerprint included."""
    graphs, split = made_up()
    used = np.zeros(len(graphs), dtype=bool)
    used[base_graphs(graphs, split)] = True
    assert set(graphs.y[used].tolist()) == set(split.base)
    edges = np.repeat(used, np.diff(graphs.edge_ptr))
    source, target = graphs.edge_index + np.repeat(graphs.node_ptr[:-1], np.diff(graphs.edge_ptr))
    noise = GraphStore.from_edges(
        graphs.num_nodes, source[edges], target[edges], graphs.y, graphs.node_label, graphs.node_attr
    )
    assert noise.fingerprint() != graphs.fingerprint()
    clean, noisy = find_superclasses(graphs, split), find_superclasses(noise, split)
    for name in ("classes", "prototypes", "costs", "members"):
        np.testing.assert_array_equal(getattr(clean, name), getattr(noisy, name))
    assert clean.attributes == noisy.attributes
