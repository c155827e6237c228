"""Edge lists and molecules in CSV."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fsgc import FewShotClassifier
from fsgc.data.formats.read import read_graphs
from fsgc.data.formats.smiles import ATTRIBUTES, COUNTED
from fsgc.errors import DataFormatError


def _write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        (folder / f"{name}.csv").write_bytes(content.encode())
    return folder


def test_edges_alone(tmp_path: Path) -> None:
    _write(tmp_path, edges="graph,source,target\nb,x,y\na,p,q\nb,y,z\na,q,p\n")
    named = read_graphs(tmp_path).named()
    assert named.names == ("b", "a")
    assert named.store.num_nodes.tolist() == [3, 2]
    assert named.store.num_edges.tolist() == [2, 1]
    assert named.labels == [None, None]


def test_one_graph_needs_no_graph_column(tmp_path: Path) -> None:
    folder = tmp_path / "roads"
    folder.mkdir()
    _write(folder, edges="source,target\n1,2\n2,3\n")
    assert read_graphs(folder / "edges.csv").names == ("roads",)


def test_other_separators_and_a_byte_order_mark(tmp_path: Path) -> None:
    for separator in ";\t":
        text = "\ufeffGraph,Source,Target\r\ng,1,2\r\n".replace(",", separator)
        assert read_graphs(_write(tmp_path, edges=text)).names == ("g",)


def test_a_labelled_graph_without_edges_keeps_its_nodes(tmp_path: Path) -> None:
    _write(
        tmp_path,
        edges="graph,source,target\ng1,1,2\n",
        nodes="graph,node,label\ng2,1,C\ng1,2,N\ng1,1,C\n",
        labels="graph,label\ng1,yes\ng2,no\n",
    )
    named = read_graphs(tmp_path).named()
    assert named.store.num_nodes.tolist() == [2, 1]
    assert named.vocabulary.labels == ("C", "N")
    assert named.store.node_label.tolist() == [1, 0, 0]  # in the order of nodes.csv within a graph
    assert named.labels == ["yes", "no"]


def test_a_labelled_graph_of_which_nothing_is_known_is_empty(tmp_path: Path) -> None:
    _write(tmp_path, edges="graph,source,target\ng1,1,2\n", labels="graph,label\ng0,no\ng1,yes\n")
    assert read_graphs(tmp_path).sizes.tolist() == [0, 2]


def test_many_edges_against_networkx(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [(int(g), int(a), int(b)) for g, a, b in rng.integers(0, 40, (20_000, 3))]
    _write(tmp_path, edges="graph,source,target\n" + "".join(f"g{g},{a},{b}\n" for g, a, b in rows))
    named = read_graphs(tmp_path).named()
    for number, name in enumerate(named.names):
        expected = nx.Graph([(a, b) for g, a, b in rows if f"g{g}" == name])
        expected.remove_edges_from(list(nx.selfloop_edges(expected)))
        store = named.store.select([number])
        assert sorted(store.degree.tolist()) == sorted(degree for _, degree in expected.degree)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"edges": "graph,source\ng,1\n"}, "not recognised|there is no column 'target'"),
        ({"edges": "graph,source,target\ng,1,2\ng,1\n"}, r"edges.csv, line 3: nothing in the column 'target'"),
        ({"edges": "graph,source,target\ng,1,2\ng,1,2,3\n"}, r"edges.csv, line 3: 4 fields, but the header has 3"),
        ({"edges": 'graph,source,target\n"g\nh",1,2\ng,,2\n'}, r"edges.csv, line 4: nothing in the column 'source'"),
        ({"edges": ""}, r"edges.csv, line 1: the file is empty"),
        ({"edges": "a,a,source\n1,2,3\n"}, r"line 1: two columns have the same name"),
        (
            {"edges": "graph,source,target\ng,1,2\n", "nodes": "graph,node\ng,1\n"},
            r"edges.csv, line 2: the graph 'g' has no node '2'",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\n", "nodes": "graph,node\ng,1\ng,2\ng,1\n"},
            r"nodes.csv, line 4: the node '1' of the graph 'g' comes twice",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\n", "nodes": "graph,node,w\ng,1,0.5\ng,2,much\n"},
            r"nodes.csv, line 3: w: 'much' is not a finite number",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\n", "nodes": "graph,node,w\ng,1,0.5\ng,2,inf\n"},
            r"nodes.csv, line 3: w: 'inf' is not a finite number",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\n", "nodes": "graph,node,a,b\ng,1,x,y\ng,2,x,y\n"},
            r"several columns of text \(a, b\); name the one that is their label 'label'",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\nh,1,2\n", "labels": "graph,label\ng,A\n"},
            r"edges.csv, line 3: the graph 'h' is not in labels.csv",
        ),
        (
            {"edges": "graph,source,target\ng,1,2\n", "labels": "graph,label\ng,A\ng,B\n"},
            r"labels.csv, line 3: the graph 'g' comes twice",
        ),
    ],
)
def test_malformed_tables_are_named_with_their_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(DataFormatError, match=message):
        read_graphs(_write(tmp_path, **files))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_bytes(b"graph,source,target\ng,1,2\ng,\xff,2\n")
    with pytest.raises(DataFormatError, match=r"edges.csv, line 3: byte 0xff is not UTF-8"):
        read_graphs(tmp_path)


def test_molecules(tmp_path: Path) -> None:
    file = _write(
        tmp_path, m="name,smiles,label\nethanol,CCO,alcohol\nbenzene,c1ccccc1,ring\nions,[NH4+].[O-]C=O,salt\n"
    )
    named = read_graphs(file / "m.csv").named()
    assert named.names == ("ethanol", "benzene", "ions")
    assert named.labels == ["alcohol", "ring", "salt"]
    assert named.store.num_nodes.tolist() == [3, 6, 4]
    assert named.store.num_edges.tolist() == [2, 6, 2]
    labels = named.vocabulary.labels
    assert labels is not None
    assert [labels[code] for code in named.store.node_label] == ["C", "C", "O", *"cccccc", "N+", "O-", "C", "O"]
    assert named.vocabulary.attributes == (*COUNTED, *ATTRIBUTES)
    ethanol = [[1, 0, 0, 0, 3, 0], [2, 0, 0, 0, 2, 0], [1, 0, 0, 0, 1, 0]]
    assert named.store.node_attr.tolist() == [
        *ethanol,
        *[[0, 0, 0, 2, 1, 1]] * 6,
        [0, 0, 0, 0, 4, 0],
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 0],
    ]


def test_molecules_with_a_node_per_bond(tmp_path: Path) -> None:
    file = (
        _write(tmp_path, m="name,smiles\nethane,CC\nethene,C=C\nethyne,C#C\npyrrole,c1cc[nH]c1\nxenon,[Xe]\n") / "m.csv"
    )
    named = read_graphs(file, "smiles_bonds").named()
    assert named.store.num_nodes.tolist() == [3, 3, 3, 10, 1], "atoms and bonds"
    assert named.store.num_edges.tolist() == [2, 2, 2, 10, 0], "a bond is joined to its two atoms"
    labels = named.vocabulary.labels
    assert labels is not None
    names = [labels[code] for code in named.store.node_label]
    assert names[:9] == ["C", "C", "-", "C", "C", "=", "C", "C", "#"]
    assert sorted(names[9:19]) == sorted(["c"] * 4 + ["n"] + [":"] * 5)
    assert named.vocabulary.attributes == ATTRIBUTES
    assert named.store.node_attr[:3].tolist() == [[3, 0], [3, 0], [0, 0]]
    # Atoms at a distance d are at a distance 2 d, with the bonds between them.
    plain = read_graphs(file, "smiles").named().store
    for number in (3, 4):
        atoms, both = (
            nx.Graph(list(zip(*s.select([number]).edge_index.tolist(), strict=True))) for s in (plain, named.store)
        )
        far = dict(nx.all_pairs_shortest_path_length(both))
        for one, row in nx.all_pairs_shortest_path_length(atoms):
            assert {other: far[one][other] for other in row} == {other: 2 * d for other, d in row.items()}


def test_bonds_are_labels_to_a_kernel(tmp_path: Path) -> None:
    """Chains that differ in their bonds alone: the same to a kernel by atoms, told apart by atoms and bonds."""
    rows = "".join(f"{'C' * n},chain\n{'C=' * (n - 1)}C,double\n" for n in range(3, 9))
    file = _write(tmp_path, m=f"smiles,label\n{rows}") / "m.csv"
    for format_name, expected in (("smiles", False), ("smiles_bonds", True)):
        raw = read_graphs(file, format_name)
        left_out = FewShotClassifier("wl").fit(raw, list(raw.classes)).leave_one_out()
        assert (left_out.accuracy == 1.0) is expected


def test_what_is_not_a_molecule(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataFormatError, match=r"m.csv, line 3: 'C1CC' is not a molecule in SMILES"):
        read_graphs(_write(tmp_path, m="smiles\nCCO\nC1CC\n") / "m.csv")
    assert capfd.readouterr().err == ""
