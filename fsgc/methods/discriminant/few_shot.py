"""The discriminant for a few labelled graphs and nothing else: no base classes, nothing to search on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fsgc.arrays import Floats
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
        if len(labels) != len(store):
            raise DataFormatError(f"{len(store)} graphs need as many labels, got {len(labels)}")
        self.classes, place = np.unique(np.asarray(labels), return_inverse=True)
        if len(self.classes) < 2:
            raise DataFormatError(f"at least two classes are needed, got {len(self.classes)}")
        everything = np.arange(len(store))
        self._kinds = LabelKinds.of(store, everything, DescriptorSettings().max_labels)
        self._attributes = store.node_attr.shape[1]
        data = self._data(store)
        self._parts = [FittedPart.fit(part, data, everything) for part in PARTS if view(part.view).applies(data)]
        self._support = self._rows(data)
        self._labels = torch.from_numpy(place)
        return self

    def scores(self, store: GraphStore) -> Floats:
        """Scores of new graphs, float64 `[M, C]`; the largest of a row is the prediction."""
        if store.node_attr.shape[1] != self._attributes:
            raise DataFormatError(
                f"the graphs have {store.node_attr.shape[1]} node attributes, those it was fitted on {self._attributes}"
            )
        head = labelled_head(self._support, self._labels, self._rows(self._data(store)))
        return np.asarray(head.scores(TAU)[0].numpy())

    def _data(self, store: GraphStore) -> GraphData:
        return GraphData(store, compute_descriptors(store, self._kinds))

    def _rows(self, data: GraphData) -> Tensor:
        return torch.from_numpy(np.concatenate([part.rows(data) for part in self._parts], axis=1))
