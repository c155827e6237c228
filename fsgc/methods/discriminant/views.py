"""Views: the ways of looking at a graph that the discriminant chooses from.

A view turns graphs into rows of numbers. What it must know beforehand (which paths are frequent, the mean of a node's
degree) it takes from known graphs, those of base classes in training, as arrays that go into the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.cycles import adjacency_matrix, global_edges
from fsgc.data.descriptors.segments import means
from fsgc.data.descriptors.store import Descriptors
from fsgc.data.graph_store import GraphStore
from fsgc.random import generator

Fitted = Mapping[str, npt.NDArray[Any]]
PATHS = 300
DIRECTIONS = 768
WIDTHS = {"nodes": (0.2, 0.5), "neighbourhoods": (0.2, 0.5), "places": (0.5, 1.0, 2.0), "edges": (0.5, 1.0, 2.0)}
FEATURES = 64
CYCLE_COLUMNS = ("triangle", "4-cycle", "transitivity", "clustering", "paws", "paths of 4", "return probability")
"""What the names of columns that count cycles, or are computed from such counts, contain; for the ablation."""


@dataclass(frozen=True, eq=False)
class GraphData:
    """Graphs and their descriptors.

    Attributes:
        graphs: the graphs.
        descriptors: what was computed of them.
        without_cycles: whether columns that count cycles, or follow from such counts, are left out.
        extra: rows of further views by name, `[G, d]`, from elsewhere: the embedding of a network.
    """

    graphs: GraphStore
    descriptors: Descriptors
    without_cycles: bool = False
    extra: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def vectors(self) -> npt.NDArray[np.float32]:
        """A vector per node: counts and return probabilities, logged, with labels one-hot and attributes, `[V, D]`."""
        known = self.descriptors.nodes[:, :1] if self.without_cycles else self.descriptors.nodes
        parts = [np.sign(known) * np.log1p(np.abs(known)), self.graphs.node_attr]
        if self.descriptors.kinds.labels:
            parts.append(
                (self.graphs.node_label[:, None] == np.asarray(self.descriptors.kinds.labels)).astype(np.float32)
            )
        return np.concatenate(parts, axis=1)

    @cached_property
    def neighbour_means(self) -> npt.NDArray[np.float32]:
        """The mean vector of each node's neighbours, `[V, D]`; 0 without neighbours."""
        degree = np.maximum(self.graphs.degree, 1).astype(np.float32)[:, None]
        return np.asarray(adjacency_matrix(self.graphs).astype(np.float32) @ self.vectors / degree)


class View(ABC):
    """A way of looking at graphs.

    Attributes:
        about: what it measures, in a sentence.
        scalings: how its columns may be scaled.
    """

    about: str
    scalings: tuple[str, ...]

    def applies(self, data: GraphData) -> bool:  # noqa: ARG002
        """Whether there is anything to see."""
        return True

    def fit(self, data: GraphData, known: Ints) -> Fitted:  # noqa: ARG002
        """What must be known beforehand, taken from the graphs `known` alone."""
        return {}

    @abstractmethod
    def rows(self, data: GraphData, fitted: Fitted) -> Floats:
        """The numbers of every graph, `[G, d]`."""


@dataclass(frozen=True)
class TableView(View):
    """Columns of a table of the descriptors, as they are."""

    table: str
    about: str
    scalings: tuple[str, ...]

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:  # noqa: ARG002
        """See `View.rows`."""
        table = data.descriptors.tables[self.table]
        if not data.without_cycles:
            return table
        names = data.descriptors.columns[self.table]
        return table[:, [not any(part in name for part in CYCLE_COLUMNS) for name in names]]


