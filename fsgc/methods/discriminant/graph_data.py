"""What views look at, and what a view is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.cycles import adjacency_matrix
from fsgc.data.descriptors.store import Descriptors
from fsgc.data.graph_store import GraphStore

Fitted = Mapping[str, npt.NDArray[Any]]


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
