"""A method in one file: prototypes compared by cosine similarity instead of squared distance.

It is named by its file, wherever that is; no line anywhere else is needed:

    fsgc train examples/cosine_prototypes.py:CosinePrototypes triangles_gen -o cosine.pt
    dvc exp run -S model=examples/cosine_prototypes.py:CosinePrototypes
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
