from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from torch_geometric.io import read_tu_data
from torch_geometric.utils import coalesce

from fsgc.data.readers.tu import read_tu
from fsgc.errors import DataFormatError

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "4\n9\n",
    "node_labels": "0\n1\n0\n2\n2\n",
    "node_attributes": "1.5, 2\n0, 0\n-1, 4\n1, 1\n2, 2\n",
}


def _write(directory: Path, **changes: str | None) -> Path:
    for name, content in {**FILES, **changes}.items():
        if content is not None:
            (directory / f"X_{name}.txt").write_text(content)
    return directory


def test_a_small_dataset_by_hand(tmp_path: Path) -> None:
    store = read_tu(_write(tmp_path), {"prefix": "X", "label_offset": -4})
    assert store.y.tolist() == [0, 5]
    assert store.node_ptr.tolist() == [0, 3, 5]
    assert store.edge_index.tolist() == [[1, 0, 2, 1, 1, 0], [0, 1, 1, 2, 0, 1]]
    assert store.node_label.tolist() == [0, 1, 0, 2, 2]
    assert store.node_attr.tolist() == [[1.5, 2], [0, 0], [-1, 4], [1, 1], [2, 2]]


def test_labels_and_attributes_may_be_missing(tmp_path: Path) -> None:
    store = read_tu(_write(tmp_path, node_labels=None, node_attributes=None), {"prefix": "X"})
    assert store.node_label.tolist() == [0] * 5
    assert store.node_attr.shape == (5, 0)


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("A", "1, 2\n2, 6\n", 2, r"\(2, 6\) names a node outside 1..5"),
        ("A", "0, 2\n", 1, "outside 1..5"),
        ("A", "1, 2\n3, 4\n", 2, "joins two graphs"),
        ("A", "1, 2\n3\n", 2, "expected 2 integer"),
        ("A", "1, 2\nx, 2\n", 2, "'x' is not an integer"),
        ("graph_indicator", "1\n1\n2\n1\n2\n", 4, "not grouped by graph"),
        ("graph_indicator", "1\n1\n1\n2\n3\n", 5, "graph 3 has no label"),
        ("graph_indicator", "2\n2\n2\n2\n2\n", None, "graph 0: the graph has no nodes"),
        ("graph_labels", "4\nblue\n", 2, "'blue' is not an integer"),
        ("graph_labels", "4\n99999999999\n", 2, "too large"),
        ("node_labels", "0\n1\n", 3, "2 lines for 5 nodes"),
        ("node_labels", "0\n1\n0\n2\n2\n7\n", 6, "6 lines for 5 nodes"),
        ("node_labels", "0\n1 1\n0\n2\n2\n", 2, "expected 1 integer"),
        ("node_attributes", "1, 2\n0, nan\n-1, 4\n1, 1\n2, 2\n", 2, "'nan' is not a finite number"),
        ("node_attributes", "1, 2\n0\n-1, 4\n1, 1\n2, 2\n", 2, "expected 2 numbers as on line 1, found 1"),
        ("node_attributes", "1, 2\n", 2, "1 lines for 5 nodes"),
    ],
)
def test_malformed_files_name_the_line(tmp_path: Path, name: str, content: str, line: int, message: str) -> None:
    with pytest.raises(DataFormatError, match=message) as caught:
        read_tu(_write(tmp_path, **{name: content}), {"prefix": "X"})
    assert caught.value.line == line
    assert f"X_{name}.txt" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match=r"X_graph_labels\.txt: the raw file cannot be read"):
        read_tu(_write(tmp_path, graph_labels=None), {"prefix": "X"})


@pytest.mark.real
@pytest.mark.parametrize("name", ["COIL-DEL", "ENZYMES", "Letter-high"])
def test_real_files_agree_with_pyg(mirror: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(mirror / "tu" / f"{name}.zip") as archive:
        for member in archive.infolist():
            (tmp_path / Path(member.filename).name).write_bytes(archive.read(member))
    store = read_tu(tmp_path, {"prefix": name})
    data, slices, sizes = read_tu_data(str(tmp_path), name)
    labels_of_raw_file = np.loadtxt(tmp_path / f"{name}_graph_labels.txt", dtype=int)
    assert store.y.tolist() == labels_of_raw_file.tolist()
    assert np.unique(store.y, return_inverse=True)[1].tolist() == data.y.tolist()
    np.testing.assert_array_equal(store.node_ptr, slices["x"])
    attributes = sizes["num_node_attributes"]
    np.testing.assert_allclose(store.node_attr, data.x[:, :attributes], rtol=1e-6)
    if sizes["num_node_labels"]:
        labels = data.x[:, attributes:].argmax(dim=1).numpy()
        assert np.unique(store.node_label, return_inverse=True)[1].tolist() == labels.tolist()
    # PyG numbers nodes through the whole dataset before it slices: compare there, every graph at once.
    first = slices["x"][:-1].repeat_interleave(slices["edge_index"].diff())
    theirs = coalesce(data.edge_index + first, sort_by_row=False).numpy()
    np.testing.assert_array_equal(np.diff(store.edge_ptr), slices["edge_index"].diff().numpy())
    np.testing.assert_array_equal(store.edge_index + np.repeat(store.node_ptr[:-1], np.diff(store.edge_ptr)), theirs)
