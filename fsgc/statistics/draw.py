"""`Draw`: which graphs met in which test episode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Draw:
    """The graphs of E episodes, numbered class by class: class `c` owns the `sizes[c]` numbers after those before it.

    Attributes:
        graphs: `[E, N, K+Q]`, class-major, the first K of a class its supports.
        shots: K.
        sizes: `[C]`, how many graphs each novel class has.
    """

    graphs: Ints
    shots: int
    sizes: Ints

    @property
    def way(self) -> int:
        """N, the classes of an episode."""
        return int(self.graphs.shape[1])

    @property
    def queries(self) -> int:
        """Q, the queries of a class."""
        return int(self.graphs.shape[2]) - self.shots

    @property
    def support(self) -> Ints:
        """The supports, `[E, N, K]`."""
        return self.graphs[:, :, : self.shots]

    @property
    def query(self) -> Ints:
        """The queries, `[E, N, Q]`."""
        return self.graphs[:, :, self.shots :]

    @cached_property
    def class_of(self) -> Ints:
        """The class (0..C−1) of every graph, `[G]`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def classes(self) -> Ints:
        """The class at every place of every episode, `[E, N]`."""
        return self.class_of[self.graphs[:, :, 0]]