@dataclass(frozen=True)
class CountView(View):
    """Sparse counts, of which the codes that occur in most known graphs are columns.

    With more than one count each graph's numbers are shares: of all its labels, of all its edges.
    """

    counts: tuple[str, ...]
    about: str
    scalings: tuple[str, ...]
    shares: bool = False

    def applies(self, data: GraphData) -> bool:
        """Whether anything was counted."""
        return all(len(data.descriptors.counts[name].code) for name in self.counts)

    def fit(self, data: GraphData, known: Ints) -> Fitted:
        """The vocabularies."""
        return {name: data.descriptors.counts[name].most_frequent(known, PATHS) for name in self.counts}

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:
        """See `View.rows`."""
        parts = []
        for name in self.counts:
            counts = data.descriptors.counts[name]
            part = counts.columns(fitted[name]).toarray()
            if self.shares:
                owner = np.repeat(np.arange(len(counts)), np.diff(counts.pointer))
                part /= np.maximum(np.bincount(owner, counts.count, minlength=len(counts)), 1)[:, None]
            parts.append(part)
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class WordView(View):
    """Bags of words: inverse document frequencies, rows of length 1, the leading directions of known graphs."""

    about: str
    scalings: tuple[str, ...] = ("norm",)

    def applies(self, data: GraphData) -> bool:
        """Whether labels are words."""
        return data.descriptors.kinds.words

    def fit(self, data: GraphData, known: Ints) -> Fitted:
        """Vocabulary, inverse document frequencies and directions."""
        counts = data.descriptors.counts["words"]
        vocabulary = counts.most_frequent(known, len(counts.code))
        occurs = np.asarray((counts.columns(vocabulary)[known] > 0).sum(axis=0)).ravel()
        fitted = {"vocabulary": vocabulary, "idf": np.log((1 + len(known)) / (1 + occurs)) + 1}
        bags = self._bags(data, fitted)[known]
        rank = min(DIRECTIONS, *bags.shape)
        _, _, axes = randomized_svd(bags, rank, n_iter=2, random_state=0)
        return {**fitted, "directions": axes.T.astype(np.float32)}

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:
        """See `View.rows`."""
        return np.asarray(self._bags(data, fitted) @ fitted["directions"])

    def _bags(self, data: GraphData, fitted: Fitted) -> csr_array:
        bags = data.descriptors.counts["words"].columns(fitted["vocabulary"])
        bags = csr_array(bags.multiply(fitted["idf"][None, :]))
        length = np.sqrt(np.asarray(bags.power(2).sum(axis=1)).ravel())
        return csr_array(bags.multiply(1 / np.where(length > 0, length, 1)[:, None]))


@dataclass(frozen=True)
class RandomView(View):
    """Random Fourier features of nodes or edges, averaged over a graph: its distribution of local vectors.

    Rahimi and Recht, 2007: the mean of `cos(W x + b)` is a point of a kernel's mean embedding. The vectors x are
    standardised over the nodes (edges) of known graphs; W has the deviations `WIDTHS`, with 64 features each. Vectors
    of attributes alone are as long as the data wants it: theirs are divided by the root of half their length.

    Attributes:
        of: `nodes`, `neighbourhoods` (a node's vector and its neighbours' mean), `places` (a node's attributes) or
            `edges` (the mean of the attributes at the two ends and their difference, in both directions).
    """

    of: str
    about: str
    scalings: tuple[str, ...] = ("plain", "standard")

    def applies(self, data: GraphData) -> bool:
        """Whether nodes have attributes, where these are looked at."""
        return self.of not in ("places", "edges") or data.graphs.node_attr.shape[1] > 0

    def fit(self, data: GraphData, known: Ints) -> Fitted:
        """Mean and deviation of the local vectors, and the random directions."""
        vectors, pointer = self._local(data)
        inside = np.zeros(len(pointer) - 1, bool)
        inside[known] = True
        rows = vectors[np.repeat(inside, np.diff(pointer))].astype(np.float64)
        if len(rows) == 0:
            rows = np.zeros((1, vectors.shape[1]))
        deviation = rows.std(axis=0)
        says = deviation > 1e-6 * (1 + np.abs(rows.mean(axis=0)))
        rng = generator("random features", self.of, vectors.shape[1])
        width = vectors.shape[1]
        damping = np.sqrt(2 / width) if self.of in ("places", "edges") else 1.0
        weights = np.concatenate(
            [rng.normal(0, deviation * damping, (width, FEATURES)) for deviation in WIDTHS[self.of]], axis=1
        )
        return {
            "mean": rows.mean(axis=0),
            "scale": np.where(says, 1 / np.where(says, deviation, 1), 0),
            "weights": weights,
            "phases": rng.uniform(0, 2 * np.pi, weights.shape[1]),
        }

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:
        """See `View.rows`."""
        vectors, pointer = self._local(data)
        weights = (fitted["scale"][:, None] * fitted["weights"]).astype(np.float32)
        offset = (fitted["phases"] - (fitted["mean"] * fitted["scale"]) @ fitted["weights"]).astype(np.float32)
        waves = vectors @ weights
        waves += offset
        np.cos(waves, out=waves)
        filled = np.flatnonzero(np.diff(pointer))
        result = np.zeros((len(pointer) - 1, waves.shape[1]))
        # Graphs without edges have no rows, and between the others' first rows nothing is left out.
        result[filled] = np.add.reduceat(waves.astype(np.float64), pointer[filled], axis=0) if len(filled) else 0
        return result / np.maximum(np.diff(pointer), 1)[:, None]

    def _local(self, data: GraphData) -> tuple[npt.NDArray[np.float32], Ints]:
        if self.of == "nodes":
            return data.vectors, data.graphs.node_ptr
        if self.of == "neighbourhoods":
            return np.concatenate([data.vectors, data.neighbour_means], axis=1), data.graphs.node_ptr
        if self.of == "places":
            return data.graphs.node_attr, data.graphs.node_ptr
        source, target = global_edges(data.graphs)
        one, other = data.graphs.node_attr[source], data.graphs.node_attr[target]
        return np.concatenate([(one + other) / 2, other - one], axis=1), data.graphs.edge_ptr


