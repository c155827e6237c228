"""TU datasets as people write them, made by hand; what is expected was worked out on paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsgc.data.formats.raw import RawGraphs
from fsgc.data.formats.read import read_graphs
from fsgc.errors import DataFormatError

PLAIN = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n2\n",
}


def _read(folder: Path, **files: str) -> RawGraphs:
    for name, content in {**PLAIN, **files}.items():
        (folder / f"MY_{name}.txt").write_bytes(content.encode())
    return read_graphs(folder)


def test_labels_from_1(tmp_path: Path) -> None:
    named = _read(tmp_path).named()
    assert named.classes == ("1", "2")
    assert named.store.y.tolist() == [0, 1]
    assert named.store.num_edges.tolist() == [2, 1]
    assert named.vocabulary.labels == ()


def test_labels_of_plus_and_minus_one(tmp_path: Path) -> None:
    assert _read(tmp_path, graph_labels="1\n-1\n").named().classes == ("-1", "1")


def test_classes_that_are_words(tmp_path: Path) -> None:
    named = _read(tmp_path, graph_labels="mutagen\nharmless\n").named()
    assert (named.classes, named.store.y.tolist()) == (("harmless", "mutagen"), [1, 0])


def test_an_indicator_with_a_gap_is_a_graph_without_nodes(tmp_path: Path) -> None:
    raw = _read(tmp_path, graph_indicator="1\n1\n1\n3\n3\n", graph_labels="7\n8\n9\n")
    assert raw.findings().without_nodes == 1
    with pytest.raises(DataFormatError, match=r"1 graph\(s\) have no nodes, the first is '2'; .* --drop-empty"):
        raw.named()
    kept = raw.without_empty().named()
    assert (kept.names, kept.labels, kept.store.num_edges.tolist()) == (("1", "3"), ["7", "9"], [2, 1])


def test_empty_graphs_at_both_ends(tmp_path: Path) -> None:
    raw = _read(tmp_path, graph_indicator="2\n2\n2\n3\n3\n", graph_labels="1\n1\n2\n2\n")
    assert raw.sizes.tolist() == [0, 3, 2, 0]
    assert raw.without_empty().named().store.num_nodes.tolist() == [3, 2]


def test_two_columns_of_node_labels_are_one_label(tmp_path: Path) -> None:
    named = _read(tmp_path, node_labels="0, 1\n0,1\n1,  1\n0 1\n2,0\n").named()
    assert named.vocabulary.labels == ("0,1", "1,1", "2,0")
    assert named.store.node_label.tolist() == [0, 0, 1, 0, 2]


def test_repeated_edges(tmp_path: Path) -> None:
    raw = _read(tmp_path, A="1, 2\n1, 2\n2, 1\n2, 3\n2, 3\n4, 5\n")
    assert raw.findings().repeated_edges == 2
    assert raw.named().store.num_edges.tolist() == [2, 1]


def test_self_loops(tmp_path: Path) -> None:
    raw = _read(tmp_path, A="1, 1\n1, 2\n4, 4\n5, 5\n")
    findings = raw.findings()
    assert (findings.self_loops, findings.without_edges) == (3, 1)
    assert raw.named().store.num_edges.tolist() == [1, 0]


def test_windows_line_ends(tmp_path: Path) -> None:
    windows = {name: content.replace("\n", "\r\n") for name, content in PLAIN.items()}
    labels = {"node_labels": "a\r\nb\r\na\r\nb\r\nb\r\n", "node_attributes": "1,2\r\n" * 5}
    named = _read(tmp_path, **windows, **labels).named()
    assert named.classes == ("1", "2")
    assert named.vocabulary.labels == ("a", "b")
    assert named.store.node_attr.tolist() == [[1, 2]] * 5


def test_no_final_newline(tmp_path: Path) -> None:
    bare = {name: content.rstrip("\n") for name, content in PLAIN.items()}
    store = _read(tmp_path, **bare, node_labels="1\n2\n3\n4\n5").named().store
    assert store.num_nodes.tolist() == [3, 2]
    assert store.node_label.tolist() == [0, 1, 2, 3, 4]


def test_blank_lines_at_the_end(tmp_path: Path) -> None:
    store = _read(tmp_path, **{name: content + "\n\n" for name, content in PLAIN.items()}).named().store
    assert store.num_edges.tolist() == [2, 1]


def test_nodes_of_a_graph_that_do_not_stand_together(tmp_path: Path) -> None:
    raw = _read(tmp_path, A="1, 3\n3, 5\n2, 4\n", graph_indicator="1\n2\n1\n2\n1\n", node_labels="a\nx\nb\ny\nc\n")
    named = raw.named()
    assert named.vocabulary.labels == ("a", "b", "c", "x", "y")
    assert named.store.node_label.tolist() == [0, 1, 2, 3, 4]  # a, b, c of graph 1, then x, y of graph 2
    assert named.store.edge_index.tolist() == [[1, 0, 2, 1, 1, 0], [0, 1, 1, 2, 0, 1]]


def test_without_classes_the_graphs_are_new(tmp_path: Path) -> None:
    _read(tmp_path)
    (tmp_path / "MY_graph_labels.txt").unlink()
    named = read_graphs(tmp_path).named()
    assert named.labels == [None, None]
    assert named.store.y.tolist() == [-1, -1]


def test_no_edge_at_all(tmp_path: Path) -> None:
    raw = _read(tmp_path, A="")
    assert raw.findings().without_edges == 2
    assert raw.named().store.num_edges.tolist() == [0, 0]


def test_some_classes_only(tmp_path: Path) -> None:
    named = _read(tmp_path).named(classes=["2"])
    assert (named.names, named.store.y.tolist(), named.store.num_nodes.tolist()) == (("2",), [0], [2])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"graph_indicator": "1\n1\n1\n4\n4\n"}, r"MY_graph_indicator.txt, line 4: graph 4 has no label: there are 2"),
        ({"A": "1, 2\n3, 4\n"}, r"MY_A.txt, line 2: the edge \(3, 4\) joins two graphs"),
        ({"A": "1, 2\n0, 1\n"}, r"MY_A.txt, line 2: the edge \(0, 1\) names a node outside 1..5"),
        ({"A": "1, 2\n1, x\n"}, r"MY_A.txt, line 2: 'x' is not an integer"),
        ({"node_labels": "1\n2\n"}, r"MY_node_labels.txt, line 3: 2 lines for 5 nodes"),
        ({"node_labels": "1\n\n2\n3\n4\n"}, r"MY_node_labels.txt, line 2: the line is empty"),
        ({"node_attributes": "1,2\n1,2\n1\n1,2\n1,2\n"}, r"MY_node_attributes.txt, line 3: expected 2 numbers"),
        ({"node_attributes": "1\n" * 4}, r"MY_node_attributes.txt, line 5: 4 lines for 5 nodes"),
    ],
)
def test_malformed_files_are_named_with_their_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(DataFormatError, match=message):
        _read(tmp_path, **files)


def test_two_datasets_in_one_folder(tmp_path: Path) -> None:
    _read(tmp_path)
    (tmp_path / "OTHER_A.txt").write_text("1, 2\n")
    with pytest.raises(DataFormatError, match=r"several datasets \(MY_A.txt, OTHER_A.txt\)"):
        read_graphs(tmp_path)


def test_it_agrees_with_the_reader_of_the_catalog(tmp_path: Path) -> None:
    from fsgc.data.readers.tu import read_tu

    rng = np.random.default_rng(0)
    graph = np.sort(rng.integers(1, 9, 60))
    graph[:8] = np.arange(1, 9)
    graph.sort()
    pairs = rng.integers(1, 61, (400, 2))
    pairs = pairs[graph[pairs[:, 0] - 1] == graph[pairs[:, 1] - 1]]
    files = {
        "A": "".join(f"{a}, {b}\n" for a, b in pairs),
        "graph_indicator": "".join(f"{g}\n" for g in graph),
        "graph_labels": "".join(f"{c}\n" for c in rng.permutation(np.arange(8) % 3)),
        "node_labels": "".join(f"{c}\n" for c in rng.permutation(np.arange(60) % 5)),
        "node_attributes": "".join(f"{a:.3f}, {b:.3f}\n" for a, b in rng.normal(size=(60, 2))),
    }
    ours, theirs = _read(tmp_path, **files).named().store, read_tu(tmp_path, {"prefix": "MY"})
    assert ours.fingerprint() == theirs.fingerprint()
