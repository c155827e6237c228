"""The discriminant for labelled graphs alone, asked many times about the same graphs: descriptors are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.prediction.contract import Engine

if TYPE_CHECKING:
    from fsgc.methods.discriminant.few_shot import FewShotDiscriminant

VALUES = 1e9
"""How many cosines of nodes leave-one-out may take: some fifteen seconds of one core."""


class DiscriminantEngine(Engine):
    """The discriminant with the choices it ships with; it is fitted on the labelled graphs alone."""

    def attach(self, graphs: GraphStore) -> None:
        """See `Engine`."""
        from fsgc.methods.discriminant.few_shot import DescribedGraphs

        self._graphs = DescribedGraphs(graphs)

    def most_folds(self) -> int | None:
        """Fewer for large graphs whose nodes have attributes: random features of every node follow their means."""
        from fsgc.methods.discriminant.local_views import FEATURES, WIDTHS

        attributes = self._graphs.store.node_attr
        if not attributes.shape[1]:
            return None
        return max(10, int(VALUES / (len(attributes) * FEATURES * len(WIDTHS["places"]))))

    def scores(self, support: Ints, y: Ints, query: Ints) -> Floats:
        """See `Engine`."""
        return self._fitted(support, y).scores_of_some(self._graphs, query)

    def vectors(self, support: Ints, y: Ints, graphs: Ints) -> Floats:
        """The rows of all views side by side, `[g, d]`; before the discount of directions within classes."""
        return self._fitted(support, y).vectors_of_some(self._graphs, graphs)

    def _fitted(self, support: Ints, y: Ints) -> FewShotDiscriminant:
        from fsgc.methods.discriminant.few_shot import FewShotDiscriminant

        return FewShotDiscriminant().fit_some(self._graphs, support, y)
