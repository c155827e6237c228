"""Statistics of a graph: sizes, counts of small subgraphs, degrees, return probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.cycles import global_edges
from fsgc.data.descriptors.paths import components, hub_distances
from fsgc.data.descriptors.segments import deviations, histogram, means, ordered, owners, quantiles, sums
from fsgc.data.descriptors.walks import STEPS
from fsgc.data.graph_store import GraphStore

DEGREES = 13
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
BINS = 12
"""Degrees in bins 0, 1, 2 to 3, 4 to 7, …; the last is open."""
FARTHEST = 8


def statistics(graphs: GraphStore, triangles: Ints, squares: Ints, returns: Floats) -> Mapping[str, Floats]:
    """The columns of the view `statistics` by name, `[G]` each.

    Args:
        graphs: the graphs.
        triangles: int64 `[V]`, those every node is on.
        squares: int64 `[V]`, the 4-cycles every node is on.
        returns: `[V, 8]`, return probabilities.
    """
    pointer, degree = graphs.node_ptr, graphs.degree.astype(np.float64)
    nodes, edges = graphs.num_nodes.astype(np.float64), graphs.num_edges.astype(np.float64)
    source, target = global_edges(graphs)
    edge_owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    pieces, largest = components(graphs)
    three = sums(triangles, pointer) / 3
    wedges = sums(degree * (degree - 1) / 2, pointer)
    walks_of_three = np.bincount(edge_owner, (degree[source] - 1) * (degree[target] - 1), minlength=len(graphs)) / 2
    pairs = degree * (degree - 1)
    clustering = np.divide(2 * triangles, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    columns = {
        "nodes": nodes,
        "edges": edges,
        "density": _share(2 * edges, nodes * (nodes - 1)),
        "mean degree": 2 * edges / nodes,
        "deviation of degrees": deviations(degree, pointer),
        "triangles": three,
        "4-cycles": sums(squares, pointer) / 4,
        "transitivity": _share(3 * three, wedges),
        "clustering": means(clustering, pointer),
        "components": pieces.astype(np.float64),
        "share of the largest component": largest / nodes,
        "cycle rank": edges - nodes + pieces,
        "wedges": wedges,
        "claws": sums(degree * (degree - 1) * (degree - 2) / 6, pointer),
        "paws": sums(triangles * (degree - 2), pointer),
        "paths of 4 nodes": walks_of_three - 3 * three,
        "assortativity": _assortativity(degree[source], degree[target], edge_owner, len(graphs)),
    }
    owner = owners(pointer)
    shares = histogram(owner, np.minimum(graphs.degree, DEGREES), len(graphs), DEGREES + 1) / nodes[:, None]
    levels = quantiles(ordered(degree, pointer), pointer, LEVELS)
    for d in range(DEGREES):
        columns[f"share of degree {d}"] = shares[:, d]
    for place, level in enumerate(LEVELS):
        columns[f"degree quantile {level:g}"] = levels[:, place]
    average, spread = means(returns, pointer), deviations(returns, pointer)
    for step in range(STEPS):
        columns[f"mean return probability {step + 1}"] = average[:, step]
        columns[f"deviation of return probability {step + 1}"] = spread[:, step]
    return columns


def degree_columns(graphs: GraphStore) -> Mapping[str, Floats]:
    """The columns of the view `degrees` by name, `[G]` each: shares of nodes and edges in bins of degree."""
    degree, owner = graphs.degree, owners(graphs.node_ptr)
    nodes = graphs.num_nodes[:, None]
    source, target = global_edges(graphs)
    around = np.bincount(target, degree[source], minlength=len(degree)) / np.maximum(degree, 1)
    columns: dict[str, Floats] = {}
    for what, values in (("degree", _bin(degree)), ("mean degree of neighbours", _bin(around))):
        shares = histogram(owner, values, len(graphs), BINS) / nodes
        columns |= {f"share with {what} in bin {b}": shares[:, b] for b in range(BINS)}
    hubs = histogram(owner, hub_distances(graphs, FARTHEST), len(graphs), FARTHEST + 1) / nodes
    columns |= {f"share at distance {d} from a hub": hubs[:, d] for d in range(FARTHEST + 1)}
    one, other = _bin(degree[source]), _bin(degree[target])
    pair = np.minimum(one, other) * BINS + np.maximum(one, other)
    edge_owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    pairs = histogram(edge_owner, pair, len(graphs), BINS * BINS)
    pairs /= np.maximum(np.diff(graphs.edge_ptr), 1)[:, None]
    for a in range(1, BINS):
        columns |= {f"share of edges from bin {a} to bin {b}": pairs[:, a * BINS + b] for b in range(a, BINS)}
    return columns


def _bin(values: Floats | Ints) -> Ints:
    """0 for 0, else the number of binary digits before the point, at most the last bin."""
    return np.minimum(np.frexp(np.floor(values))[1], BINS - 1).astype(np.int64)


def _share(part: Floats, whole: Floats) -> Floats:
    """`part / whole`, 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _assortativity(one: Floats, other: Floats, owner: Ints, graphs: int) -> Floats:
    """Correlation of the degrees at the two ends of an edge; 0 where all ends have the same degree, or none exist."""
    count = np.maximum(np.bincount(owner, minlength=graphs), 1)
    mean = (np.bincount(owner, one, minlength=graphs) / count)[owner]
    product = np.bincount(owner, (one - mean) * (other - mean), minlength=graphs)
    square = np.bincount(owner, (one - mean) ** 2, minlength=graphs)
    return np.divide(product, square, out=np.zeros(graphs), where=square > 1e-9 * count)
