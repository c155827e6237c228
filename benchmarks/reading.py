"""Raw Reddit to a stored `GraphStore`, against a reader that builds networkx graphs line by line.

And reading the stored one with every digest checked, against Zarr by itself, which checks nothing.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import zarr

from benchmarks.timing import report, seconds
from fsgc.data.graph_store import ARRAYS, KIND
from fsgc.data.readers.gsm import read_gsm
from fsgc.zarr_io import read_arrays


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

        def checked() -> None:
            read_arrays(target / "reddit.zarr", KIND, ARRAYS)

        def unchecked() -> list[np.ndarray[Any, Any]]:
            group = zarr.open_group(target / "reddit.zarr", mode="r")
            return [np.asarray(group[name]) for name in ARRAYS]

        report("stored Reddit, digests checked, against Zarr by itself", seconds(checked, 20), seconds(unchecked, 20))


if __name__ == "__main__":
    main()
