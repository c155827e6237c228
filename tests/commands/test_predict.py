"""`fsgc predict`, as a user calls it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import networkx as nx
import polars as pl
import pytest
from click.testing import CliRunner

from fsgc import FewShotClassifier
from fsgc.cli import main
from fsgc.data.formats.read import read_graphs
from tests.shapes import bare_shapes

NASTY = "<img src=x onerror=alert(1)>"


def write_graphs(folder: Path, graphs: list[nx.Graph], labels: list[str] | None, prefix: str) -> Path:
    folder.mkdir()
    edges, classes = [["graph", "source", "target"]], [["graph", "label"]]
    for number, graph in enumerate(graphs):
        edges += [[f"{prefix}{number}", str(a), str(b)] for a, b in graph.edges]
        classes.append([f"{prefix}{number}", labels[number] if labels else ""])
    for name, rows in (("edges", edges), ("labels", classes)):
        if name == "edges" or labels:
            with (folder / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(rows)
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    graphs, labels = bare_shapes(4, 1)
    new, _ = bare_shapes(3, 2)
    return write_graphs(tmp_path / "labelled", graphs, labels, "known"), write_graphs(
        tmp_path / "new", new, None, "new"
    )


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["predict", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_predictions_and_their_probabilities(folders: tuple[Path, Path], tmp_path: Path) -> None:
    known, new = folders
    output = _run("discriminant", "--support", known, "--query", new, "-o", tmp_path / "out.csv")
    told = output.splitlines()[0]
    classifier = FewShotClassifier("discriminant").fit(raw := read_graphs(known), [str(c) for c in raw.classes])
    assert told.startswith("20 labelled graphs of 5 classes; classified by the others, ")
    assert f"{classifier.leave_one_out().accuracy:.1%} of them are right" in told
    assert "always naming the largest class: 20.0%" in told
    table = pl.read_csv(tmp_path / "out.csv")
    assert table.columns == ["graph", "prediction", *(f"p({c})" for c in sorted(set(raw.classes) - {None}))]  # type: ignore[type-var]
    assert table["graph"].to_list() == [f"new{i}" for i in range(15)]
    assert table["prediction"].to_list() == classifier.predict(read_graphs(new)).tolist()
    assert table.select(pl.sum_horizontal(pl.selectors.starts_with("p(")))["p(clique)"].to_list() == pytest.approx(
        [1] * 15, abs=1e-4
    )


def test_what_to_expect_is_told_with_how_sure_the_method_is(folders: tuple[Path, Path], tmp_path: Path) -> None:
    known, new = folders
    arguments = ("discriminant", "--support", known, "--query", new)
    plain = _run(*arguments, "-o", tmp_path / "plain.csv")
    assert "the mean probability of these predictions is " in plain.splitlines()[1]
    scaled = _run(*arguments, "-o", tmp_path / "scaled.csv", "--calibrate")
    assert "probabilities are calibrated on these 20 graphs: scores are multiplied by " in scaled.splitlines()[1]
    tables = [pl.read_csv(tmp_path / f"{name}.csv") for name in ("plain", "scaled")]
    assert tables[0]["prediction"].to_list() == tables[1]["prediction"].to_list()
    assert tables[0]["p(ring)"].to_list() != tables[1]["p(ring)"].to_list()


def test_classes_of_one_graph(tmp_path: Path) -> None:
    graphs, labels = bare_shapes(3, 1, ("ring", "star", "path"))
    known = write_graphs(tmp_path / "labelled", graphs[:7], labels[:7], "known")
    told = _run("wl", "--support", known, "--query", known).splitlines()[0]
    assert "but for 1 alone in its class" in told
    assert "always naming the largest class: 50.0%" in told
    one_each = write_graphs(tmp_path / "one each", graphs[::3], labels[::3], "known")
    told = _run("wl", "--support", one_each, "--query", known).splitlines()[0]
    assert "each is the only one of its class, so that nothing can be said" in told


def test_unknown_node_labels_are_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("smiles,label\nCCO,a\nCCCO,a\nCCN,b\nCCCN,b\n")
    (tmp_path / "new.csv").write_text("smiles\nCCS\n")
    words = ["predict", "wl", "--support", str(tmp_path / "known.csv"), "--query", str(tmp_path / "new.csv")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert result.stderr == "Warning: 1 of 3 nodes have labels that are not known (S); they count as one\n"


def test_without_a_file_they_are_printed(folders: tuple[Path, Path]) -> None:
    output = _run("wl", "--support", folders[0], "--query", folders[1])
    assert "15 graphs classified: " in output
    assert output.count("new") == 15


def test_labels_of_new_graphs_are_only_looked_at_in_the_end(folders: tuple[Path, Path]) -> None:
    known, _ = folders
    output = _run("wl", "--support", known, "--query", known)
    assert "20 of them came with a label, which was not looked at: " in output
    text = (known / "labels.csv").read_text()
    (known / "labels.csv").write_text(text.replace("ring", "circle").replace("star", "asterisk"))
    again = _run("wl", "--support", known, "--query", known)
    assert "20 of them came with a label, which was not looked at: " in again
    other = known.with_name("other")
    other.mkdir()
    (other / "edges.csv").write_text((known / "edges.csv").read_text())
    (other / "labels.csv").write_text(text)
    output = _run("wl", "--support", known, "--query", other)
    assert "12 of them came with a label, which was not looked at: " in output
    assert "8 of them came with a label that no labelled graph has (ring, star)" in output


def test_a_trained_model(folders: tuple[Path, Path], model_file: Callable[[str], Path], tmp_path: Path) -> None:
    arguments = ("--support", folders[0], "--query", folders[1], "-o", tmp_path / "out.csv")
    result = CliRunner().invoke(main, ["predict", str(model_file("pn")), *map(str, arguments)])
    assert result.exit_code == 1
    assert result.output.startswith("Error: the model looks at the labels of nodes (C, N), but these graphs have none")
    assert not (tmp_path / "out.csv").exists()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_each_graph_beside_its_nearest_and_escapes_everything(tmp_path: Path) -> None:
    graphs, labels = bare_shapes(3, 1, ("ring", "star"))
    labels = [NASTY if label == "ring" else label for label in labels]
    known = write_graphs(tmp_path / "labelled", graphs, labels, NASTY)
    new = write_graphs(tmp_path / "new", bare_shapes(2, 2, ("ring", "star"))[0], None, f"new{NASTY}")
    _run("discriminant", "--support", known, "--query", new, "--report", tmp_path / "page.html", "--nearest", 2)
    reader = _Reader()
    reader.feed((tmp_path / "page.html").read_text())
    assert reader.tags.count("article") == 4
    assert reader.tags.count("svg") == 4 * 3
    assert {"script", "img", "link", "iframe"}.isdisjoint(reader.tags)
    assert NASTY in reader.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pn",), "Error: pn needs training: give a model file"),
        (
            ("nothing.pt",),
            "nothing.pt does not exist; give a model file, made by 'fsgc train', or one of discriminant, wl",
        ),
        (("wl", "--format", "xls"), "unknown format 'xls'"),
    ],
)
def test_mistakes_are_explained(folders: tuple[Path, Path], arguments: tuple[str, ...], message: str) -> None:
    words = ["predict", *arguments, "--support", str(folders[0]), "--query", str(folders[1])]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert message in result.output


def test_no_input_is_overwritten(folders: tuple[Path, Path], tmp_path: Path) -> None:
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,label\nCCO,a\nCC,b\n")
    before = table.read_bytes()
    known, new = folders
    for words in (
        ("--support", known, "--query", table, "-o", table),
        ("--support", table, "--query", new, "--report", table),
        ("--support", known, "--query", new, "-o", tmp_path / "x", "--report", tmp_path / "y" / ".." / "x"),
    ):
        result = CliRunner().invoke(main, ["predict", "discriminant", *map(str, words)])
        assert result.exit_code == 2
        assert "name the same file" in result.output
    assert table.read_bytes() == before
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_no_file_of_an_input_folder_is_overwritten(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """In the folder of the graphs, `-o labels.csv` is a likely name for the labels that are predicted."""
    known, new = folders
    table = new.with_name("kept") / "labels.csv"
    table.parent.mkdir()
    (known / "labels.csv").rename(table)
    (known / "labels.csv").symlink_to(table)
    link = new.with_name("link")
    link.symlink_to(known)
    before = table.read_bytes()
    monkeypatch.chdir(known)
    for support, query, target in (
        (".", new, "labels.csv"),
        (known, ".", known / "edges.csv"),
        (link, new, "labels.csv"),
        (known, new, link / "edges.csv"),
        (known, new, table),
        (known / "edges.csv", new, "labels.csv"),
    ):
        words = ["predict", "wl", "--support", support, "--query", query, option, target]
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 2
        assert f"{option} would overwrite {target}, which is part of what " in result.output.replace("\n", " ")
    assert (known / "labels.csv").is_symlink()
    assert table.read_bytes() == before
    assert (known / "edges.csv").read_text().startswith("graph,source,target")


def test_a_new_file_may_be_written_beside_the_inputs(folders: tuple[Path, Path]) -> None:
    known, new = folders
    _run("wl", "--support", known, "--query", new, "-o", new / "predictions.csv")
    assert pl.read_csv(new / "predictions.csv").height == 15


def test_new_molecules_may_have_an_empty_label(tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("smiles,label\nCCO,alcohol\nCO,alcohol\nC1CC1,ring\nC1CCC1,ring\n")
    (tmp_path / "new.csv").write_text("smiles,label,name\nCCCO,,c1cc[nH]c1\n")
    output = _run("discriminant", "--support", tmp_path / "known.csv", "--query", tmp_path / "new.csv")
    assert "1 graph classified: " in output
    assert "c1cc[nH]c1" in output, "what stands in brackets is no markup"


def test_graphs_without_a_label_among_the_labelled(folders: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(main, ["predict", "wl", "--support", str(folders[1]), "--query", str(folders[0])])
    assert "the graph 'new0' has no label; every graph of --support needs one" in result.output
