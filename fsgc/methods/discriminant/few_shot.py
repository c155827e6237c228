"""The discriminant for a few labelled graphs and nothing else: no base classes, nothing to search on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

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


class DescribedGraphs:
    """Graphs whose descriptors are computed once, however often some of them are labelled and others asked about.

    A descriptor is a function of one graph, given which node labels are told apart; the labelled graphs decide that.
    All labels are told apart at once: a view has columns for those that occur in labelled graphs only, so the others
    make no difference. What does make one is whether labels are kinds, words or nothing.

    Args:
        store: the graphs.
    """

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self._known: GraphData | None = None

    def of_labelled(self, support: Ints) -> GraphData:
        """The graphs and their descriptors, with at least the node labels of `support` told apart."""
        most = DescriptorSettings().max_labels
        wanted = LabelKinds.of(self.store, support, most)
        if self._known is None or not _covers(self._known.descriptors.kinds, wanted):
            all_labels = LabelKinds.of(self.store, np.arange(len(self.store)), most)
            self._known = self._described(all_labels if _covers(all_labels, wanted) else wanted)
        return self._known

    def by(self, kinds: LabelKinds) -> GraphData:
        """The same with labels told apart as `kinds` says."""
        if self._known is None or self._known.descriptors.kinds != kinds:
            self._known = self._described(kinds)
        return self._known

    def _described(self, kinds: LabelKinds) -> GraphData:
        return GraphData(self.store, compute_descriptors(self.store, kinds))


def _covers(kinds: LabelKinds, wanted: LabelKinds) -> bool:
    """Whether descriptors by one are as good as by the other."""
    same_sort = (kinds.words, bool(kinds.labels)) == (wanted.words, bool(wanted.labels))
    return same_sort and set(wanted.labels) <= set(kinds.labels)


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
        self._attributes = graphs.store.node_attr.shape[1]
        data = graphs.of_labelled(support)
        self._kinds = data.descriptors.kinds
        self._parts = [FittedPart.fit(part, data, support) for part in PARTS if view(part.view).applies(data)]
        self._support = torch.from_numpy(self.vectors_of_some(graphs, support))
        self._labels = torch.from_numpy(place)
        return self

    def scores(self, store: GraphStore) -> Floats:
        """Scores of new graphs, float64 `[M, C]`; the largest of a row is the prediction."""
        return self.scores_of_some(DescribedGraphs(store), np.arange(len(store)))

    def scores_of_some(self, graphs: DescribedGraphs, query: Ints) -> Floats:
        """The same of some of the graphs, `query`."""
        rows = torch.from_numpy(self.vectors_of_some(graphs, query))
        return np.asarray(labelled_head(self._support, self._labels, rows).scores(TAU)[0].numpy())

    def vectors_of_some(self, graphs: DescribedGraphs, some: Ints) -> Floats:
        """The rows of all views side by side, `[g, d]`, before the discount of directions within classes."""
        width = graphs.store.node_attr.shape[1]
        if width != self._attributes:
            raise DataFormatError(f"the graphs have {width} node attributes, those it was fitted on {self._attributes}")
        data = graphs.by(self._kinds)
        return np.concatenate([part.rows(data)[some] for part in self._parts], axis=1)
