"""A graph as a small SVG drawing, laid out by the distances between its nodes."""

from __future__ import annotations

from html import escape

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from fsgc.arrays import Floats
from fsgc.data.graph_store import GraphStore

SIZE = 150
MARGIN = 12
PIVOTS = 40
MOST_NODES = 400
ROUNDS = 40
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c564b")


def draw(store: GraphStore, graph: int, title: str = "", labels: tuple[str, ...] | None = None) -> str:
    """One graph of a store as an `<svg>` element; colours tell node labels.

    Args:
        store: the graphs.
        graph: which one.
        title: what a pointer or a screen reader is told.
        labels: the names of the node labels, for the nodes' own titles.
    """
    one = store.select([graph])
    nodes, shown = int(one.num_nodes[0]), min(int(one.num_nodes[0]), MOST_NODES)
    named = f"{title}: {nodes} nodes, {int(one.num_edges[0])} edges" + (f", {shown} drawn" if shown < nodes else "")
    edges = one.edge_index[:, (one.edge_index[0] < one.edge_index[1]) & (one.edge_index < shown).all(axis=0)]
    places = _fitted(layout(edges, shown))
    lines = "".join(
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'
        for a, b in zip(places[edges[0]], places[edges[1]], strict=True)
    )
    radius = 5 if shown <= 30 else 3 if shown <= 100 else 2
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{COLOURS[code % len(COLOURS)]}">'
        f"{_node_title(code, labels)}</circle>"
        for (x, y), code in zip(places, one.node_label[:shown].tolist(), strict=True)
    )
    return (
        f'<svg viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}" role="img"><title>{escape(named)}</title>'
        f'<g stroke="#8a939c" stroke-width="1.2">{lines}</g><g stroke="#ffffff" stroke-width="0.8">{dots}</g></svg>'
    )


def _node_title(code: int, labels: tuple[str, ...] | None) -> str:
    return f"<title>{escape(labels[code])}</title>" if labels and 0 <= code < len(labels) else ""


def layout(edges: np.ndarray, nodes: int) -> Floats:
    """Places of the nodes, `[n, 2]`, so that distances on the page are like distances in the graph.

    Pivot multidimensional scaling (Brandes and Pich, 2006) from the distances to at most 40 nodes, then, for small
    graphs, some rounds of stress majorisation (Gansner et al., 2004). Nothing in it is random.

    Args:
        edges: int `[2, E]`, each edge once.
        nodes: n.
    """
    if nodes == 1:
        return np.zeros((1, 2))
    matrix = csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(nodes, nodes))
    pivots = np.unique(np.linspace(0, nodes - 1, min(PIVOTS, nodes)).astype(int))
    distance = dijkstra(matrix, directed=False, unweighted=True, indices=pivots).T  # [n, p]
    furthest = distance[np.isfinite(distance)].max(initial=1.0)
    distance = np.where(np.isfinite(distance), distance, furthest + 1.5)  # parts that do not hang together
    squares = -0.5 * (distance**2 - (distance**2).mean(0) - (distance**2).mean(1, keepdims=True) + (distance**2).mean())
    left, values, _ = np.linalg.svd(squares, full_matrices=False)
    places = np.zeros((nodes, 2))
    width = min(2, left.shape[1])
    places[:, :width] = left[:, :width] * np.sqrt(values[:width])
    # Nodes alike in all distances would lie on each other: a circle, too small to see, tells them apart.
    turn = np.arange(nodes) * 2.399963
    places += 0.05 * furthest * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return _less_stress(places, distance) if len(pivots) == nodes else places


def _less_stress(places: Floats, distance: Floats) -> Floats:
    """Majorise the stress `Σ (‖x_i − x_j‖ − d_ij)² / d_ij²`."""
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    total = weight.sum(1, keepdims=True)
    for _ in range(ROUNDS):
        apart = places[:, None] - places[None]
        length = np.maximum(np.sqrt((apart**2).sum(-1)), 1e-9)
        wanted = places[None] + distance[..., None] * apart / length[..., None]
        places = (weight[..., None] * wanted).sum(1) / total
    return places


def _fitted(places: Floats) -> Floats:
    """Places moved and scaled to the square of the drawing."""
    low, high = places.min(0), places.max(0)
    scale = (SIZE - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    return np.asarray(SIZE / 2 + (places - (low + high) / 2) * min(scale, SIZE / 3))
