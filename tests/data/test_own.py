"""A user's own datasets, from the folder to the stored graphs."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.data.build import build_graphs
from fsgc.data.catalog import dataset, load_catalog
from fsgc.data.download import download
from fsgc.data.own import Choices, add_dataset, digest_of, remove_dataset
from fsgc.errors import CatalogError, DataFormatError, FsgcError, SettingsError
from fsgc.files import sha256_of
from tests.data.own_shapes import MAKERS, SIZES, run_fsgc
from tests.http_server import body, serving


def test_from_a_folder_to_stored_graphs(project: Path) -> None:
    added = add_dataset("shapes", "shapes", Choices())
    assert added.file == project / "datasets" / "shapes.toml"
    assert added.small == {"tiny": 3}
    entry = dataset("shapes")
    assert entry.statistics.graphs == 155
    assert (entry.way, len(entry.base), len(entry.novel), entry.features) == (2, 3, 2, ("degree_onehot",))
    store = build_graphs(entry, project / "nothing")
    assert store.attributes["class_names"] == ["clique", "path", "ring", "star", "wheel"]
    for number, name in enumerate(store.attributes["class_names"]):
        graphs = store.select(np.flatnonzero(store.y == number))
        assert len(graphs) == SIZES[name]
        assert sorted(set(graphs.num_edges.tolist())) == sorted(len(MAKERS[name](n).edges) for n in range(5, 9))


def test_the_key_works_below_the_project_and_not_elsewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_dataset("shapes", "shapes", Choices())
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    assert "shapes" in load_catalog()
    assert len(build_graphs(dataset("shapes"), project / "nothing")) == 155
    monkeypatch.chdir("/")
    assert "shapes" not in load_catalog()
    monkeypatch.setenv("FSGC_DATASETS", str(project / "datasets"))
    assert len(build_graphs(dataset("shapes"), project / "nothing")) == 155


def test_the_command_tells_what_it_found(project: Path) -> None:
    with (project / "shapes" / "edges.csv").open("a") as file:
        file.write("ring0,0,1\nring0,0,0\nring0,0,0\n")
    output = run_fsgc("datasets", "add", "shapes", "--name", "shapes", "--way", "2", "--novel", "ring,star")
    assert "155 graphs of 5 classes" in output
    assert "2 repeated edges" in output
    assert "2 self loops" in output
    assert "too small: tiny (3); add graphs to them, or lower --min-class, now 20" in output
    assert "3 base / held-out graphs / 2 novel classes, 2-way, up to 5 shots" in output  # 20 % of 30 are 6
    names = ["clique", "path", "ring", "star", "wheel"]
    assert [names[c] for c in dataset("shapes").novel] == ["ring", "star"]
    assert "Your own" in run_fsgc("datasets")
    assert json.loads(run_fsgc("datasets", "show", "shapes", "--json"))["reader"] == "own"


def test_removing(project: Path) -> None:
    run_fsgc("datasets", "add", "shapes", "--name", "mine")
    run_fsgc("datasets", "add", "shapes", "--name", "mine_too")
    for key in ("mine", "mine_too"):
        (project / "data" / "graphs").mkdir(parents=True, exist_ok=True)
        (project / "data" / "graphs" / f"{key}.zarr").mkdir()
        (project / "data" / "splits").mkdir(exist_ok=True)
        (project / "data" / "splits" / f"{key}-seed0.json").touch()
    assert "mine.toml" in run_fsgc("datasets", "remove", "mine")
    assert [path.name for path in sorted((project / "data").glob("*/*"))] == ["mine_too.zarr", "mine_too-seed0.json"]
    assert "mine" not in load_catalog()
    assert "mine_too" in load_catalog()
    assert (project / "shapes" / "edges.csv").exists()
    with pytest.raises(CatalogError, match="there is no dataset 'mine' of your own"):
        remove_dataset("mine")


def test_graphs_among_what_is_stored_are_not_removed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data root may hold folders of the user's, and even a stored dataset's name."""
    monkeypatch.setenv("FSGC_DATA", str(project / "data"))
    for folder in ("mine", "raw"):
        shutil.copytree(project / "shapes", project / "data" / folder / "shapes")
    add_dataset("data/mine/shapes", "other", Choices())
    add_dataset("data/mine/shapes", "shapes", Choices())
    assert (project / "data" / "mine" / "shapes" / "edges.csv").exists()
    remove_dataset("shapes")
    assert (project / "data" / "mine" / "shapes" / "edges.csv").exists()
    shutil.copytree(project / "shapes", project / "data" / "raw" / "shapes", dirs_exist_ok=True)
    with pytest.raises(SettingsError, match="would be removed with it; move the graphs elsewhere"):
        add_dataset("data/raw/shapes", "shapes", Choices())
    assert (project / "data" / "raw" / "shapes" / "edges.csv").exists()


def test_unknown_features_are_refused_at_once(project: Path) -> None:
    with pytest.raises(SettingsError, match="features: 'colour' is unknown; there are degree"):
        add_dataset("shapes", "shapes", Choices(features=["colour"]))
    assert not (project / "datasets").exists()


