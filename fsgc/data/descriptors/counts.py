"""Sparse counts: how often coded things occur in each graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fsgc.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each code occurs in each of `G` graphs.

    Attributes:
        pointer: int64 `[G+1]`; graph `g` owns rows `pointer[g]:pointer[g+1]`.
        code: int64 `[n]`, ascending within a graph.
        count: float64 `[n]`, above 0.
    """

    pointer: Ints
    code: Ints
    count: Floats

    @classmethod
    def of(cls, graph: Ints, code: Ints, count: npt.NDArray[Any], graphs: int) -> Counts:
        """Gather counts that come in any order; those of the same graph and code add up."""
        order = np.lexsort((code, graph))
        graph, code, count = graph[order], code[order], count[order]
        if len(code) == 0:
            return cls(np.zeros(graphs + 1, np.int64), code.astype(np.int64), count.astype(np.float64))
        first = np.flatnonzero(np.concatenate([[True], (np.diff(graph) != 0) | (np.diff(code) != 0)]))
        pointer = np.searchsorted(graph[first], np.arange(graphs + 1))
        return cls(pointer, code[first], np.add.reduceat(count.astype(np.float64), first))

    def __len__(self) -> int:
        return len(self.pointer) - 1

    def columns(self, vocabulary: Ints) -> csr_array:
        """The counts of the codes of an ascending vocabulary, sparse `[G, C]`; other codes are left out."""
        shape = (len(self), len(vocabulary))
        if len(vocabulary) == 0:
            return csr_array(shape)
        column = np.minimum(np.searchsorted(vocabulary, self.code), len(vocabulary) - 1)
        known = vocabulary[column] == self.code
        graph = np.repeat(np.arange(len(self)), np.diff(self.pointer))
        return csr_array((self.count[known], (graph[known], column[known])), shape=shape)

    def most_frequent(self, graphs: Ints, count: int) -> Ints:
        """The `count` codes that occur in most of the given graphs, ascending; of equally frequent ones the lower."""
        chosen = np.zeros(len(self), bool)
        chosen[graphs] = True
        codes, occurs = np.unique(self.code[np.repeat(chosen, np.diff(self.pointer))], return_counts=True)
        return np.sort(codes[np.argsort(-occurs, kind="stable")[:count]])
