from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given

from fsgc.data.descriptors import cycles
from fsgc.data.descriptors.cycles import node_cycles
from fsgc.data.graph_store import GraphStore
from tests.data.descriptors.oracle import awkward, networks, store_of
from tests.graphs import graph_lists


def _squares(network: nx.Graph) -> list[int]:
    """4-cycles through every node, by listing all simple cycles of four nodes."""
    found = [cycle for cycle in nx.simple_cycles(network, length_bound=4) if len(cycle) == 4]
    return [sum(node in cycle for cycle in found) for node in network]


def _check(graphs: GraphStore) -> None:
    triangles, squares = node_cycles(graphs)
    for network, three, four in zip(
        networks(graphs),
        np.split(triangles, graphs.node_ptr[1:-1]),
        np.split(squares, graphs.node_ptr[1:-1]),
        strict=True,
    ):
        assert three.tolist() == list(nx.triangles(network).values())
        assert four.tolist() == _squares(network)


def test_networkx_counts_the_same() -> None:
    _check(awkward())


@given(graph_lists())
def test_on_any_graphs(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    made = [nx.Graph(edges) for _, edges in graphs]
    for network, (nodes, _) in zip(made, graphs, strict=True):
        network.add_nodes_from(range(nodes))
        network.remove_edges_from(nx.selfloop_edges(network))
    _check(store_of([nx.convert_node_labels_to_integers(network, ordering="sorted") for network in made]))


def test_in_small_parts(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """However few entries of A² are held at a time."""
    whole = node_cycles(awkward())
    monkeypatch.setattr(cycles, "_ENTRIES", 7)
    np.testing.assert_array_equal(node_cycles(awkward()), whole)
