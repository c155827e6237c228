"""A method in one file: prototypes compared by cosine similarity instead of squared distance.

To make it a row of the tables, put it into `fsgc/methods/` and add a line to `METHODS` in `fsgc/methods/registry.py`:

    "pn_cosine": Entry("PN cosine", "Prototypes by cosine similarity.", "cosine_prototypes:CosinePrototypes"),
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.prototypical.method import PrototypicalNetwork


class CosinePrototypes(PrototypicalNetwork):
    """Everything is the prototypical network's, but for the similarity; its settings section too."""

    def similarity(self, x: Tensor, prototypes: Tensor) -> Tensor:
        """`α cos(x, p)` of embeddings `[B, M, d]` and prototypes `[B, N, d]`: `[B, M, N]`."""
        return self.scale * F.normalize(x, dim=-1) @ F.normalize(prototypes, dim=-1).mT
