"""Graphs of PyG whose tensors are without end, without values or of another kind, from a file and in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from fsgc.data.formats.pyg_file import raw_from_pyg
from fsgc.data.formats.read import read_graphs
from fsgc.errors import DataFormatError

EDGE = torch.tensor([[0], [1]])
LONG = 10**13


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "expanded x": ({"x": torch.ones(1, 1).expand(LONG, 1)}, "'x' is expanded: 10000000000000 numbers"),
    "expanded edges": ({"edge_index": EDGE[:, :1].expand(2, LONG)}, "'edge_index' is expanded: 20000000000000"),
    "expanded labels": ({"node_label": torch.ones(1).expand(LONG)}, "'node_label' is expanded"),
    "expanded class": ({"y": torch.ones(1).expand(LONG)}, "'y' is expanded"),
    "many rows": ({"x": torch.zeros(LONG, 0)}, "10000000000000 nodes, though its edges, 'x' and labels are 2 in all"),
    "many columns": ({"x": torch.zeros(0, LONG)}, "10000000000000 columns of 'x', though"),
    "many nodes": ({"num_nodes": 10**15}, "1000000000000000 nodes, though its edges, 'x' and labels are 2 in all"),
    "a large end": ({"edge_index": torch.tensor([[0], [2**62]])}, "4611686018427387905 nodes, though"),
    "negative nodes": ({"num_nodes": -3}, "'num_nodes' is -3"),
    "nodes of a text": ({"num_nodes": "2"}, "'num_nodes' is not a whole number"),
    "nodes of a tensor": ({"num_nodes": torch.tensor([2, 2])}, "'num_nodes' is not a whole number"),
    "sparse x": ({"x": torch.eye(2).to_sparse()}, r"'x' is not dense; convert it with to_dense\(\)"),
    "sparse edges": ({"edge_index": EDGE.to_sparse()}, "'edge_index' is not dense"),
    "sparse labels": ({"node_label": torch.ones(2).to_sparse()}, "'node_label' is not dense"),
    "meta x": ({"x": torch.ones(2, 1, device="meta")}, "'x' has no values: it is on the device 'meta'"),
    "meta class": ({"y": torch.ones(1, device="meta")}, "'y' has no values"),
    "complex x": ({"x": torch.ones(2, 1, dtype=torch.complex64)}, "'x' is not a matrix of numbers"),
    "complex class": ({"y": torch.ones(1, dtype=torch.complex64)}, "'y' has a complex; use strings or numbers"),
    "x that is a list": ({"x": [1.0, 2.0]}, "'x' is not a tensor"),
    "a number for labels": ({"node_label": 5}, "'node_label' is neither a tensor nor a list, but int"),
    "a text for labels": ({"node_label": "CC"}, "'node_label' is neither a tensor nor a list, but str"),
    "a list for a class": ({"y": [1, 2]}, "'y' has a list; use strings or numbers"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("from_file", [True, False])
def test_values_that_cannot_be_used(tmp_path: Path, case: str, from_file: bool) -> None:
    values, message = CASES[case]
    graphs = [Data(**{"edge_index": EDGE, **values})]
    torch.save(graphs, tmp_path / "a.pt")
    with pytest.raises(DataFormatError, match=f"graph 0: {message}"):
        read_graphs(tmp_path / "a.pt") if from_file else raw_from_pyg(graphs)


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of these kinds when it reads them
@pytest.mark.parametrize(
    "make",
    [lambda: torch.eye(2).to_sparse_csr(), lambda: torch.quantize_per_tensor(torch.ones(2, 1), 0.1, 0, torch.qint8)],
    ids=["rows", "quantised"],
)
def test_other_kinds_of_tensors(tmp_path: Path, make: Callable[[], torch.Tensor]) -> None:
    x = make()
    with pytest.raises(DataFormatError, match=r"graph 0: 'x' is (not dense|quantised)"):
        raw_from_pyg([Data(x=x, edge_index=EDGE)])
    torch.save([Data(x=x, edge_index=EDGE)], tmp_path / "a.pt")
    with pytest.raises(DataFormatError, match=r"a.pt: "):
        read_graphs(tmp_path / "a.pt")


def test_a_number_with_more_digits_than_python_writes() -> None:
    with pytest.raises(DataFormatError, match="graph 0: 'y': Exceeds the limit"):
        raw_from_pyg([Data(edge_index=EDGE, y=10**5000)])


def test_a_graph_that_lacks_everything() -> None:
    with pytest.raises(DataFormatError, match=r"graph 0: cannot be used \(\w+: "):
        raw_from_pyg([Data.__new__(Data)])


def test_what_is_shared_by_many_graphs_is_read(tmp_path: Path) -> None:
    """One `edge_index`, one list of labels and one tuple for all graphs are nothing unusual."""
    size, labels = (3, 4), ["C", "N"]
    graphs = [Data(x=torch.rand(2, 1), edge_index=EDGE, y=1, node_label=labels, size=size) for _ in range(50)]
    torch.save(graphs, tmp_path / "a.pt")
    raw = read_graphs(tmp_path / "a.pt")
    assert raw.sizes.tolist() == [2] * 50
    assert raw.source.tolist() == list(range(0, 100, 2))
    assert raw.node_label is not None
    assert raw.node_label.to_list() == labels * 50


@pytest.mark.parametrize(
    "graph",
    [
        Data(edge_index=torch.zeros(2, 300_000, dtype=torch.long)),
        Data(edge_index=EDGE, num_nodes=900_000),
        Data(edge_index=EDGE, node_label=["x" * 500_000, "y"]),
    ],
    ids=["edges", "nodes", "labels"],
)
def test_one_graph_again_and_again(tmp_path: Path, graph: Data) -> None:
    """Two bytes of a pickle are enough for one more."""
    torch.save([graph] * 5000, tmp_path / "a.pt")
    with pytest.raises(DataFormatError, match=r"graph \d+: with it the graphs are many times what the file holds"):
        read_graphs(tmp_path / "a.pt")
