"""networkx graphs to write in every format, and the check that a reader gave them back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from fsgc.data.formats.raw import NamedGraphs, RawGraphs

CLASSES = ["ring", "tree", "ring", "ring", "tree"]


def graphs() -> list[nx.Graph]:
    """Five graphs whose nodes have a label and two attributes, and whose ids are not numbers in order."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(len(CLASSES)):
        graph = nx.gnp_random_graph(4 + number, 0.5, seed=number)
        names = {node: f"n{(7 * node) % 11}" for node in graph}
        graph = nx.relabel_nodes(graph, names)
        for node in graph:
            graph.nodes[node].update(
                label=str(rng.choice(["C", "N", "O"])), weight=float(rng.integers(9)), charge=float(rng.normal())
            )
        made.append(graph)
    return made


def assert_same(raw: RawGraphs, expected: list[nx.Graph], classes: list[str] | None = None) -> NamedGraphs:
    """Node by node: neighbours, labels and attributes; and the classes."""
    named = raw.named()
    store = named.store
    assert len(store) == len(expected)
    names = list(named.vocabulary.attributes)
    for number, graph in enumerate(expected):
        data = store.to_data(number)
        place = {node: i for i, node in enumerate(graph)}
        found = set(map(tuple, data.edge_index.t().tolist()))
        assert found == {(place[u], place[v]) for a, b in graph.edges for u, v in ((a, b), (b, a)) if u != v}
        for i, values in enumerate(dict(graph.nodes(data=True)).values()):
            label = int(store.node_label[int(store.node_ptr[number]) + i])
            assert named.vocabulary.labels is not None
            if "label" in values:
                assert named.vocabulary.labels[label] == values["label"]
            row = store.node_attr[int(store.node_ptr[number]) + i]
            for name in ("weight", "charge"):
                if name in values:
                    np.testing.assert_allclose(row[names.index(name)], values[name], rtol=1e-6)
    if classes is not None:
        assert named.labels == classes
    return named


def write_tu(folder: Path) -> None:
    made = graphs()
    start, lines = 1, {"A": "", "graph_indicator": "", "node_labels": "", "node_attributes": "", "graph_labels": ""}
    for number, graph in enumerate(made):
        place = {node: start + i for i, node in enumerate(graph)}
        lines["A"] += "".join(f"{place[u]}, {place[v]}\n{place[v]}, {place[u]}\n" for u, v in graph.edges)
        for values in dict(graph.nodes(data=True)).values():
            lines["graph_indicator"] += f"{number + 1}\n"
            lines["node_labels"] += f"{'CNO'.index(values['label'])}\n"
            lines["node_attributes"] += f"{values['weight']}, {values['charge']}\n"
        lines["graph_labels"] += f"{CLASSES[number]}\n"
        start += len(graph)
    for name, content in lines.items():
        (folder / f"MINE_{name}.txt").write_text(content)


def write_csv(folder: Path) -> None:
    edges: list[list[Any]] = [["graph", "source", "target"]]
    nodes: list[list[Any]] = [["graph", "node", "label", "weight", "charge"]]
    for number, graph in enumerate(graphs()):
        edges += [[f"g{number}", u, v] for u, v in graph.edges]
        nodes += [[f"g{number}", n, d["label"], d["weight"], d["charge"]] for n, d in graph.nodes(data=True)]
    labels = [["graph", "label"], *([f"g{number}", name] for number, name in enumerate(CLASSES))]
    for name, rows in (("edges", edges), ("nodes", nodes), ("labels", labels)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def write_graphml(folder: Path) -> None:
    for number, graph in enumerate(graphs()):
        graph.graph["label"] = CLASSES[number]
        nx.write_graphml(graph, folder / f"g{number}.graphml")


def write_gexf(folder: Path) -> None:
    for number, graph in enumerate(graphs()):
        for values in dict(graph.nodes(data=True)).values():
            values["kind"] = values.pop("label")  # networkx keeps 'label' for what a drawing shows
        target = folder / CLASSES[number]
        target.mkdir(exist_ok=True)
        nx.write_gexf(graph, target / f"g{number}.gexf")


def write_json(folder: Path) -> None:
    content = []
    for number, graph in enumerate(graphs()):
        graph.graph["class"] = CLASSES[number]
        content.append(nx.node_link_data(graph, edges="links"))
    (folder / "all.json").write_text(json.dumps(content, indent=1))


def write_pyg(folder: Path) -> None:
    data = []
    for number, graph in enumerate(graphs()):
        place = {node: i for i, node in enumerate(graph)}
        values = list(dict(graph.nodes(data=True)).values())
        data.append(
            Data(
                x=torch.tensor([[v["weight"], v["charge"]] for v in values]),
                edge_index=torch.tensor([[place[u], place[v]] for u, v in graph.edges]).reshape(-1, 2).t(),
                y=torch.tensor([int(CLASSES[number] == "tree")]),
                node_label=torch.tensor(["CNO".index(v["label"]) for v in values]),
            )
        )
    torch.save(data, folder / "graphs.pt")
