"""The re-created Graph-R52 against a word-by-word construction, and its behaviour on broken files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fsgc.data.catalog import dataset
from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.r52 import read_r52
from fsgc.errors import DataFormatError, FsgcError, SettingsError

SMALL = {"window": 3, "min_words": 2, "max_words": 6, "min_documents": 2}
CHOSEN = dataset("graph_r52").options
LABELS = "0\ttrain\twheat\n1\ttest\tacq\n2\ttrain\tacq\n3\ttrain\trare\n4\ttest\twheat\n5\ttrain\tacq\n"
DOCUMENTS = """wheat crop wheat up five tonnes late words
bank buys bank shares
firm sells unit
a rare class
crop down
short"""


def write(directory: Path, labels: str | bytes = LABELS, documents: str | bytes = DOCUMENTS) -> Path:
    for name, content in (("R52.txt", labels), ("R52.clean.txt", documents)):
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def naive_graphs(labels: str, documents: str, options: Mapping[str, Any], step: int = 1) -> list[tuple[str, nx.Graph]]:
    """Class name and graph of every `step`-th kept document, made word by word; nodes are the words."""
    names = [line.split("\t")[2] for line in labels.strip("\n").split("\n")]
    sizes = Counter(names)
    texts = [(name, text.split()) for name, text in zip(names, documents.split("\n"), strict=True)]
    kept = [
        (name, words[: options["max_words"]])
        for name, words in texts
        if sizes[name] >= options["min_documents"] and len(words) >= options["min_words"]
    ]
    graphs = []
    for name, words in kept[::step]:
        graph = nx.Graph()
        graph.add_nodes_from(words)
        for begin in range(len(words)):
            window = words[begin : begin + options["window"]]
            graph.add_edges_from((u, v) for u in window for v in window if u != v)
        graphs.append((name, graph))
    return graphs


def assert_same(store: GraphStore, expected: list[tuple[str, nx.Graph]], words: list[str]) -> None:
    names = store.attributes["class_names"]
    assert [names[c] for c in store.y] == [name for name, _ in expected]
    for g, (_, graph) in enumerate(expected):
        first, last = store.node_ptr[g], store.node_ptr[g + 1]
        nodes = [words[label] for label in store.node_label[first:last]]
        assert nodes == sorted(graph.nodes)
        pairs = store.edge_index[:, store.edge_ptr[g] : store.edge_ptr[g + 1]].T
        found = sorted((nodes[u], nodes[v]) for u, v in pairs)
        assert found == sorted([*graph.edges, *((v, u) for u, v in graph.edges)])


def test_small_corpus_by_hand(tmp_path: Path) -> None:
    store = read_r52(write(tmp_path), SMALL)
    words = sorted(set(DOCUMENTS.split()))
    assert store.attributes["class_names"] == ["acq", "wheat"]  # "rare" has one document
    assert store.y.tolist() == [1, 0, 0, 1]  # "short" has one word
    first = {words[label] for label in store.node_label[: store.node_ptr[1]]}
    assert first == {"wheat", "crop", "up", "five", "tonnes"}  # six words, one of them twice
    # In the first: wheat-crop, wheat-up, crop-up, wheat-five, up-five, up-tonnes, five-tonnes.
    assert store.num_edges.tolist() == [7, 3, 3, 1]


@pytest.mark.parametrize("window", [2, 4, 10**12])
@pytest.mark.parametrize("max_words", [3, 20, 100])
def test_random_corpus_against_naive_construction(tmp_path: Path, window: int, max_words: int) -> None:
    random = np.random.default_rng(5)
    lengths = random.integers(0, 30, size=200)
    documents = "\n".join(" ".join(f"w{w}" for w in random.integers(0, 25, size=n)) for n in lengths)
    labels = "".join(f"{i}\ttrain\tclass {c}\n" for i, c in enumerate(random.integers(0, 12, size=200)))
    options = {"window": window, "min_words": 3, "max_words": max_words, "min_documents": 17}
    expected = naive_graphs(labels, documents, options)
    assert 0 < len({name for name, _ in expected}) < 12
    assert_same(read_r52(write(tmp_path, labels, documents), options), expected, sorted(set(documents.split())))


def test_line_endings_do_not_matter(tmp_path: Path) -> None:
    plain = read_r52(write(tmp_path), SMALL)
    windows = write(tmp_path, LABELS.replace("\n", "\r\n"), DOCUMENTS.replace("\n", "\r\n") + "\r\n")
    other = read_r52(windows, SMALL)
    assert np.array_equal(plain.edge_index, other.edge_index)
    assert plain.attributes == other.attributes


def test_empty_document_is_dropped(tmp_path: Path) -> None:
    store = read_r52(write(tmp_path, documents=DOCUMENTS.replace("firm sells unit", "")), SMALL)
    assert store.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "documents", "file", "line", "message"),
    [
        (LABELS.replace("\tacq", "", 1), DOCUMENTS, "R52.txt", 2, r"found 2 field\(s\)"),
        (LABELS.replace("train\trare", "train\tra\tre"), DOCUMENTS, "R52.txt", 4, r"found 4 field\(s\)"),
        (LABELS.replace("rare", " "), DOCUMENTS, "R52.txt", 4, "class name is empty"),
        (LABELS.replace("\n3", "\n\n3"), DOCUMENTS, "R52.txt", 4, r"found 1 field\(s\)"),
        (LABELS, DOCUMENTS + "\nmore", "R52.clean.txt", 7, "7 documents, but R52.txt labels 6"),
        (LABELS, "one\ntwo", "R52.clean.txt", 3, "2 documents, but R52.txt labels 6"),
        (LABELS, "", "R52.clean.txt", 1, "0 documents, but R52.txt labels 6"),
        (LABELS, b"fine\nso fine\n\xff\xfe", "R52.clean.txt", 3, "0xff is not UTF-8"),
        (b"0\ttrain\tcaf\xe9\n", DOCUMENTS, "R52.txt", 1, "0xe9 is not UTF-8"),
        ("", "", "R52.txt", None, "no class has min_documents = 2"),
        (LABELS, "\n".join(["few words"] + ["word"] * 5), "R52.clean.txt", None, "'acq' has no document of"),
    ],
)
def test_malformed_files(
    tmp_path: Path, labels: str | bytes, documents: str | bytes, file: str, line: int | None, message: str
) -> None:
    with pytest.raises(DataFormatError, match=message) as caught:
        read_r52(write(tmp_path, labels, documents), SMALL)
    assert caught.value.file == tmp_path / file
    assert caught.value.line == line


@pytest.mark.parametrize("name", ["R52.txt", "R52.clean.txt"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    (write(tmp_path) / name).unlink()
    with pytest.raises(DataFormatError, match=name):
        read_r52(tmp_path, SMALL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 1}, "window = 1"),
        ({"window": "3"}, "window = '3'"),
        ({"min_words": 0}, "min_words = 0"),
        ({"max_words": True}, "max_words = True"),
        ({"min_words": 9}, "max_words = 6 is below min_words = 9"),
        ({"min_documents": 2.5}, "min_documents = 2.5"),
        ({"windows": 3}, "'windows' is unknown"),
        ({"window": None}, "'window' is missing"),
    ],
)
def test_wrong_options(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    options = {name: value for name, value in {**SMALL, **change}.items() if value is not None}
    with pytest.raises(SettingsError, match=message):
        read_r52(write(tmp_path), options)


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """`data` with one stretch cut out, doubled or overwritten, or without its end."""
    begin, other = sorted(random.integers(0, len(data) + 1, size=2).tolist())
    end = min(other, begin + int(random.integers(1, 40)))
    odd = [
        b"",
        b"\n",
        b"\t",
        b"\r\n",
        b"\xff",
        b"\x00",
        b"\xc2\x85",
        b" ",
        b"\xed\xa0\x80",
        b"\n\n",
        b"9" * 50,
    ]
    kind = random.integers(0, 5)
    if kind == 0:
        return data[:begin] + data[end:]
    if kind == 1:
        return data[:end] + data[begin:]
    if kind == 2:
        return data[:begin]
    if kind == 3:
        return data[:begin] + random.bytes(end - begin) + data[end:]
    return data[:begin] + odd[random.integers(0, len(odd))] + data[end:]


def assert_store_or_error(directory: Path, options: Mapping[str, Any], mutations: int) -> None:
    """Each of many damaged copies gives a whole store or an `FsgcError`; some of either must come up."""
    originals = {name: (directory / name).read_bytes() for name in ("R52.txt", "R52.clean.txt")}
    random = np.random.default_rng(11)
    stores = errors = 0
    for _ in range(mutations):
        damaged = dict(originals)
        name = list(originals)[random.integers(0, 2)]
        for _ in range(random.integers(1, 3)):
            damaged[name] = mutated(damaged[name], random)
        try:
            store = read_r52(write(directory, damaged["R52.txt"], damaged["R52.clean.txt"]), options)
        except FsgcError:
            errors += 1
        else:
            stores += 1
            assert store.classes.tolist() == list(range(len(store.attributes["class_names"])))
    assert stores > mutations / 20
    assert errors > mutations / 20


def test_damaged_small_corpus(tmp_path: Path) -> None:
    assert_store_or_error(write(tmp_path), SMALL, mutations=500)


@pytest.mark.real
def test_damaged_real_files(mirror: Path, tmp_path: Path) -> None:
    labels = (mirror / "r52" / "R52.txt").read_text().split("\n")[:300]
    documents = (mirror / "r52" / "R52.clean.txt").read_text().split("\n")[:300]
    options = {**CHOSEN, "min_documents": 5}
    assert_store_or_error(write(tmp_path, "\n".join(labels), "\n".join(documents)), options, mutations=300)


@pytest.mark.real
def test_real_graphs_against_naive_construction(mirror: Path) -> None:
    """Every 20th graph, compared edge by edge."""
    options = CHOSEN
    store = read_r52(mirror / "r52", options)
    labels = (mirror / "r52" / "R52.txt").read_text()
    documents = (mirror / "r52" / "R52.clean.txt").read_text()
    expected = naive_graphs(labels, documents, options, step=20)
    assert_same(store.select(range(0, len(store), 20)), expected, sorted(set(documents.split())))


@pytest.mark.real
def test_real_statistics(mirror: Path) -> None:
    """Within 1.5 % of AS-MAML's 30.92 nodes and 165.78 edges, with 28 classes of at least 23 graphs."""
    store = read_r52(mirror / "r52", CHOSEN)
    per_class = np.bincount(store.y)
    print(f"\n{len(store)} graphs, {store.num_nodes.mean():.2f} nodes, {store.num_edges.mean():.2f} edges")
    print(dict(zip(store.attributes["class_names"], per_class.tolist(), strict=True)))
    assert len(store) == 8839
    assert store.num_nodes.mean() == pytest.approx(30.92, rel=0.015)
    assert store.num_edges.mean() == pytest.approx(165.78, rel=0.015)
    assert store.classes.tolist() == list(range(28))
    assert store.attributes["class_names"][0] == "acq"
    assert per_class.min() == 23
