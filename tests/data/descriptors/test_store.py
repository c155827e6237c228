from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.catalog import dataset
from fsgc.data.descriptors.store import (
    COUNTS,
    TABLES,
    Descriptors,
    DescriptorSettings,
    LabelKinds,
    compute_descriptors,
    make_descriptors,
)
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import make_split
from fsgc.errors import SettingsError, StoreError
from tests.data.descriptors.oracle import awkward, networks, shuffled, store_of
from tests.graphs import random_store

KINDS = LabelKinds((0, 1, 2))


def _column(descriptors: Descriptors, table: str, name: str) -> np.ndarray:
    return descriptors.tables[table][:, descriptors.columns[table].index(name)]


def test_statistics_are_those_of_networkx() -> None:
    graphs = awkward()
    found = compute_descriptors(graphs, KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networkx divides by zero for regular graphs
        assortativity = [
            nx.degree_assortativity_coefficient(network) if network.size() else 0.0 for network in networks(graphs)
        ]
    expected = {
        "nodes": [len(network) for network in networks(graphs)],
        "edges": [network.size() for network in networks(graphs)],
        "density": [nx.density(network) for network in networks(graphs)],
        "triangles": [sum(nx.triangles(network).values()) / 3 for network in networks(graphs)],
        "4-cycles": [
            sum(len(cycle) == 4 for cycle in nx.simple_cycles(network, length_bound=4)) for network in networks(graphs)
        ],
        "transitivity": [nx.transitivity(network) for network in networks(graphs)],
        "clustering": [nx.average_clustering(network) for network in networks(graphs)],
        "components": [nx.number_connected_components(network) for network in networks(graphs)],
        "cycle rank": [len(nx.cycle_basis(network)) for network in networks(graphs)],
        "assortativity": np.nan_to_num(assortativity),
        "degree quantile 0.9": [np.quantile([d for _, d in network.degree], 0.9) for network in networks(graphs)],
        "share of degree 2": [np.mean([d == 2 for _, d in network.degree]) for network in networks(graphs)],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(_column(found, "statistics", name), values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("wedges", nx.path_graph(3)),
        ("claws", nx.star_graph(3)),
        ("paws", nx.lollipop_graph(3, 1)),
        ("paths of 4 nodes", nx.path_graph(4)),
    ],
)
def test_small_subgraphs_are_counted_as_networkx_finds_them(name: str, pattern: nx.Graph) -> None:
    """As subgraphs, induced or not: injective maps that keep edges, over the pattern's symmetries."""
    graphs = store_of([nx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(4)])
    symmetries = sum(1 for _ in nx.isomorphism.GraphMatcher(pattern, pattern).isomorphisms_iter())
    expected = [
        sum(1 for _ in nx.isomorphism.GraphMatcher(network, pattern).subgraph_monomorphisms_iter()) / symmetries
        for network in networks(graphs)
    ]
    np.testing.assert_allclose(_column(compute_descriptors(graphs, KINDS), "statistics", name), expected)


def test_shares_add_up_and_sequences_descend() -> None:
    found = compute_descriptors(awkward(), KINDS)
    names, table = found.columns["degrees"], found.tables["degrees"]
    for what in ("with degree in bin", "mean degree of neighbours in bin", "from a hub"):
        columns = [what in name for name in names]
        np.testing.assert_allclose(table[:, columns].sum(axis=1), 1)
    edges = table[:, ["of edges" in name for name in names]].sum(axis=1)
    np.testing.assert_allclose(edges, awkward().num_edges > 0)
    degrees = found.tables["sequences"][:, :9]
    for network, own in zip(networks(awkward()), degrees, strict=True):
        largest = sorted((d for _, d in network.degree), reverse=True)[:9]
        assert own.tolist() == largest + [0] * (9 - len(largest))


@given(st.integers(0, 10_000))
def test_the_order_of_nodes_changes_nothing(seed: int) -> None:
    graphs = random_store(seed, graphs=8, max_nodes=12)
    mixed, order = shuffled(graphs, seed)
    kinds = LabelKinds((0, 1, 3, 4))
    found, again = compute_descriptors(graphs, kinds), compute_descriptors(mixed, kinds)
    for name in TABLES:
        np.testing.assert_allclose(again.tables[name], found.tables[name], atol=1e-9, err_msg=name)
    for name in COUNTS:
        for part in ("pointer", "code", "count"):
            np.testing.assert_array_equal(getattr(again.counts[name], part), getattr(found.counts[name], part))
    np.testing.assert_allclose(again.nodes, found.nodes[order], atol=1e-6)


def test_a_graph_is_described_by_itself() -> None:
    """Its neighbours in the store change nothing."""
    graphs = awkward()
    together = compute_descriptors(graphs, KINDS)
    for graph in range(len(graphs)):
        alone = compute_descriptors(graphs.select([graph]), KINDS)
        for name in TABLES:
            np.testing.assert_allclose(alone.tables[name][0], together.tables[name][graph], atol=1e-9)


def test_a_graph_of_4000_nodes_and_a_store_of_none() -> None:
    rng = np.random.default_rng(0)
    tree = nx.random_labeled_tree(1000, seed=3)
    tree.add_edges_from((int(rng.integers(0, 6)), 1000 + leaf) for leaf in range(3000))
    found = compute_descriptors(store_of([nx.empty_graph(1), tree]), LabelKinds())
    assert all(np.isfinite(table).all() for table in found.tables.values())
    assert _column(found, "statistics", "nodes").tolist() == [1, 4000]
    assert _column(found, "statistics", "cycle rank").tolist() == [0, 0]
    none = compute_descriptors(awkward().select([]), KINDS)
    assert len(none) == 0
    assert [none.tables[name].shape[1] for name in TABLES] == [found.tables[name].shape[1] for name in TABLES]


def test_what_labels_are_good_for() -> None:
    graphs = awkward()
    every = np.arange(len(graphs))
    assert LabelKinds.of(graphs, every, 40) == LabelKinds((0, 1, 2))
    assert LabelKinds.of(graphs, every, 2) == LabelKinds(words=True)
    assert LabelKinds.of(graphs, np.array([0]), 40) == LabelKinds()  # one node, one label
    as_degree = replace(graphs, node_label=graphs.degree.astype(np.int32))
    assert LabelKinds.of(as_degree, every, 40) == LabelKinds()
    with pytest.raises(SettingsError, match="max_labels must be below 64, got 64"):
        DescriptorSettings(max_labels=64)


def _histograms(graphs: GraphStore) -> list[list[int]]:
    split = np.split(graphs.node_label, graphs.node_ptr[1:-1])
    return [[int(np.sum(own == label)) for label in range(3)] for own in split]


def test_labels_that_are_not_known_are_one_kind() -> None:
    graphs = awkward()
    known = compute_descriptors(graphs, LabelKinds((0, 1)))
    counts = known.counts["labels"].columns(np.arange(3)).toarray()
    np.testing.assert_array_equal(counts, _histograms(graphs))


def test_words_are_counted_where_labels_are_words() -> None:
    graphs = awkward()
    words = compute_descriptors(graphs, LabelKinds(words=True)).counts
    np.testing.assert_array_equal(words["words"].columns(np.arange(3)).toarray(), _histograms(graphs))
    assert len(words["label_paths"].code) == 0


def _enzymes_like() -> GraphStore:
    graphs = random_store(0, graphs=60, classes=6)
    graphs.y[:] += 1
    return graphs


def test_the_store_holds_all_with_names(tmp_path: Path) -> None:
    graphs = _enzymes_like()
    split = make_split(dataset("enzymes"), graphs.y)
    said = make_descriptors(tmp_path / "x.zarr", graphs, split, DescriptorSettings(), anything=True)
    assert said.startswith("descriptors of 60 graphs: 216 dense")
    stored = Descriptors.load(tmp_path / "x.zarr")
    computed = compute_descriptors(graphs, stored.kinds)
    assert stored.graphs == graphs.fingerprint()
    for name in TABLES:
        np.testing.assert_array_equal(stored.tables[name], computed.tables[name])
        assert len(stored.columns[name]) == stored.tables[name].shape[1] == len(set(stored.columns[name]))
    for name in COUNTS:
        np.testing.assert_array_equal(stored.counts[name].count, computed.counts[name].count)
    with pytest.raises(StoreError, match="does not exist"):
        Descriptors.load(tmp_path / "y.zarr")
