from __future__ import annotations

import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.data.graph_store import GraphStore
from fsgc.prediction.drawing import MOST_NODES, SIZE, draw, layout

GRAPHS = [
    nx.path_graph(1), nx.path_graph(2), nx.cycle_graph(9), nx.complete_graph(6), nx.star_graph(12), nx.empty_graph(5),
    nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)), nx.barabasi_albert_graph(120, 2, seed=0),
    nx.grid_2d_graph(25, 25),
]  # fmt: skip


def _store() -> GraphStore:
    return raw_from_networkx(GRAPHS).named().store


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_every_node_and_edge_is_drawn_inside_the_square(number: int) -> None:
    root = ET.fromstring(draw(_store(), number, "g"))  # well-formed
    name = "{http://www.w3.org/2000/svg}"
    tags = [element.tag.removeprefix(name) for element in root.iter()]
    graph = nx.convert_node_labels_to_integers(GRAPHS[number])
    drawn = graph.subgraph(range(MOST_NODES))
    assert tags.count("circle") == len(drawn)
    assert tags.count("line") == drawn.number_of_edges()
    places = [(float(e.get("cx", "")), float(e.get("cy", ""))) for e in root.iter("circle")]
    assert np.isfinite(places).all()
    assert np.min(places) >= 0
    assert np.max(places) <= SIZE


@pytest.mark.parametrize("number", [2, 3, 4, 6, 7])
def test_no_two_nodes_lie_on_each_other(number: int) -> None:
    edges = np.array(list(nx.convert_node_labels_to_integers(GRAPHS[number]).edges)).T
    places = layout(edges, len(GRAPHS[number]))
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)[np.triu_indices(len(places), 1)]
    assert apart.min() > 1e-3 * apart.max()


def test_a_path_is_drawn_in_its_order() -> None:
    edges = np.array(list(nx.path_graph(8).edges)).T
    places = layout(edges, 8)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    graph = np.abs(np.arange(8)[:, None] - np.arange(8))
    assert np.corrcoef(apart.ravel(), graph.ravel())[0, 1] > 0.99


def test_names_are_escaped() -> None:
    text = draw(_store(), 1, "<script>&\"'")
    assert "<script>" not in text
    assert ET.fromstring(text)[0].text == "<script>&\"': 2 nodes, 1 edges"
