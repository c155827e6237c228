"""Networks, episodes and features that the compiled code of AS-MAML is tried on.

Features are random, or nodes of equal features are interchangeable: which nodes are kept then hangs on no rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store

ALL_ALIKE, WITH_TWINS = "all alike", "with twins"


def drawn(way: int, shots: int, queries: int, among: int = 12, episodes: int = 3) -> EpisodeBatch:
    """Episodes of any graphs of the store of mixed ones, some with one node or no edges; the same may come twice."""
    draw = torch.Generator().manual_seed(way)
    return EpisodeBatch(torch.randint(0, among, (episodes, way, shots + queries), generator=draw), shots)


@dataclass(frozen=True)
class Case:
    """A network of certain sizes, and three episodes of graphs of the mixed store.

    Attributes:
        nodes: which features nodes have: random ones, the same everywhere, or random ones that isolated nodes and the
            rays of a star have in common.
        among: of the first so many graphs.
    """

    wide: int
    width: int
    levels: int
    way: int
    shots: int
    queries: int = 3
    ratio: float = 0.5
    nodes: str = "random"
    among: int = 12

    def network(self) -> SagNetwork:
        """The same weights at each call."""
        torch.manual_seed(0)
        return SagNetwork(self.wide, self.width, self.levels, self.way, root_weight=False)

    def batch(self) -> EpisodeBatch:
        """The episodes."""
        return drawn(self.way, self.shots, self.queries, self.among)

    def graphs(self, dtype: torch.dtype = torch.float32) -> GraphTensors:
        """All graphs."""
        return GraphTensors(mixed_store(), self._features().to(dtype))

    def _features(self) -> Tensor:
        x = features(mixed_store(), self.wide)
        if self.nodes == ALL_ALIKE:
            return torch.ones_like(x)
        for twins in ([1, 3, 4], [9, 10, 11], range(13, 19), range(19, 24)) if self.nodes == WITH_TWINS else ():
            x[list(twins)] = x[twins[0]].clone()
        return x


USUAL = Case(wide=4, width=64, levels=3, way=3, shots=4, queries=5)
CASES = {
    "as published": Case(4, 128, 3, 3, 2),
    "one level, one shot": Case(1, 32, 1, 2, 1),
    "few nodes kept": Case(3, 96, 2, 5, 1, ratio=0.3),
    "no multiples of a vector": Case(70, 64, 4, 18, 2, ratio=0.9),
    "all nodes kept": Case(2, 160, 3, 4, 5, ratio=1.0),
    "nodes that share the largest value": Case(2, 32, 3, 2, 2, 2, nodes=ALL_ALIKE, among=4),
    "twins, of which a pooling keeps a part": Case(2, 64, 3, 3, 2, ratio=0.4, nodes=WITH_TWINS, among=6),
}
