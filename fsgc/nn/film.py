"""FiLM: a scale and a shift per episode and layer (Perez et al. 2018; TADAM, Oreshkin et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fsgc.nn.segments import Segments


@dataclass(frozen=True, eq=False)
class Film:
    """`h ← gamma ⊙ h + beta` for `E` episodes, `L` convolutions and the final node embedding.

    Attributes:
        gamma: `[E, L+1, d]`, scales.
        beta: `[E, L+1, d]`, shifts.
        episode: int64 `[g]`, the episode of each graph of the batch.
    """

    gamma: Tensor
    beta: Tensor
    episode: Tensor

    def nodes(self, h: Tensor, layer: int, segments: Segments) -> Tensor:
        """Modulate node rows `[n, d]`."""
        gamma, beta = self._of_graphs(layer)
        return torch.addcmul(segments.spread(beta), h, segments.spread(gamma))

    def graphs(self, z: Tensor, layer: int, nodes: Tensor | None = None) -> Tensor:
        """Modulate means over the nodes of graphs, `[g, d]`; or sums, if `nodes` `[g]` counts them."""
        gamma, beta = self._of_graphs(layer)
        shift = beta if nodes is None else beta * nodes.to(beta.dtype).unsqueeze(1)
        return torch.addcmul(shift, z, gamma)

    def _of_graphs(self, layer: int) -> tuple[Tensor, Tensor]:
        gamma, beta = self.gamma[:, layer], self.beta[:, layer]
        return gamma.index_select(0, self.episode), beta.index_select(0, self.episode)
