from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.data.build import build_graphs, statistics_of
from fsgc.data.catalog import Statistics, dataset, load_catalog
from fsgc.data.download import download
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError

# Counted from the raw files by other means than ours: the table that comes with the mirror of the data.
COUNTED = {
    "triangles": (2010, 10, 15.08, 24.55),
    "enzymes": (600, 6, 32.46, 62.14),
    "letter_high": (2241, 15, 4.68, 4.52),
    "reddit": (1111, 11, 580.7, 661.4),
    "coil_del": (3900, 100, 21.54, 54.24),
    "triangles_as_maml": (2010, 10, 15.08, 24.55),
    "enzymes_tu": (600, 6, 32.63, 62.14),
    "letter_high_tu": (2250, 15, 4.67, 4.5),
}


@pytest.mark.parametrize("key", COUNTED)
def test_the_catalog_agrees_with_the_independent_count(key: str) -> None:
    figures = dataset(key).statistics
    graphs, classes, nodes, edges = COUNTED[key]
    assert (figures.graphs, figures.classes) == (graphs, classes)
    assert figures.nodes == pytest.approx(nodes, abs=0.05)
    assert figures.edges == pytest.approx(edges, abs=0.05)


def test_the_generated_dataset_is_built_from_nothing(tmp_path: Path) -> None:
    entry = dataset("triangles_gen")
    download(entry, tmp_path / "raw", tmp_path / "partial")
    graphs = build_graphs(entry, tmp_path / "raw")
    assert statistics_of(graphs) == entry.statistics
    assert graphs.attributes["dataset"] == "triangles_gen"
    assert graphs.attributes["reader_options"] == dict(entry.options)


@pytest.mark.real
@pytest.mark.parametrize("key", [key for key in load_catalog() if key != "triangles_gen"])
def test_every_dataset_of_the_catalog_can_be_built(mirror: Path, tmp_path: Path, key: str) -> None:
    assert mirror
    entry = dataset(key)
    download(entry, tmp_path / "raw", tmp_path / "partial")
    graphs = build_graphs(entry, tmp_path / "raw")
    assert statistics_of(graphs) == entry.statistics
    assert set(graphs.classes.tolist()) == set(entry.classes)
    for name, checksum in graphs.attributes["checksum"].items():
        assert hashlib.sha256((tmp_path / "raw" / name).read_bytes()).hexdigest() == checksum
    graphs.save(tmp_path / "x.zarr")
    assert GraphStore.load(tmp_path / "x.zarr").fingerprint() == graphs.fingerprint()


def test_graphs_other_than_the_catalogs_are_refused(tmp_path: Path) -> None:
    entry = dataset("triangles_gen")
    with pytest.raises(DataFormatError, match=r"not those of the catalog.*graphs=2010.*graphs=2011"):
        build_graphs(replace(entry, statistics=Statistics(2011, 10, 15.02, 24.45)), tmp_path)
    with pytest.raises(DataFormatError, match="class 11 is in the data or in the catalog, but not in both"):
        build_graphs(replace(entry, base=(*entry.base, 11)), tmp_path)
