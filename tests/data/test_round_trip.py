"""Raw text to store to PyG and back to the edges it was written from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.gsm import read_gsm
from fsgc.data.readers.tu import read_tu
from tests.graphs import graph_lists

Graphs = list[tuple[int, list[tuple[int, int]]]]


def _neighbours(nodes: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """Neighbours of every node, ascending; no self-loops, no repetitions."""
    both = {(u, v) for a, b in edges if a != b for u, v in ((a, b), (b, a))}
    return [sorted(v for u, v in both if u == node) for node in range(nodes)]


def _as_gsm(graphs: Graphs) -> str:
    lines = [str(len(graphs))]
    for label, (nodes, edges) in enumerate(graphs):
        lines.append(f"{nodes} {label}")
        for node, neighbours in enumerate(_neighbours(nodes, edges)):
            lines.append(" ".join(map(str, [node % 3, len(neighbours), *neighbours])))
    return "\n".join(lines) + "\n"


def _check(store: GraphStore, graphs: Graphs, labelled: bool) -> None:
    assert len(store) == len(graphs)
    for index, (nodes, edges) in enumerate(graphs):
        data = store.to_data(index)
        expected = sorted((v, u) for u, others in enumerate(_neighbours(nodes, edges)) for v in others)
        assert data.num_nodes == nodes
        assert data.y.tolist() == [index]
        assert sorted(zip(*data.edge_index.tolist(), strict=True)) == expected
        if labelled:
            assert data.node_label.tolist() == [node % 3 for node in range(nodes)]
    back = GraphStore.from_pyg([store.to_data(index) for index in range(len(store))])
    assert back.fingerprint() == store.fingerprint()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round-trip")


@given(graph_lists())
def test_gsm_text_to_store_to_data_and_back(scratch: Path, graphs: Graphs) -> None:
    (scratch / "x.txt").write_text(_as_gsm(graphs))
    _check(read_gsm(scratch, {"file": "x.txt"}), graphs, labelled=True)


@given(graph_lists())
def test_tu_files_to_store_to_data_and_back(scratch: Path, graphs: Graphs) -> None:
    first, pairs, indicator = 1, [], []
    for index, (nodes, edges) in enumerate(graphs):
        pairs += [f"{u + first}, {v + first}" for u, v in edges]
        indicator += [str(index + 1)] * nodes
        first += nodes
    (scratch / "X_A.txt").write_text("\n".join(pairs) + "\n")
    (scratch / "X_graph_indicator.txt").write_text("\n".join(indicator) + "\n")
    (scratch / "X_graph_labels.txt").write_text("\n".join(str(index) for index in range(len(graphs))) + "\n")
    _check(read_tu(scratch, {"prefix": "X"}), graphs, labelled=False)