def test_training_overwrites_no_graphs_and_no_report(project: Path) -> None:
    graphs = [MAKERS[name](5 + number % 4) for name in ("ring", "path", "star", "clique") for number in range(25)]
    names = [name for name in ("ring", "path", "star", "clique") for _ in range(25)]
    for graph, name in zip(graphs, names, strict=True):
        graph.graph["label"] = name
    records = [nx.node_link_data(graph, edges="links") for graph in graphs]
    (project / "shapes.json").write_text(json.dumps(records))
    run_fsgc("datasets", "add", "shapes.json", "--name", "drawn")
    before = (project / "shapes.json").read_bytes()
    (project / "notes.json").touch()
    for words, message in (
        (("notes.pt",), "notes.json exists; choose another name"),
        (("x.json",), "x.json is where its report"),
        (("shapes.pt", "--force"), "shapes.json would overwrite the graphs of 'drawn'"),
    ):
        result = CliRunner().invoke(main, ["train", "untrained", "drawn", "-o", *words])
        assert result.exit_code == 1
        assert message in result.output
    assert (project / "shapes.json").read_bytes() == before


@pytest.mark.parametrize("name", ["Mine", "9mine", "mi-ne", "", "a" * 42, "../mine", "coil_del", "default", "train"])
def test_names_that_cannot_be(project: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="name:"):
        add_dataset("shapes", name, Choices())
    assert not (project / "datasets").exists()


@pytest.mark.usefixtures("project")
def test_adding_again_needs_a_word() -> None:
    add_dataset("shapes", "shapes", Choices())
    with pytest.raises(SettingsError, match="exists already; choose another name, or give --replace"):
        add_dataset("shapes", "shapes", Choices())
    add_dataset("shapes", "shapes", Choices(leave_out=["path"]), replace=True)
    assert dataset("shapes").statistics.graphs == 115


def test_changed_files_are_noticed(project: Path) -> None:
    add_dataset("shapes", "shapes", Choices())
    with (project / "shapes" / "edges.csv").open("a") as file:
        file.write("ring0,0,2\n")
    with pytest.raises(DataFormatError, match="shapes: it has changed since the dataset was added"):
        build_graphs(dataset("shapes"), project / "nothing")
    (project / "shapes").rename(project / "elsewhere")
    with pytest.raises(DataFormatError, match="no such file or folder; put it back"):
        build_graphs(dataset("shapes"), project / "nothing")


def test_a_zip_and_an_address(project: Path) -> None:
    with zipfile.ZipFile(project / "shapes.zip", "w") as archive:
        for file in (project / "shapes").iterdir():
            archive.write(file, f"shapes/{file.name}")
    local = add_dataset("shapes.zip", "local", Choices()).named.store.fingerprint()
    checksum = sha256_of(project / "shapes.zip")
    with serving() as server:
        url = server.url("/shapes.zip", body((project / "shapes.zip").read_bytes()))
        with pytest.raises(SettingsError, match="needs --sha256"):
            add_dataset(url, "remote", Choices())
        with pytest.raises(FsgcError, match=f"has the SHA-256 {checksum}, expected 0000"):
            add_dataset(url, "remote", Choices(), "0" * 64)
        add_dataset(url, "remote", Choices(), checksum)
        entry = dataset("remote")
        download(entry, project / "raw", project / "partial")
    (project / "shapes.zip").unlink()
    assert build_graphs(entry, project / "raw").fingerprint() == local


def test_what_cannot_be_a_dataset(project: Path) -> None:
    with pytest.raises(SettingsError, match=r"3-way episodes need 6 classes .* but 5 are large enough"):
        add_dataset("shapes", "x", Choices(way=3))
    with pytest.raises(SettingsError, match="novel: there is no class 'blob' of enough graphs; there are clique, path"):
        add_dataset("shapes", "x", Choices(novel=["blob", "ring"]))
    with pytest.raises(SettingsError, match="novel: 1 classes, but 2-way episodes need 2"):
        add_dataset("shapes", "x", Choices(novel=["ring"]))
    with pytest.raises(SettingsError, match="there is no class 'blob' to leave out"):
        add_dataset("shapes", "x", Choices(leave_out=["blob"]))
    with (project / "shapes" / "labels.csv").open("a") as file:
        file.write("ghost,ring\n")
    with pytest.raises(DataFormatError, match=r"1 graph\(s\) have no nodes, the first is 'ghost'"):
        add_dataset("shapes", "x", Choices())
    assert add_dataset("shapes", "x", Choices(drop_empty=True)).findings.without_nodes == 1
    (project / "shapes" / "labels.csv").unlink()
    with pytest.raises(DataFormatError, match="158 graphs have no class, the first is 'ring0'"):
        add_dataset("shapes", "y", Choices())
    assert sorted(load_catalog())[-1] == "x"


@pytest.mark.parametrize("klass", ["\ud800", "ring \udfff"])
def test_a_class_that_cannot_be_written_leaves_no_entry(project: Path, klass: str) -> None:
    """JSON allows half of a surrogate pair; an entry with one would end every later command that reads the catalog."""
    graphs = [{"nodes": [1, 2], "links": [[1, 2]], "label": c} for c in (klass, "b", "c", "d") for _ in range(25)]
    (project / "graphs.json").write_text(json.dumps(graphs))
    with pytest.raises(DataFormatError, match=r"graphs.json: graph 'graphs-0': its class: .* half of a surrogate pair"):
        add_dataset("graphs.json", "mine", Choices())
    assert not (project / "datasets").exists()
    assert "mine" not in load_catalog()


def test_files_whose_names_are_no_text_count_in_the_digest(project: Path) -> None:
    plain = digest_of(project / "shapes")
    (project / "shapes" / os.fsdecode(b"\xff.txt")).touch()
    other = digest_of(project / "shapes")
    (project / "shapes" / os.fsdecode(b"\xff.txt")).rename(project / "shapes" / os.fsdecode(b"\xfe.txt"))
    assert len({plain, other, digest_of(project / "shapes")}) == 3