@dataclass(frozen=True)
class MomentView(View):
    """Moments of attributes over the nodes, and of their differences over the edges."""

    about: str
    scalings: tuple[str, ...] = ("standard", "log")

    def applies(self, data: GraphData) -> bool:
        """Whether nodes have attributes."""
        return bool(data.graphs.node_attr.shape[1])

    def fit(self, data: GraphData, known: Ints) -> Fitted:
        """Mean and deviation of the attributes."""
        rows = data.graphs.node_attr[data.graphs.rows_of(known)].astype(np.float64)
        deviation = rows.std(axis=0)
        return {"mean": rows.mean(axis=0), "scale": 1 / np.where(deviation > 0, deviation, 1)}

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:
        """See `View.rows`."""
        graphs = data.graphs
        x = (graphs.node_attr - fitted["mean"]) * fitted["scale"]
        upper = np.triu_indices(x.shape[1])
        centre = means(x, graphs.node_ptr)
        apart = x - np.repeat(centre, graphs.num_nodes, axis=0)
        source, target = global_edges(graphs)
        owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
        step = np.abs(x[target] - x[source])
        squares = step[:, upper[0]] * step[:, upper[1]]
        edges = np.maximum(np.diff(graphs.edge_ptr), 1)[:, None]
        along = np.concatenate([step, squares, np.sqrt((step**2).sum(axis=1, keepdims=True))], axis=1)
        gather = csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(graphs), len(owner)))
        return np.concatenate(
            [
                centre,
                means(apart[:, upper[0]] * apart[:, upper[1]], graphs.node_ptr),
                np.cbrt(means(apart**3, graphs.node_ptr)),
                means(apart**4, graphs.node_ptr) ** 0.25,
                (gather @ along) / edges,
            ],
            axis=1,
        )


@dataclass(frozen=True)
class ExtraView(View):
    """Rows that came with the graphs."""

    name: str
    about: str = "Rows from elsewhere: the embedding of a network."
    scalings: tuple[str, ...] = ("plain",)

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:  # noqa: ARG002
        """See `View.rows`."""
        return data.extra[self.name]


VIEWS: Mapping[str, View] = {
    "statistics": TableView(
        "statistics",
        "Sizes, density, counts of small subgraphs, clustering, components, assortativity, shares and quantiles of "
        "degrees, mean and deviation of the random walk's return probabilities 1 to 8.",
        ("standard", "log"),
    ),
    "degrees": TableView(
        "degrees",
        "Shares of nodes by degree, by their neighbours' mean degree and by distance from the nearest hub, shares of "
        "edges by the degrees of their ends; degrees in bins that double in width.",
        ("standard", "plain"),
    ),
    "sequences": TableView(
        "sequences", "The nine largest degrees, adjacency and Laplacian eigenvalues.", ("standard", "log")
    ),
    "spectrum": TableView(
        "spectrum", "Histogram, heat trace and quantiles of the normalised Laplacian's eigenvalues.", ("standard",)
    ),
    "labels": CountView(
        ("labels", "label_pairs"),
        "Shares of node labels, and of pairs of labels at the two ends of an edge.",
        ("standard", "plain"),
        shares=True,
    ),
    "paths": CountView(
        ("label_paths",),
        "How many pairs of nodes have which labels and are how far apart: the 300 triples in most known graphs.",
        ("norm", "log", "standard"),
    ),
    "degree_paths": CountView(
        ("degree_paths",),
        "The same with degrees, up to 8, for labels.",
        ("norm", "log", "standard"),
    ),
    "nodes": RandomView("nodes", "Random features of the nodes' vectors: the distribution of kinds of nodes."),
    "neighbourhoods": RandomView(
        "neighbourhoods", "Random features of nodes together with their neighbours' mean vector."
    ),
    "places": RandomView("places", "Random features of the nodes' attributes alone."),
    "edges": RandomView("edges", "Random features of edges: mean and difference of the attributes at their ends."),
    "moments": MomentView("Moments of the attributes over the nodes, and of their differences along the edges."),
    "words": WordView("Bag of words: inverse document frequencies, rows of length 1, 768 leading directions."),
}


def view(name: str) -> View:
    """A view by name; names that are not in the list are those of extra rows."""
    return VIEWS.get(name) or ExtraView(name)
