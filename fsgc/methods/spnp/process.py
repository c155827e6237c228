"""The parts of SPNP's neural process (Garnelo et al., Neural Processes, 2018).

`h` `[B, N, M, d]` are embeddings of `B` episodes, class-major; a graph's label enters as the mean embedding of its
class's supports, `code` `[B, N, d]`, so that nothing depends on the numbers of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST_DEVIATION = 0.1


class Gaussian(NamedTuple):
    """Independent normal variables, one per episode and latent dimension.

    Attributes:
        mean: `[B, d]`.
        deviation: `[B, d]`, between 0.1 and 1.
    """

    mean: Tensor
    deviation: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """The values that standard normal noise `[S, B or 1, d]` becomes: `[S, B, d]`."""
        return self.mean + self.deviation * noise

    def divergence(self, other: Gaussian) -> Tensor:
        """KL(self ‖ other) of each episode, `[B]`."""
        ratio = self.deviation / other.deviation
        shift = (self.mean - other.mean) / other.deviation
        return (0.5 * (ratio.square() + shift.square() - 1) - ratio.log()).sum(-1)


class PairEncoder(nn.Module):
    """`MLP(h ‖ code)` of every graph: `[B, N, M, d]` and `[B, N, d]` to `[B, N, M, d]`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_graph = nn.Linear(width, width)
        self.of_code = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, h: Tensor, code: Tensor) -> Tensor:
        """Two matrices side by side are one matrix on the concatenation; a code is multiplied once per class."""
        result: Tensor = self.out(F.relu(self.of_graph(h) + self.of_code(code).unsqueeze(2)))
        return result


class LatentPath(nn.Module):
    """q(z | graphs): `s = MLP(h ‖ code)`, averaged, and two heads for mean and deviation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoder = PairEncoder(width)
        self.mean = nn.Linear(width, width)
        self.deviation = nn.Linear(width, width)

    def forward(self, h: Tensor, code: Tensor) -> Gaussian:
        """The distribution given the graphs of `h`, all of them labelled."""
        return self.given(self.encoder(h, code))

    def given(self, s: Tensor) -> Gaussian:
        """The distribution given some encoded graphs, `[B, N, M, d]`."""
        mean = s.mean((1, 2))
        return Gaussian(self.mean(mean), LEAST_DEVIATION + (1 - LEAST_DEVIATION) * torch.sigmoid(self.deviation(mean)))


class Decoder(nn.Module):
    """`u = h + MLP(h ‖ r ‖ z)`; the MLP's last layer starts at zero, so that training starts from PN.

    Args:
        width: `d`.
        paths: how many of `r` and `z` there are.
    """

    def __init__(self, width: int, paths: int) -> None:
        super().__init__()
        self.of_graph = nn.Linear(width, width)
        self.of_paths = nn.Linear(paths * width, width, bias=False)
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, h: Tensor, paths: Tensor) -> Tensor:
        """`[B, N, M, d]` and `[S, B, paths·d]` to `[S, B, N, M, d]`."""
        hidden = self.of_graph(h) + self.of_paths(paths)[:, :, None, None]
        result: Tensor = h + self.out(F.relu(hidden))
        return result


class SelfAttention(nn.Module):
    """One block over the supports of a class: `x + out(softmax(q kᵀ / √d) v)` of the layer-normed `x`.

    The last matrix starts at zero: the block is then the identity, and the prototype the plain mean.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.in_projection = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        """`[…, K, d]` to the same shape."""
        query, key, value = self.in_projection(self.norm(x)).chunk(3, -1)
        weights = torch.softmax(query @ key.mT * x.shape[-1] ** -0.5, -1)
        result: Tensor = x + self.out(weights @ value)
        return result
