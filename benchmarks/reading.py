"""Raw Reddit to a stored `GraphStore`, against a reader that builds networkx graphs line by line."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path

import networkx as nx

from benchmarks.timing import report, seconds
from fsgc.data.readers.gsm import read_gsm


def networkx_reader(file: Path) -> list[tuple[nx.Graph, int]]:
    """The way GIN's public reader goes: one line at a time, one networkx graph per graph."""
    graphs = []
    with file.open() as lines:
        for _ in range(int(lines.readline())):
            nodes, label = map(int, lines.readline().split())
            graph = nx.Graph()
            for node in range(nodes):
                tag, _, *neighbours = map(int, lines.readline().split())
                graph.add_node(node, tag=tag)
                graph.add_edges_from((node, other) for other in neighbours)
            graphs.append((graph, label))
    return graphs


def main() -> None:
    """Time both on the real file."""
    mirror = os.environ.get("FSGC_MIRROR", "")
    file = Path(mirror) / "gsm" / "Reddit.txt"
    if not mirror or not file.exists():
        print("raw Reddit to store: skipped; set FSGC_MIRROR to a directory with the raw files")
        return
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch)

        def ours() -> None:
            read_gsm(file.parent, {"file": file.name}).save(target / "reddit.zarr")

        def plain() -> None:
            (target / "reddit.pickle").write_bytes(pickle.dumps(networkx_reader(file)))

        report("raw Reddit to store, against networkx graphs to a pickle", seconds(ours, 3), seconds(plain, 1))


if __name__ == "__main__":
    main()
