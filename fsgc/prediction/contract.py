"""What classifies a user's graphs, as the classifier sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fsgc.arrays import Floats, Ints
from fsgc.data.graph_store import GraphStore
from fsgc.data.vocabulary import GraphVocabulary


class Engine(ABC):
    """Scores graphs given labelled ones.

    Attributes:
        vocabulary: in whose terms graphs must be; None if those of the labelled graphs do.
        features: what it looks at of a node.
        transductive: whether a graph's scores depend on the others to be classified.
    """

    vocabulary: GraphVocabulary | None = None
    features: tuple[str, ...] = ("attributes", "label_onehot")
    transductive: bool = False

    @abstractmethod
    def attach(self, graphs: GraphStore) -> None:
        """Take graphs, labelled and new ones, that indices below refer to."""

    @abstractmethod
    def scores(self, support: Ints, y: Ints, query: Ints) -> Floats:
        """Scores of the graphs `query` `[M]` given the classes `y` `[S]`, 0 to C−1, of `support` `[S]`: `[M, C]`."""

    def vectors(self, support: Ints, y: Ints, graphs: Ints) -> Floats | None:  # noqa: ARG002
        """The vectors by which it tells `graphs` apart, `[g, d]`; None if it has none."""
        return None

    def most_folds(self) -> int | None:
        """How many times, at most, it should be asked about parts of the attached graphs; None if it is always fast."""
        return None

    def check(self, classes: int) -> None:  # noqa: ARG002
        """Refuse a number of classes that it cannot tell apart; most take any number."""
        return
