"""Views of how nodes and edges are distributed: random features and moments of their vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.cycles import global_edges
from fsgc.data.descriptors.segments import means
from fsgc.methods.discriminant.graph_data import Fitted, GraphData, View
from fsgc.random import generator

WIDTHS = {"nodes": (0.2, 0.5), "neighbourhoods": (0.2, 0.5), "places": (0.5, 1.0, 2.0), "edges": (0.5, 1.0, 2.0)}
FEATURES = 64


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
