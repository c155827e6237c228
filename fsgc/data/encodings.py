"""How the values of nodes become columns of features.

Each encoding is fitted on the nodes of base graphs and knows nothing else, so that neither width nor scale of the
features knows the novel classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
_WORD_WIDTH = 64


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of `V` nodes as distinct rows and a code per node.

    One-hot features have few distinct rows: for the 645,202 nodes of Reddit a few hundred instead of a gigabyte.

    Attributes:
        table: float32 `[R, F]`.
        code: int64 `[V]`, the row of `table` that a node has.
    """

    table: Matrix
    code: npt.NDArray[np.int64]

    def rows(self, nodes: npt.NDArray[np.int64] | slice = slice(None)) -> Matrix:
        """The features of the given nodes, or of all, `[n, F]`."""
        return np.take(self.table, self.code[nodes], axis=0)


class Encoding(Protocol):
    """How the values of nodes become columns; what it knows of base graphs is all that it needs."""

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> Encoding:
        """From the values of the nodes of base graphs."""
        ...

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Encoding:
        """What `state` gave."""
        ...

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """The columns of `V` values, `[V, F]` as a table."""
        ...

    def state(self) -> dict[str, Any]:
        """What it knows, as lists of numbers."""
        ...


@dataclass(frozen=True, eq=False)
class OneHot:
    """One column per value seen in base graphs, ascending, and one more for all others; `F` = vocabulary + 1.

    Attributes:
        vocabulary: int64, ascending.
    """

    vocabulary: npt.NDArray[np.int64]

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> OneHot:
        """From the values of base graphs."""
        return cls(np.unique(values))

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        column, known = _find(self.vocabulary, values)
        size = len(self.vocabulary)
        return FeatureTable(np.eye(size + 1, dtype=np.float32), np.where(known, column, size))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {"vocabulary": self.vocabulary.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> OneHot:
        """What `state` gave."""
        return cls(np.asarray(state["vocabulary"], dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Standardised:
    """Mean 0 and deviation 1 over the nodes of base graphs; a constant column becomes 0. `F` = columns.

    Attributes:
        mean: float64 `[F]`.
        deviation: float64 `[F]`.
    """

    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> Standardised:
        """From the values of base graphs."""
        reference = values.astype(np.float64)
        return cls(reference.mean(axis=0), reference.std(axis=0))

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        return _plain((values - self.mean) / np.where(self.deviation > 0, self.deviation, 1))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Standardised:
        """What `state` gave."""
        return cls(*(np.asarray(state[name], dtype=np.float64) for name in ("mean", "deviation")))


class NearestOneHot(OneHot):
    """The same for values with an order: one that base graphs do not have takes the column of the nearest they have.

    Its own column would never be trained: 175 of Reddit's 404 novel graphs have a node of a degree unseen in base
    classes. The last column stays empty.
    """

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`; of two seen values equally near, the smaller counts."""
        above = np.minimum(np.searchsorted(self.vocabulary, values), len(self.vocabulary) - 1)
        below = np.maximum(above - 1, 0)
        is_below = np.abs(values - self.vocabulary[below]) <= np.abs(self.vocabulary[above] - values)
        columns = np.eye(len(self.vocabulary) + 1, dtype=np.float32)
        return FeatureTable(columns, np.where(is_below, below, above))


class AsIs:
    """The values themselves."""

    @classmethod
    def fit(cls, _values: npt.NDArray[Any]) -> AsIs:
        """There is nothing to know."""
        return cls()

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        return _plain(values)

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {}

    @classmethod
    def from_state(cls, _state: Mapping[str, Any]) -> AsIs:
        """What `state` gave."""
        return cls()


@dataclass(frozen=True, eq=False)
class InverseDocumentFrequency:
    """One number for a word: `log((1 + D) / (1 + d))`, `D` base graphs, of which `d` have it; standardised. `F` = 1.

    Attributes:
        vocabulary: int64, ascending.
        idf: float64 `[W + 1]`; the last is that of a word no base graph has.
        mean: over the nodes of base graphs.
        deviation: over the nodes of base graphs.
    """

    vocabulary: npt.NDArray[np.int64]
    idf: npt.NDArray[np.float64]
    mean: float
    deviation: float

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> InverseDocumentFrequency:
        """From the words and graphs `[V, 2]` of the nodes of base graphs."""
        vocabulary, idf = _idf(values)
        of_nodes = idf[np.searchsorted(vocabulary, values[:, 0])]
        return cls(vocabulary, idf, float(of_nodes.mean()), float(of_nodes.std()) or 1.0)

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        column, known = _find(self.vocabulary, values[:, 0])
        rows = (self.idf[:, None] - self.mean) / self.deviation
        return FeatureTable(rows.astype(np.float32), np.where(known, column, len(self.vocabulary)))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        scale = {"mean": self.mean, "deviation": self.deviation}
        return {"vocabulary": self.vocabulary.tolist(), "idf": self.idf.tolist(), **scale}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> InverseDocumentFrequency:
        """What `state` gave."""
        vocabulary = np.asarray(state["vocabulary"], dtype=np.int64)
        return cls(vocabulary, np.asarray(state["idf"]), float(state["mean"]), float(state["deviation"]))


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Latent semantic indexing (Deerwester et al., 1990): words by the documents of base classes they occur in.

    The matrix of base graphs by words, each row idf-weighted and of norm 1, is `U S Vᵀ` in its 64 leading singular
    values; a word's vector is its row of `V √W`, so that an entry is about 1. A word no base graph has is zero.

    Attributes:
        vocabulary: int64, ascending.
        vectors: float32 `[W + 1, F]`; the last is zero.
    """

    vocabulary: npt.NDArray[np.int64]
    vectors: Matrix

    @classmethod
    def fit(cls, values: npt.NDArray[Any]) -> WordVectors:
        """From the words and graphs `[V, 2]` of the nodes of base graphs."""
        from scipy.sparse import csr_array  # takes longer to load than all else that a split or episodes need
        from scipy.sparse.linalg import svds

        vocabulary, idf = _idf(values)
        graphs, row = np.unique(values[:, 1], return_inverse=True)
        column = np.searchsorted(vocabulary, values[:, 0])
        counts = csr_array((idf[column], (row, column)), shape=(len(graphs), len(vocabulary)))
        norm = np.sqrt(counts.multiply(counts).sum(axis=1))
        scaled = counts.multiply(1 / np.where(norm > 0, norm, 1)[:, None]).tocsr()
        size = min(_WORD_WIDTH, min(scaled.shape) - 1)
        # The start is fixed and so are the signs: the same graphs give the same vectors.
        right = svds(scaled, k=size, v0=np.ones(min(scaled.shape)), solver="arpack")[2][::-1].T
        right = right * np.sign(right[np.abs(right).argmax(axis=0), np.arange(size)])
        vectors = np.zeros((len(vocabulary) + 1, size), dtype=np.float32)
        vectors[:-1] = right * np.sqrt(len(vocabulary))
        return cls(vocabulary, vectors)

    def encode(self, values: npt.NDArray[Any]) -> FeatureTable:
        """See `Encoding`."""
        column, known = _find(self.vocabulary, values[:, 0])
        return FeatureTable(self.vectors, np.where(known, column, len(self.vocabulary)))

    def state(self) -> dict[str, Any]:
        """See `Encoding`."""
        return {"vocabulary": self.vocabulary.tolist(), "vectors": self.vectors.tolist()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> WordVectors:
        """What `state` gave."""
        vectors = np.asarray(state["vectors"], dtype=np.float32)
        return cls(np.asarray(state["vocabulary"], dtype=np.int64), vectors)


def _idf(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The words of `[V, 2]` words and graphs, ascending, and the idf of each and of a word that is not among them."""
    pairs = np.unique(values, axis=0)
    vocabulary, documents = np.unique(pairs[:, 0], return_counts=True)
    total = len(np.unique(pairs[:, 1]))
    return vocabulary.astype(np.int64), np.log((1 + total) / (1 + np.append(documents, 0)))


def _find(vocabulary: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], Mask]:
    """Where each value would stand in an ascending vocabulary, and whether it does."""
    column = np.searchsorted(vocabulary, values)
    return column, vocabulary[np.minimum(column, len(vocabulary) - 1)] == values


def _plain(values: npt.NDArray[Any]) -> FeatureTable:
    return FeatureTable(values.astype(np.float32), np.arange(len(values)))
