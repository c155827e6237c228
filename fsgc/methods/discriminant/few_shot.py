"""The discriminant for a few labelled graphs and nothing else: no base classes, nothing to search on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.store import DescriptorSettings, LabelKinds, compute_descriptors
from fsgc.data.graph_store import GraphStore
from fsgc.errors import DataFormatError
from fsgc.methods.discriminant.graph_data import GraphData
from fsgc.methods.discriminant.head import labelled_head
from fsgc.methods.discriminant.model import FittedPart
from fsgc.methods.discriminant.search import Part
from fsgc.methods.discriminant.views import view

PARTS = (
    Part("statistics", "log"),
    Part("labels", "plain"),
    Part("paths", "norm"),
    Part("words", "norm"),
    Part("moments", "standard"),
    Part("places", "plain"),
)
"""The views, as far as there is anything to see; each has the same weight."""
TAU = 1.0
"""The shrinkage: how the supports vary within classes counts as much as if they varied alike in all directions."""


_KEPT = 4
"""So many ways of telling labels apart are remembered at a time."""


class DescribedGraphs:
    """Graphs whose descriptors are computed once, however often some of them are labelled and others asked about.

    A descriptor is a function of one graph, given which node labels are told apart; the labelled graphs decide that,
    and leaving one of them out seldom changes it.

    Args:
        store: the graphs.
    """

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self._known: dict[LabelKinds, GraphData] = {}

    def __len__(self) -> int:
        return len(self.store)

    def data(self, kinds: LabelKinds) -> GraphData:
        """The graphs and their descriptors, with labels told apart as `kinds` says."""
        if kinds not in self._known:
            while len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[kinds] = GraphData(self.store, compute_descriptors(self.store, kinds))
        return self._known[kinds]


class FewShotDiscriminant:
    """Learns classes from a few graphs of each, any number, and scores new ones.

    Views are scaled by the labelled graphs themselves, the metric is the identity, and the shrinkage is fixed, so that
    there is nothing to choose. A class's scores are minus squared distances from its mean, discounted in directions in
    which graphs vary within classes; with one graph per class it is the nearest one.

    Attributes:
        classes: the distinct labels, ascending; the columns of the scores.
    """

    classes: npt.NDArray[Any]

    def fit(self, store: GraphStore, labels: Sequence[Any] | npt.NDArray[Any]) -> FewShotDiscriminant:
        """Learn from labelled graphs.

        Args:
            store: the graphs; their own classes are not looked at.
            labels: a label per graph, of two or more classes.
        """
        return self.fit_some(DescribedGraphs(store), np.arange(len(store)), labels)

    def fit_some(
        self, graphs: DescribedGraphs, support: Ints, labels: Sequence[Any] | npt.NDArray[Any]
    ) -> FewShotDiscriminant:
        """Learn from some of the graphs, `support`, with a label each; the others are not looked at."""
        if len(labels) != len(support):
            raise DataFormatError(f"{len(support)} graphs need as many labels, got {len(labels)}")
        self.classes, place = np.unique(np.asarray(labels), return_inverse=True)
        if len(self.classes) < 2:
            raise DataFormatError(f"at least two classes are needed, got {len(self.classes)}")
        self._kinds = LabelKinds.of(graphs.store, support, DescriptorSettings().max_labels)
        self._attributes = graphs.store.node_attr.shape[1]
        data = graphs.data(self._kinds)
        self._parts = [FittedPart.fit(part, data, support) for part in PARTS if view(part.view).applies(data)]
        self._support = self._rows(data, support)
        self._labels = torch.from_numpy(place)
        return self

    def scores(self, store: GraphStore) -> Floats:
        """Scores of new graphs, float64 `[M, C]`; the largest of a row is the prediction."""
        return self.scores_of_some(DescribedGraphs(store), np.arange(len(store)))

    def scores_of_some(self, graphs: DescribedGraphs, query: Ints) -> Floats:
        """The same of some of the graphs, `query`."""
        width = graphs.store.node_attr.shape[1]
        if width != self._attributes:
            raise DataFormatError(f"the graphs have {width} node attributes, those it was fitted on {self._attributes}")
        head = labelled_head(self._support, self._labels, self._rows(graphs.data(self._kinds), query))
        return np.asarray(head.scores(TAU)[0].numpy())

    def _rows(self, data: GraphData, graphs: Ints) -> Tensor:
        return torch.from_numpy(np.concatenate([part.rows(data)[graphs] for part in self._parts], axis=1))
