from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError, StoreError
from tests.graphs import graph_lists, random_store


def _as_networkx(store: GraphStore, graph: int) -> nx.Graph:
    result = nx.Graph()
    result.add_nodes_from(range(int(store.num_nodes[graph])))
    edges = slice(*store.edge_ptr[graph : graph + 2])
    result.add_edges_from(store.edge_index[:, edges].T.tolist())
    return result


@given(graph_lists())
def test_from_edges_keeps_what_networkx_keeps(graphs: list[tuple[int, list[tuple[int, int]]]]) -> None:
    sizes = np.array([nodes for nodes, _ in graphs])
    first = np.cumsum(sizes) - sizes
    pairs = [(u + f, v + f) for (_, edges), f in zip(graphs, first, strict=True) for u, v in edges]
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    store = GraphStore.from_edges(sizes, source, target, np.arange(len(graphs)))
    for graph, (nodes, edges) in enumerate(graphs):
        expected = nx.Graph()
        expected.add_nodes_from(range(nodes))
        expected.add_edges_from((u, v) for u, v in edges if u != v)
        assert nx.utils.graphs_equal(_as_networkx(store, graph), expected)
        assert store.num_edges[graph] == expected.number_of_edges()
        here = slice(*store.edge_ptr[graph : graph + 2])
        order = store.edge_index[::-1, here].T.tolist()
        assert order == sorted(order), "sorted by target, then source"
        nodes_here = slice(*store.node_ptr[graph : graph + 2])
        assert store.degree[nodes_here].tolist() == [degree for _, degree in sorted(expected.degree())]


@given(st.integers(0, 2**32), st.lists(st.integers(0, 7), max_size=12))
def test_select_is_one_graph_after_the_other(seed: int, chosen: list[int]) -> None:
    store = random_store(seed, graphs=8, attributes=2)
    part = store.select(chosen)
    assert part.y.tolist() == store.y[chosen].tolist()
    for new, old in enumerate(chosen):
        assert nx.utils.graphs_equal(_as_networkx(part, new), _as_networkx(store, old))
        mine, theirs = (slice(*s.node_ptr[g : g + 2]) for s, g in ((part, new), (store, old)))
        np.testing.assert_array_equal(part.node_attr[mine], store.node_attr[theirs])
        np.testing.assert_array_equal(part.node_label[mine], store.node_label[theirs])


def _bytes_of(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_saved_and_loaded_it_is_the_same_and_the_bytes_are_too(tmp_path: Path) -> None:
    store = random_store(3, graphs=5, attributes=2)
    store.save(tmp_path / "a.zarr")
    store.save(tmp_path / "b.zarr")
    assert _bytes_of(tmp_path / "a.zarr") == _bytes_of(tmp_path / "b.zarr")
    loaded = GraphStore.load(tmp_path / "a.zarr")
    assert loaded.fingerprint() == store.fingerprint()
    assert {**store.attributes, "kind": "fsgc.graphs", "version": 1} == loaded.attributes


def test_no_attributes_no_edges_still_a_store(tmp_path: Path) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    store = GraphStore.from_edges(np.array([1, 2]), nothing, nothing, np.array([0, 1]))
    store.save(tmp_path / "x.zarr")
    assert GraphStore.load(tmp_path / "x.zarr").num_edges.tolist() == [0, 0]


def test_fingerprint_tells_stores_apart() -> None:
    store = random_store(3, graphs=5)
    assert store.select([0, 1, 2, 3, 4]).fingerprint() == store.fingerprint()
    assert store.select([1, 0, 2, 3, 4]).fingerprint() != store.fingerprint()


def test_a_missing_damaged_or_foreign_store_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        GraphStore.load(tmp_path / "no.zarr")
    random_store(3, graphs=5).save(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / "node_label" / "c" / "0").write_bytes(b"damaged")
    with pytest.raises(StoreError, match="damaged"):
        GraphStore.load(tmp_path / "x.zarr")
    shutil.rmtree(tmp_path / "x.zarr" / "node_label")
    with pytest.raises(StoreError, match="damaged"):
        GraphStore.load(tmp_path / "x.zarr")
    (tmp_path / "x.zarr" / "zarr.json").write_text("{")
    with pytest.raises(StoreError, match="not a readable"):
        GraphStore.load(tmp_path / "x.zarr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(4, np.int32)}, "pointers for 5 graphs"),
        ({"node_attr": np.zeros((1, 2), np.float32)}, "attributes for 1"),
        ({"node_ptr": np.arange(6) * 2}, "nodes do not cover"),
        ({"edge_ptr": np.array([0, 3, 2, 2, 2, 2])}, "edges do not cover"),
    ],
)
def test_inconsistent_arrays_are_refused(change: dict[str, npt.NDArray[Any]], message: str) -> None:
    store = random_store(3, graphs=5)
    names = ("node_ptr", "edge_ptr", "edge_index", "node_label", "node_attr", "y")
    with pytest.raises(DataFormatError, match=message):
        GraphStore(**{**{name: getattr(store, name) for name in names}, **change})


def test_the_offending_graph_is_named() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(DataFormatError, match="graph 1: the graph has no nodes"):
        GraphStore.from_edges(np.array([2, 0, 1]), nothing, nothing, np.arange(3))
    attributes = np.array([[0.0], [1.0], [np.nan]])
    with pytest.raises(DataFormatError, match="graph 1: node 0 has an attribute"):
        GraphStore.from_edges(np.array([2, 1]), nothing, nothing, np.arange(2), node_attr=attributes)
    store = random_store(3, graphs=5)
    broken = store.edge_index.copy()
    broken[0, -1] = 99
    with pytest.raises(DataFormatError, match="graph 4: an edge names a node outside"):
        GraphStore(store.node_ptr, store.edge_ptr, broken, store.node_label, store.node_attr, store.y)


def test_a_store_followed_by_another_is_both() -> None:
    whole = random_store(5, graphs=12, classes=3, attributes=2)
    first, second = whole.select(range(5)), whole.select(range(5, 12))
    assert first.followed_by(second).fingerprint() == whole.fingerprint()
    other = random_store(6, graphs=3, classes=2, attributes=1)
    with pytest.raises(DataFormatError, match="have 1 attributes, those of the graphs before them 2"):
        first.followed_by(other)
