"""GraphML, GEXF, JSON and PyG files that are malformed, or mean harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from fsgc.data.formats.pyg_file import raw_from_pyg
from fsgc.data.formats.read import read_graphs
from fsgc.errors import DataFormatError

HEAD = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
KEY = '<key id="d0" for="node" attr.name="w" attr.type="double"/>\n'


def _xml(tmp_path: Path, text: str, name: str = "a.graphml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_pyg_graph_without_nodes_can_be_left_out() -> None:
    empty = Data(x=torch.zeros(0, 2), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor(1))
    one = Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor(0))
    raw = raw_from_pyg([one, empty])
    assert raw.sizes.tolist() == [2, 0]
    assert raw.node_attr.shape == (2, 2)
    assert len(raw.without_empty()) == 1


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE graphml SYSTEM "http://localhost:1/x.dtd">',
    ],
)
def test_a_document_type_is_refused(tmp_path: Path, doctype: str) -> None:
    file = _xml(tmp_path, f'<?xml version="1.0"?>\n{doctype}\n<graphml><graph><node id="&b;"/></graph></graphml>')
    with pytest.raises(DataFormatError, match=r"a.graphml, line 2: a document type .* is not allowed"):
        read_graphs(file)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<graph>\n<node id='1'>\n</graph>", r"line 5: not well-formed XML \(mismatched tag\)"),
        ("<graph>\n<node/></graph></graphml>", "line 4: <node> has no id"),
        ("<graph>\n<node id='1'/>\n<node id='1'/></graph></graphml>", "line 5: the node '1' comes twice"),
        ("<graph>\n<node id='1'/>\n<edge source='1' target='2'/></graph></graphml>", "line 5: .*names the node '2'"),
        ("<graph><node id='1'><data key='d9'>3</data></node></graph></graphml>", "'d9' is not declared for a node"),
        (
            f"{KEY}<graph><node id='1'><data key='d0'>x</data></node></graph></graphml>",
            "line 4: w: 'x' is not a number",
        ),
        (
            f"{KEY}<graph><node id='1'><data key='d0'>1</data></node>\n<node id='2'/></graph></graphml>",
            "line 5: graph 'a': node '2': the node has no 'w', though others have",
        ),
        (
            f"{KEY}<graph><node id='1'><data key='d0'>nan</data></node></graph></graphml>",
            "line 4: .*not a finite",
        ),
        ("<graph><node id='1'><graph/></node></graph></graphml>", "a graph inside a graph is not supported"),
        ("<node id='1'/></graphml>", "<node> outside of a graph"),
        ("</graphml>", "there is no graph in it"),
    ],
)
def test_malformed_graphml(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(DataFormatError, match=message):
        read_graphs(_xml(tmp_path, HEAD + body))


def test_another_kind_of_xml(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match="line 1: expected <graphml> or <gexf>, found <svg>"):
        read_graphs(_xml(tmp_path, "<svg/>", "drawing.xml"))


def test_defaults_and_several_graphs_in_one_file(tmp_path: Path) -> None:
    key = '<key id="k" for="node" attr.name="w" attr.type="int"><default>4</default></key>'
    body = f"{key}<graph id='p'><node id='1'/></graph><graph id='q'><node id='1'><data key='k'>7</data></node></graph>"
    named = read_graphs(_xml(tmp_path, f"{HEAD}{body}</graphml>")).named()
    assert named.names == ("p", "q")
    assert named.store.node_attr.tolist() == [[4], [7]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": [}', "a.json, line 1: not valid JSON"),
        ('[\n{"nodes": 3}]', "expected an object with 'nodes'"),
        ('{"nodes": [{"name": 1}]}', "a node needs an 'id'"),
        ('{"nodes": [{"id": 1}, {"id": 1}]}', "the node 1 comes twice"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "a link needs 'source' and 'target'"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "names the node 2, which is not there"),
        ('{"nodes": [{"id": 1, "w": NaN}]}', "NaN is not a number of JSON"),
        ('{"nodes": [{"id": 1, "w": 1e999}]}', "not a finite number"),
        ('{"nodes": [{"id": 1, "w": [1, 2]}, {"id": 2, "w": [1]}]}', "node 2: w: 1 numbers, though others have 2"),
        ('{"nodes": [], "label": {"a": 1}}', "its class: "),
        ('{"nodes": [{"id": 1}]}\n{"nodes": [{"id": 1}\n', "a.json, line 2: not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (r'{"nodes": [], "label": "\ud800"}', r"a.json: graph 'a': its class: .*\\ud800, half of a surrogate pair"),
        (r'{"nodes": [], "name": "x\udc00"}', r"a.json: graph 'x\\udc00': its name: .* half of a surrogate pair"),
        (r'{"nodes": [{"id": 1, "label": "\ud800"}]}', r"graph 'a': node 1: label: .* half of a surrogate pair"),
        (r'{"nodes": [{"id": 1, "\ud800": 2}]}', r"node 1: the name of an attribute: .* half of a surrogate pair"),
        (r'{"nodes": []}' + "\n" + r'{"nodes": [], "y": "\udead"}', r"a.json, line 2: .* half of a surrogate pair"),
    ],
)
def test_malformed_json(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataFormatError, match=message):
        read_graphs(tmp_path / "a.json")


def test_a_graph_a_line_and_lists_of_numbers(tmp_path: Path) -> None:
    graphs = [
        {"nodes": [{"id": 0, "x": [i, 2 * i]}, {"id": 1, "x": [0, 0]}], "edges": [[0, 1]], "y": i} for i in (1, 2)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, graphs)) + "\n")
    named = read_graphs(tmp_path / "a.jsonl").named()
    assert named.labels == ["1", "2"]
    assert named.vocabulary.attributes == ("x[0]", "x[1]")
    assert named.store.node_attr.tolist() == [[1, 2], [0, 0], [2, 4], [0, 0]]
    assert named.store.num_edges.tolist() == [1, 1]


def test_labels_of_files_in_a_table(tmp_path: Path) -> None:
    for name, size in (("a", 3), ("b", 4)):
        nx.write_graphml(nx.cycle_graph(size), tmp_path / f"{name}.graphml")
    (tmp_path / "labels.csv").write_text("graph,label\nb.graphml,four\na,three\n")
    assert read_graphs(tmp_path).classes == ("three", "four")


def test_the_two_forms_of_a_pyg_dataset(tmp_path: Path) -> None:
    data = [
        Data(x=torch.rand(n, 2), edge_index=torch.tensor([[0], [n - 1]]), y=torch.tensor([n % 2])) for n in (2, 3, 5)
    ]
    torch.save(data, tmp_path / "a.pt")
    torch.save(InMemoryDataset.collate(data), tmp_path / "b.pt")
    one, other = (read_graphs(tmp_path / f"{name}.pt").named().store for name in "ab")
    assert one.fingerprint() == other.fingerprint()
    assert one.num_nodes.tolist() == [2, 3, 5]


class _Harm:
    def __reduce__(self) -> Any:
        return os.system, ("touch harm",)


def test_a_pickle_that_would_run_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save([_Harm()], tmp_path / "a.pt")
    with pytest.raises(DataFormatError, match=r"a.pt: cannot be loaded safely \(it contains posix.system\)"):
        read_graphs(tmp_path / "a.pt")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("suffix", ["json", "graphml"])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, suffix: str) -> None:
    """Names on Linux are bytes; one that is not UTF-8 would be the class of the graphs in it."""
    folder = tmp_path / "graphs" / os.fsdecode(b"\xff")
    folder.mkdir(parents=True)
    text = json.dumps({"nodes": [1]}) if suffix == "json" else f"{HEAD}<graph><node id='1'/></graph></graphml>"
    (folder / f"1.{suffix}").write_text(text)
    with pytest.raises(DataFormatError, match=r"graph '1': its class: .* half of a surrogate pair"):
        read_graphs(tmp_path / "graphs")


def test_tables_in_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "edges.csv").write_text("source,target\n1,2\n")
    with pytest.raises(DataFormatError, match="the name of the folder, which is that of the graph: "):
        read_graphs(folder)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(x=torch.rand(2, 1)), "graph 0: 'edge_index' is not a tensor"),
        (Data(edge_index=torch.tensor([[0], [5]]), num_nodes=3), "an edge names a node outside 0..2"),
        (Data(edge_index=torch.tensor([[0.5], [1]])), "does not hold whole numbers"),
        (Data(x=torch.tensor([[float("nan")]]), edge_index=torch.zeros(2, 0).long()), "not finite"),
        (Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([1, 2])), "'y' has 2 numbers"),
        (Data(edge_index=torch.tensor([[0], [1]]), node_label=torch.tensor([1])), "1 entries for 2 nodes"),
        ("text", "expected a torch_geometric Data, found str"),
        (Data(edge_index=torch.tensor([[0], [1]]), node_label=["a", "\ud800"]), "'node_label': .* surrogate pair"),
        (Data(edge_index=torch.tensor([[0], [1]]), node_label=["a", ["b"]]), "'node_label' has a list; use strings"),
        (Data(edge_index=torch.tensor([[0], [1]]), y="\udfff"), "graph 0: 'y': .* half of a surrogate pair"),
    ],
)
def test_malformed_data(data: Any, message: str) -> None:
    with pytest.raises(DataFormatError, match=message):
        raw_from_pyg([data])
