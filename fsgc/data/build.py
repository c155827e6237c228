"""From a dataset's raw files to its checked graph store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fsgc.data.catalog import Dataset, ReaderName, Statistics
from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.as_maml import read_as_maml
from fsgc.data.readers.gsm import read_gsm
from fsgc.data.readers.r52 import read_r52
from fsgc.data.readers.tu import read_tu
from fsgc.data.triangles import generate_triangles
from fsgc.errors import DataFormatError
from fsgc.files import sha256_of

READERS: Mapping[ReaderName, Callable[[Path, Mapping[str, Any]], GraphStore]] = {
    "gsm": read_gsm,
    "tu": read_tu,
    "as_maml": read_as_maml,
    "r52": read_r52,
    "triangles_gen": lambda _, options: generate_triangles(**options),
    "own": lambda raw, options: _own(raw, options),
}


def _own(raw: Path, options: Mapping[str, Any]) -> GraphStore:
    # Loaded by name, so that the datasets of the catalog do not depend on the formats of a user's own.
    store: GraphStore = import_module("fsgc.data.own").read_own(raw, options)
    return store


# A change of what a reader makes of the same files raises this number, which every store carries.
READER_VERSION = 1


def build_graphs(dataset: Dataset, raw: Path) -> GraphStore:
    """Read the raw files of `dataset` in the directory `raw` and check that they hold what the catalog says."""
    graphs = READERS[dataset.reader](raw, dataset.options)
    unexpected = sorted(set(graphs.classes.tolist()) ^ set(dataset.classes))
    if unexpected:
        raise DataFormatError(f"class {unexpected[0]} is in the data or in the catalog, but not in both", file=raw)
    found = statistics_of(graphs)
    if found != dataset.statistics:
        raise DataFormatError(
            f"the graphs are not those of the catalog: {found}, expected {dataset.statistics}", file=raw
        )
    files = [member.name for file in dataset.files for member in (file.members or (file,))]
    attributes = {
        "class_names": [str(c) for c in dataset.classes],
        **graphs.attributes,
        "dataset": dataset.key,
        "title": dataset.title,
        "source": [url for file in dataset.files for url in file.urls],
        "checksum": {name: sha256_of(raw / name) for name in files},
        "reader": dataset.reader,
        "reader_version": READER_VERSION,
        "reader_options": dict(dataset.options),
        "node_labels": dataset.node_labels,
    }
    return replace(graphs, attributes=attributes)


def statistics_of(graphs: GraphStore) -> Statistics:
    """The figures of the catalog, with averages to two decimals."""
    return Statistics(
        graphs=len(graphs),
        classes=len(graphs.classes),
        nodes=round(float(graphs.num_nodes.mean()), 2),
        edges=round(float(graphs.num_edges.mean()), 2),
    )
