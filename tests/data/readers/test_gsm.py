from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fsgc.data.readers.gsm import read_gsm
from fsgc.errors import DataFormatError

TWO_GRAPHS = "2\n3 7\n5 1 1\n6 2 0 2\n5 1 1\n2 -1\n0 1 1\n9 1 0\n"


def _read(tmp_path: Path, text: str) -> object:
    (tmp_path / "x.txt").write_text(text)
    return read_gsm(tmp_path, {"file": "x.txt"})


def test_a_small_file_by_hand(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(TWO_GRAPHS)
    store = read_gsm(tmp_path, {"file": "x.txt"})
    assert store.y.tolist() == [7, -1]
    assert store.node_ptr.tolist() == [0, 3, 5]
    assert store.node_label.tolist() == [5, 6, 5, 0, 9]
    assert store.edge_ptr.tolist() == [0, 4, 6]
    assert store.edge_index.tolist() == [[1, 0, 2, 1, 1, 0], [0, 1, 1, 2, 0, 1]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "number of graphs"),
        ("0\n", 1, "number of graphs"),
        ("2 2\n", 1, "number of graphs"),
        (TWO_GRAPHS.replace("2\n3 7", "3\n3 7", 1), 8, "ends after 2 of 3 graphs"),
        (TWO_GRAPHS.replace("2\n3 7", "1\n3 7", 1), 6, "text after the last of 1 graphs"),
        (TWO_GRAPHS.replace("2 -1", "3 -1"), 6, "should have 3 nodes"),
        (TWO_GRAPHS.replace("2 -1", "0 -1"), 6, "at least one node"),
        (TWO_GRAPHS.replace("2 -1", "2"), 6, "expected '<number of nodes> <class>' of graph 1"),
        (TWO_GRAPHS.replace("6 2 0 2", "6 3 0 2"), 4, "3 neighbours announced, 2 listed"),
        (TWO_GRAPHS.replace("6 2 0 2", "6"), 4, "expected '<tag>"),
        (TWO_GRAPHS.replace("6 2 0 2", "6 2 0 3"), 4, "neighbour 3 is not a node of a graph with 3 nodes"),
        (TWO_GRAPHS.replace("6 2 0 2", "6 2 0 -1"), 4, "neighbour -1"),
        (TWO_GRAPHS.replace("6 2 0 2", "6 2 0 two"), 4, "'two' is not an integer"),
        (TWO_GRAPHS.replace("2 -1", "2 A"), 6, "'A' is not an integer"),
        (TWO_GRAPHS.replace("2 -1", "2 99999999999"), 6, "the class 99999999999 is too large"),
        (TWO_GRAPHS.replace("9 1 0", "99999999999 1 0"), 8, "the tag 99999999999 is too large"),
        (TWO_GRAPHS[: TWO_GRAPHS.index("9 1 0")], 6, "the file ends at line 7"),
    ],
)
def test_malformed_files_name_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(DataFormatError, match=message) as caught:
        _read(tmp_path, text)
    assert caught.value.line == line
    assert "x.txt" in str(caught.value)


def _networkx_reader(file: Path) -> list[tuple[nx.Graph, int]]:
    """The same format, read line by line into networkx graphs."""
    lines = iter(file.read_text().splitlines())
    graphs = []
    for _ in range(int(next(lines))):
        nodes, label = map(int, next(lines).split())
        graph = nx.Graph()
        for node in range(nodes):
            tag, _, *neighbours = map(int, next(lines).split())
            graph.add_node(node, tag=tag)
            graph.add_edges_from((node, other) for other in neighbours)
        graphs.append((graph, label))
    return graphs


@pytest.mark.real
@pytest.mark.parametrize("name", ["TRIANGLES", "ENZYMES", "Letter_high", "Reddit"])
def test_real_files_agree_with_networkx(mirror: Path, name: str) -> None:
    store = read_gsm(mirror / "gsm", {"file": f"{name}.txt"})
    expected = _networkx_reader(mirror / "gsm" / f"{name}.txt")
    assert len(store) == len(expected)
    assert store.y.tolist() == [label for _, label in expected]
    step = 5 if name == "Reddit" else 1  # networkx takes its time over graphs of thousands of nodes
    for index, (graph, _) in list(enumerate(expected))[::step]:
        nodes, edges = (slice(*p[index : index + 2]) for p in (store.node_ptr, store.edge_ptr))
        assert store.node_label[nodes].tolist() == [graph.nodes[node]["tag"] for node in range(len(graph))]
        pairs = np.array(sorted((v, u) for edge in graph.edges for u, v in (edge, edge[::-1])))
        np.testing.assert_array_equal(store.edge_index[:, edges], pairs[:, ::-1].T)
