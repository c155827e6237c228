"""The discriminant for labelled graphs alone, asked many times about the same graphs: descriptors are computed once.

`FewShotDiscriminant` says what it is. There, descriptors are computed anew for every set of labelled graphs. Here all
graphs are described at once: descriptors are functions of one graph, and only what is learned from the labelled graphs
(vocabularies, means, deviations) differs between the sets that leave-one-out goes through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.prediction.contract import Engine

if TYPE_CHECKING:
    from fsgc.data.descriptors.store import LabelKinds
    from fsgc.methods.discriminant.views import GraphData

VALUES = 1e9
"""How many cosines of nodes leave-one-out may take: some fifteen seconds of one core."""


class DiscriminantEngine(Engine):
    """The discriminant with the choices it ships with; it is fitted on the labelled graphs alone."""

    def attach(self, graphs: GraphStore) -> None:
        """See `Engine`."""
        self._graphs = graphs
        self._data: GraphData | None = None

    def most_folds(self) -> int | None:
        """Fewer for large graphs whose nodes have attributes: random features of every node follow their means."""
        from fsgc.methods.discriminant.views import FEATURES, WIDTHS

        if not self._graphs.node_attr.shape[1]:
            return None
        return max(10, int(VALUES / (len(self._graphs.node_attr) * FEATURES * len(WIDTHS["places"]))))

    def scores(self, support: Ints, y: Ints, query: Ints) -> Floats:
        """See `Engine`."""
        from fsgc.methods.discriminant.few_shot import TAU
        from fsgc.methods.discriminant.head import labelled_head

        rows = torch.from_numpy(self._rows(support))
        head = labelled_head(rows[support], torch.from_numpy(y), rows[query])
        return np.asarray(head.scores(TAU)[0].numpy())

    def vectors(self, support: Ints, y: Ints, graphs: Ints) -> Floats:  # noqa: ARG002
        """The rows of all views side by side, `[g, d]`; before the discount of directions within classes."""
        return self._rows(support)[graphs]

    def _rows(self, support: Ints) -> Floats:
        """The rows of all attached graphs, as the labelled ones `support` alone have it: `[G, d]`."""
        from fsgc.methods.discriminant.few_shot import PARTS
        from fsgc.methods.discriminant.scaling import Scaling
        from fsgc.methods.discriminant.views import view

        data, parts = self._described(support), []
        for part in PARTS:
            looking = view(part.view)
            if looking.applies(data):
                rows = looking.rows(data, looking.fit(data, support))
                parts.append(part.weight * Scaling.fit(part.scaling, rows, support).apply(rows))
        return np.concatenate(parts, axis=1)

    def _described(self, support: Ints) -> GraphData:
        """The descriptors of all attached graphs, with at least the node labels of `support` told apart.

        Labels that `support` does not have may be told apart as well. It makes no difference: a view has columns for
        those that occur in labelled graphs only. What does make one is whether labels are kinds, words or nothing.
        """
        from fsgc.data.descriptors.store import DescriptorSettings, LabelKinds, compute_descriptors
        from fsgc.methods.discriminant.views import GraphData

        most = DescriptorSettings().max_labels
        wanted = LabelKinds.of(self._graphs, support, most)
        if self._data is None or not _covers(self._data.descriptors.kinds, wanted):
            broader = LabelKinds.of(self._graphs, np.arange(len(self._graphs)), most)
            kinds = broader if _covers(broader, wanted) else wanted
            self._data = GraphData(self._graphs, compute_descriptors(self._graphs, kinds))
        return self._data


def _covers(kinds: LabelKinds, wanted: LabelKinds) -> bool:
    """Whether descriptors by one are as good as by the other."""
    same_sort = (kinds.words, bool(kinds.labels)) == (wanted.words, bool(wanted.labels))
    return same_sort and set(wanted.labels) <= set(kinds.labels)
