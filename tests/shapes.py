"""Graphs of simple shapes, a class each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch_geometric.utils import from_networkx

MAKERS: dict[str, Callable[[int], nx.Graph]] = {
    "ring": nx.cycle_graph,
    "path": nx.path_graph,
    "star": lambda n: nx.star_graph(n - 1),
    "wheel": nx.wheel_graph,
    "clique": nx.complete_graph,
}


def shapes(count: int, seed: int = 0, classes: tuple[str, ...] = tuple(MAKERS)) -> tuple[list[nx.Graph], list[str]]:
    """So many graphs of each class, with a label and two attributes per node."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for name in classes:
        for _ in range(count):
            graph = MAKERS[name](int(rng.integers(5, 9)))
            for node in graph:
                graph.nodes[node].update(
                    label=str(rng.choice(["C", "N"])), weight=float(rng.normal()), size=1.0 * len(graph)
                )
            graphs.append(graph)
            labels.append(name)
    return graphs, labels


def bare_shapes(
    count: int, seed: int = 0, classes: tuple[str, ...] = tuple(MAKERS)
) -> tuple[list[nx.Graph], list[str]]:
    """The same without anything on their nodes: by their structure alone they are easily told apart."""
    graphs, labels = shapes(count, seed, classes)
    return [nx.Graph(graph.edges) for graph in graphs], labels


def data_of(graph: nx.Graph) -> Any:
    """A graph as PyG has it, with the nodes in another order."""
    made = from_networkx(nx.Graph(graph.edges))
    values = [graph.nodes[node] for node in nx.Graph(graph.edges)]
    made.x = torch.tensor([[v["weight"], v["size"]] for v in values])
    made.node_label = [v["label"] for v in values]
    return made


def write_shapes(folder: Path, count: int) -> None:
    """Write so many graphs of each class, as `edges.csv` and `labels.csv`."""
    edges, labels = [("graph", "source", "target")], [("graph", "label")]
    for name, make in MAKERS.items():
        for number in range(count):
            edges += [(f"{name}{number}", str(a), str(b)) for a, b in make(5 + number % 4).edges]
            labels.append((f"{name}{number}", name))
    folder.mkdir(exist_ok=True)
    for file, rows in (("edges", edges), ("labels", labels)):
        with (folder / f"{file}.csv").open("w", newline="") as out:
            csv.writer(out).writerows(rows)


def unequal_shapes(count: int = 6) -> tuple[list[nx.Graph], list[str]]:
    """Rings and stars, two fewer of the former."""
    graphs, labels = shapes(count, 1, ("ring", "star"))
    return graphs[2:], labels[2:]
