"""Views of what was counted in whole graphs: tables of columns, sparse counts, bags of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints
from fsgc.methods.discriminant.graph_data import Fitted, GraphData, View

PATHS = 300
DIRECTIONS = 768
CYCLE_COLUMNS = ("triangle", "4-cycle", "transitivity", "clustering", "paws", "paths of 4", "return probability")
"""What the names of columns that count cycles, or are computed from such counts, contain; for the ablation."""


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
        from sklearn.utils.extmath import randomized_svd  # loads half of SciPy, which names and settings do not need

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
