"""A folder of labelled graphs, as a user may have one."""

from __future__ import annotations

import csv
from pathlib import Path

import networkx as nx
from click.testing import CliRunner

from fsgc.cli import main

SIZES = {"ring": 30, "path": 40, "star": 25, "wheel": 30, "clique": 30, "tiny": 3}
MAKERS = {
    "ring": nx.cycle_graph, "path": nx.path_graph, "star": nx.star_graph,
    "wheel": nx.wheel_graph, "clique": nx.complete_graph, "tiny": nx.ladder_graph,
}  # fmt: skip


def write_folder(folder: Path) -> None:
    """Write 158 graphs of six classes, one of them small."""
    edges, labels = [["graph", "source", "target"]], [["graph", "label"]]
    for name, count in SIZES.items():
        for number in range(count):
            edges += [[f"{name}{number}", str(a), str(b)] for a, b in MAKERS[name](5 + number % 4).edges]
            labels.append([f"{name}{number}", name])
    folder.mkdir()
    for file, rows in (("edges", edges), ("labels", labels)):
        with (folder / f"{file}.csv").open("w", newline="") as out:
            csv.writer(out).writerows(rows)


def run_fsgc(*arguments: str) -> str:
    """The output of a command that must succeed."""
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output
