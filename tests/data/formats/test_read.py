"""The same graphs in every format; networkx writes what it can write."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.data.formats.raw import in_order
from fsgc.data.formats.read import read_graphs, recognise
from fsgc.data.vocabulary import GraphVocabulary
from fsgc.errors import DataFormatError, FsgcError, SettingsError
from tests.data.formats import made


@pytest.mark.parametrize(
    ("write", "format_name"),
    [(made.write_csv, "csv"), (made.write_graphml, "xml"), (made.write_gexf, "xml"), (made.write_json, "json")],
)
def test_every_format_gives_the_graphs_of_networkx(
    tmp_path: Path, write: Callable[[Path], None], format_name: str
) -> None:
    write(tmp_path)
    assert recognise(tmp_path) == format_name
    raw = read_graphs(tmp_path)
    expected, classes = made.graphs(), made.CLASSES
    if write is made.write_gexf:  # a folder a class, so that they come in the order of the classes
        order = np.argsort(classes, kind="stable")
        expected, classes = [expected[i] for i in order], [classes[i] for i in order]
    made.assert_same(raw, expected, classes)


@pytest.mark.parametrize("write", [made.write_tu, made.write_pyg])
def test_formats_that_number_the_labels(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path)
    expected = made.graphs()
    for graph in expected:
        for values in dict(graph.nodes(data=True)).values():
            values["label"] = str("CNO".index(values["label"]))
            values["attribute 1"], values["attribute 2"] = values.pop("weight"), values.pop("charge")
    named = made.assert_same(read_graphs(tmp_path), expected)
    rows = [[v["attribute 1"], v["attribute 2"]] for g in expected for v in dict(g.nodes(data=True)).values()]
    np.testing.assert_allclose(named.store.node_attr, rows, rtol=1e-6)
    assert named.labels == (made.CLASSES if write is made.write_tu else [str(int(c == "tree")) for c in made.CLASSES])


def test_networkx_itself() -> None:
    made.assert_same(raw_from_networkx(made.graphs(), made.CLASSES), made.graphs(), made.CLASSES)


def test_networkx_of_every_kind() -> None:
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    several = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "b")])
    store = raw_from_networkx([directed, several], ["x", "y"]).named().store
    assert store.num_edges.tolist() == [2, 1]
    findings = raw_from_networkx([directed, several]).findings()
    assert (findings.self_loops, findings.repeated_edges, findings.without_class) == (1, 1, 2)


def test_node_labels_of_any_type() -> None:
    graph = nx.path_graph(4)
    for node, label in enumerate([("a", 1), 3, None, True]):
        graph.nodes[node]["label"] = label
    assert raw_from_networkx([graph]).vocabulary.labels == ("3", "(a, 1)", "None", "True")
    graph.nodes[0]["label"] = object()
    with pytest.raises(DataFormatError, match=r"graph '1': node 0: label: .* of type object"):
        raw_from_networkx([graph])


def test_texts_that_cannot_be_written() -> None:
    graph = nx.path_graph(2)
    with pytest.raises(DataFormatError, match=r"graph '1': its class: '\\ud800' has .* half of a surrogate pair"):
        raw_from_networkx([graph], ["\ud800"])
    nx.set_node_attributes(graph, ("a", "\udfff"), "label")
    with pytest.raises(DataFormatError, match=r"graph '1': node 0: label: .* half of a surrogate pair"):
        raw_from_networkx([graph])


def test_a_zip_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    made.write_csv(folder)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"mine/{file.name}")
    made.assert_same(read_graphs(tmp_path / "mine.zip"), made.graphs(), made.CLASSES)


@pytest.mark.parametrize("name", ["../edges.csv", "/edges.csv", "a\\..\\..\\edges.csv"])
def test_a_zip_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr(name, "source,target\n1,2\n")
    with pytest.raises(DataFormatError, match="would leave the archive's folder"):
        read_graphs(tmp_path / "bad.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip"]


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_stored_or_deflated(tmp_path: Path, compression: int) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, compression):
        with zipfile.ZipFile(tmp_path / f"{method}.zip", "w", method) as archive:
            archive.writestr("edges.csv", "source,target\n1,2\n")
    assert len(read_graphs(tmp_path / "0.zip")) == len(read_graphs(tmp_path / "8.zip")) == 1
    with pytest.raises(DataFormatError, match=f"the member 'edges.csv' is compressed by method {compression}; only"):
        read_graphs(tmp_path / f"{compression}.zip")


def test_what_is_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataFormatError, match="not recognised; expected TU text"):
        read_graphs(tmp_path)
    with pytest.raises(DataFormatError, match="no such file or folder"):
        read_graphs(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match="unknown format 'xls'; choose from tu, csv"):
        read_graphs(tmp_path, "xls")
    made.write_json(tmp_path)
    made.write_graphml(tmp_path)
    with pytest.raises(DataFormatError, match=r"several formats \(json, xml\); choose one with --format"):
        read_graphs(tmp_path)
    assert len(read_graphs(tmp_path, "xml")) == len(made.CLASSES)


def test_files_of_one_name_and_hidden_ones(tmp_path: Path) -> None:
    content = json.dumps(nx.node_link_data(nx.path_graph(3), edges="links"))
    for name in ("x/1.json", "y/1.json", "y/2.json", ".ipynb_checkpoints/1-checkpoint.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    raw = read_graphs(tmp_path)
    assert raw.names == ("x/1", "y/1", "2")
    assert raw.classes == ("x", "y", "y")
    (tmp_path / "labels.csv").write_text("graph,label\nx/1,a\n2,b\ny/1,c\n")
    assert read_graphs(tmp_path).classes == ("a", "c", "b")
    (tmp_path / "labels.csv").write_text("graph,label\n2,a\n2,b\n")
    with pytest.raises(DataFormatError, match=r"labels\.csv, line 3: the graph '2' comes twice"):
        read_graphs(tmp_path)


def test_new_graphs_are_written_in_the_terms_of_the_old() -> None:
    old, new = nx.path_graph(3), nx.path_graph(3)
    nx.set_node_attributes(old, dict(enumerate("NCO")), "label")
    nx.set_node_attributes(new, dict(enumerate("OXN")), "label")
    vocabulary = raw_from_networkx([old]).vocabulary
    assert vocabulary.labels == ("C", "N", "O")
    assert raw_from_networkx([new]).named(vocabulary).store.node_label.tolist() == [2, 3, 1]
    assert GraphVocabulary.from_state(vocabulary.state()) == vocabulary
    integers = GraphVocabulary(None, ())
    with pytest.raises(FsgcError, match="'O' is not an integer"):
        raw_from_networkx([new]).named(integers)
    nx.set_node_attributes(new, {0: 5, 1: -2, 2: 5}, "label")
    assert raw_from_networkx([new]).named(integers).store.node_label.tolist() == [5, -2, 5]


@given(st.lists(st.one_of(st.integers(-50, 50).map(str), st.text(max_size=3)), unique=True))
def test_names_are_sorted_as_people_do(names: list[str]) -> None:
    ordered = in_order(names)
    numbers = [name for name in ordered if name.removeprefix("-").isdecimal() and name.isascii()]
    assert sorted(ordered) == sorted(names)
    assert [int(name) for name in numbers] == sorted(int(name) for name in numbers)
    assert list(ordered[: len(numbers)]) == numbers
