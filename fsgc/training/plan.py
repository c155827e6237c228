"""How the data of an epoch comes to a method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class BatchPlan:
    """How training data is cut into batches.

    Attributes:
        size: episodes (or graphs) of a batch.
        per_epoch: episodes of an epoch; 0: as many as are stored for one.
        seed: of what is drawn in training.
    """

    size: int
    per_epoch: int
    seed: int


class Batches(Protocol):
    """The batches of an epoch, and how many they are; each has `graphs` and can be moved to a device."""

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...
