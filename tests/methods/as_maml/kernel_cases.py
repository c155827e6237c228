"""Episodes and features that the compiled code of AS-MAML is tried on.

Features are random, or nodes of equal features are interchangeable: which nodes are kept then hangs on no rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from tests.nn.oracle import features, mixed_store

SIZES = "wide, width, levels, way, shots, ratio"
VALUES = [
    (4, 128, 3, 3, 2, 0.5),
    (1, 32, 1, 2, 1, 0.5),
    (3, 96, 2, 5, 1, 0.3),
    (70, 64, 4, 18, 2, 0.9),
    (2, 160, 3, 4, 5, 1.0),
]
"""Networks and episodes; some have sizes that are no multiples of a vector."""


def drawn(way: int, shots: int, queries: int, among: int = 12, episodes: int = 3) -> EpisodeBatch:
    """Episodes of any graphs of the store of mixed ones, some with one node or no edges; the same may come twice."""
    draw = torch.Generator().manual_seed(way)
    return EpisodeBatch(torch.randint(0, among, (episodes, way, shots + queries), generator=draw), shots)


def with_twins() -> Tensor:
    """Features of the mixed store, the same on isolated nodes and on the rays of a star: these are one row each."""
    x = features(mixed_store(), 2)
    for twins in ([1, 3, 4], [9, 10, 11], range(13, 19), range(19, 24)):
        x[list(twins)] = x[twins[0]].clone()
    return x
