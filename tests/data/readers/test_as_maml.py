from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsgc.data.readers.as_maml import read_as_maml
from fsgc.data.readers.gsm import read_gsm
from fsgc.data.readers.tu import read_tu
from fsgc.errors import DataFormatError

CONTENT: dict[str, Any] = {
    "train_set": {
        "label2graphs": {3: [1], 2: [5]},
        "graph2nodes": {1: [0, 1, 2], 5: [6, 5]},
        "graph2edges": {1: [[0, 1], [1, 0], [1, 2]], 5: [(5, 6)]},
    },
    "val_set": {"label2graphs": {3: [0]}, "graph2nodes": {0: [3]}, "graph2edges": {0: []}},
    "test_set": {"label2graphs": {9: [7]}, "graph2nodes": {7: [4, 7]}, "graph2edges": {7: [[7, 4]]}},
    "node_attributes": ["0", "1", "2", "3", "4", "5", "6", "7"],
}


def _write(directory: Path, content: dict[str, Any]) -> Path:
    for name, value in content.items():
        (directory / f"X_{name}.pickle").write_bytes(pickle.dumps(value, protocol=3))
    return directory


def test_a_small_dataset_by_hand(tmp_path: Path) -> None:
    store = read_as_maml(_write(tmp_path, CONTENT), {"prefix": "X"})
    assert store.y.tolist() == [3, 3, 2, 9]  # graph ids 0, 1, 5, 7
    assert store.num_nodes.tolist() == [1, 3, 2, 2]
    assert store.node_attr[:, 0].tolist() == [3, 0, 1, 2, 6, 5, 4, 7]
    assert store.edge_index.tolist() == [[1, 0, 2, 1, 1, 0, 1, 0], [0, 1, 1, 2, 0, 1, 0, 1]]


def test_attributes_may_be_an_array(tmp_path: Path) -> None:
    table = np.arange(16.0).reshape(8, 2)
    store = read_as_maml(_write(tmp_path, {**CONTENT, "node_attributes": table}), {"prefix": "X"})
    assert store.node_attr[0].tolist() == [6, 7]


def _change(path: list[Any], value: Any) -> dict[str, Any]:
    content = copy.deepcopy(CONTENT)
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ["train_set", "graph2edges", 5],
            [[5, 4]],
            "graph 2: an edge names node 4, which is not a node of graph id 5",
        ),
        (["train_set", "graph2edges", 5], [[5, 99]], "names node 99"),
        (["train_set", "graph2edges", 5], [[5]], "pairs of node ids"),
        (["train_set", "graph2edges", 5], [5, 6], "pairs of node ids"),
        (["train_set", "graph2edges", 5], [[5, "6"]], "expected integers, found str"),
        (["train_set", "graph2edges", 5], None, "expected a list, found NoneType"),
        (["train_set", "graph2edges", 8], [], "do not name the same graphs"),
        (["train_set", "graph2nodes", 5], [5, 6, 6], "node 6 is listed twice"),
        (["train_set", "graph2nodes", 5], [5, 6, 4], "node 4 is listed twice"),
        (["train_set", "graph2nodes", 5], [5, 6, 8], "8 rows, but none for node 8"),
        (["train_set", "graph2nodes", 5], [5, 6, -1], "none for node -1"),
        (["train_set", "graph2nodes", 5], [5, 6.0], "expected integers, found float"),
        (["train_set", "graph2nodes", 5], [5, 6, 2**70], "does not fit 64 bits"),
        (["val_set", "graph2nodes", 0], [], "graph 0: the graph has no nodes"),
        (["train_set", "label2graphs", 2], [5, 0], "do not name the same graphs"),
        (["train_set", "label2graphs", 2**40], [], None),
        (["train_set", "label2graphs"], {2**40: [1], 2: [5]}, "too large"),
        (["train_set", "label2graphs"], {"a": [1], 2: [5]}, "found str"),
        (["train_set"], [1, 2], "expected a dictionary"),
        (["test_set"], CONTENT["val_set"], "graph id 0 is in two sets"),
        (["node_attributes"], ["0"] * 7 + ["x"], "not a number"),
        (["node_attributes"], ["0"] * 7 + ["nan"], "not a finite number"),
        (["node_attributes"], ["0"] * 3, "3 rows, but none for node"),
        (["node_attributes"], {}, "expected a list of numbers"),
        (["node_attributes"], np.zeros((8, 1, 1)), "one or two dimensions"),
    ],
)
def test_malformed_files_are_named(tmp_path: Path, path: list[Any], value: Any, message: str | None) -> None:
    _write(tmp_path, _change(path, value))
    if message is None:  # a class without graphs is harmless
        assert len(read_as_maml(tmp_path, {"prefix": "X"})) == 4
        return
    with pytest.raises(DataFormatError, match=message):
        read_as_maml(tmp_path, {"prefix": "X"})


@pytest.mark.real
def test_real_triangles_are_those_of_gsm(mirror: Path) -> None:
    store = read_as_maml(mirror / "as-maml" / "TRIANGLES", {"prefix": "TRIANGLES"})
    gsm = read_gsm(mirror / "gsm", {"file": "TRIANGLES.txt"})
    for name in ("node_ptr", "edge_ptr", "edge_index", "y"):
        np.testing.assert_array_equal(getattr(store, name), getattr(gsm, name))
    np.testing.assert_array_equal(store.node_attr[:, 0], gsm.node_label)


@pytest.mark.real
def test_real_coil_del_attributes_are_those_of_tu(mirror: Path, coil_del: Path, tmp_path: Path) -> None:
    """AS-MAML's attribute file of COIL-DEL, with sets made from TU's graphs."""
    tu = read_tu(coil_del, {"prefix": "COIL-DEL"}).select(np.arange(600))
    first = tu.node_ptr[:-1]
    pairs = np.split((tu.edge_index + np.repeat(first, np.diff(tu.edge_ptr))).T, tu.edge_ptr[1:-1])
    for name, kept in zip(("train_set", "val_set", "test_set"), np.array_split(np.arange(len(tu)), 3), strict=True):
        content = {
            "label2graphs": {int(c): kept[tu.y[kept] == c].tolist() for c in np.unique(tu.y[kept])},
            "graph2nodes": {int(g): list(range(tu.node_ptr[g], tu.node_ptr[g + 1])) for g in kept},
            "graph2edges": {int(g): pairs[g].tolist() for g in kept},
        }
        (tmp_path / f"COIL-DEL_{name}.pickle").write_bytes(pickle.dumps(content))
    attributes = "COIL-DEL_node_attributes.pickle"
    (tmp_path / attributes).write_bytes((mirror / "as-maml" / "COIL-DEL" / attributes).read_bytes())
    assert read_as_maml(tmp_path, {"prefix": "COIL-DEL"}).fingerprint() == tu.fingerprint()
