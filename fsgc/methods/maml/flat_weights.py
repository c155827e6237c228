"""All weights of a network as one vector, in the order and shapes in which `EpisodeNetwork` multiplies them.

Gradient descent treats each number by itself, so a step on the vectors of all episodes, `[B, W]`, is one operation.
Matrices are stored transposed, a bias as one more row of its matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fsgc.nn.settings import EmbedderSettings


class Pieces(NamedTuple):
    """The weights of episodes by their part in the network with `L` convolutions, or gradients of the same shapes.

    Attributes:
        eps: of the convolutions, `[B, L]`.
        first: the first matrix, `[B, F, d]`.
        norms: of each convolution the weights of `NormRelu`, `[B, 4, d]`.
        lasts: of each convolution the last layer of its MLP, `[B, d+1, d]`.
        nexts: what is multiplied with that, `[B, d, 2·d]`: the next convolution's first matrix beside the part of
            jumping knowledge, which is all there is after the last convolution, `[B, d, d]`.
        jump: jumping knowledge of the input, and its bias, `[B, F+1, d]`.
        read: the weights of `ReadOut`, `[B, 2, d]`.
        embed: the last layer of the embedder, `[B, d+1, d]`.
        hidden: the first layer of the head, `[B, d+1, d]`.
        scores: its second layer, `[B, d+1, N]`.
    """

    eps: Tensor
    first: Tensor
    norms: Sequence[Tensor]
    lasts: Sequence[Tensor]
    nexts: Sequence[Tensor]
    jump: Tensor
    read: Tensor
    embed: Tensor
    hidden: Tensor
    scores: Tensor

    def join(self) -> Tensor:
        """All pieces one after the other, `[B, W]`."""
        return torch.cat([piece.flatten(1) for piece in _in_order(self)], 1)


def _in_order(pieces: Pieces) -> list[Tensor]:
    return [part for piece in pieces for part in ([piece] if isinstance(piece, Tensor) else piece)]


class FlatWeights(nn.Module):
    """The way from named weights to the vector and back; it has none of its own.

    Args:
        named: the weights of a `MamlNetwork`.
        settings: of its embedder: `conv: gin` with `gin_mlp_layers: 2` and a norm.
        num_features: `F`.
    """

    index: Tensor
    inverse: Tensor

    def __init__(self, named: Mapping[str, Tensor], settings: EmbedderSettings, num_features: int) -> None:
        super().__init__()
        self.shapes = {name: weight.shape for name, weight in named.items()}
        self.convs = settings.num_convs
        # The pieces are cut from positions instead of weights: what comes out is where each number comes from.
        ends = list(accumulate((weight.numel() for weight in named.values()), initial=0))
        where = {
            name: torch.arange(start, start + weight.numel()).view(1, *weight.shape)
            for (name, weight), start in zip(named.items(), ends, strict=False)
        }
        pieces = _pieces(where, self.convs, num_features, fixed=ends[-1])
        self.piece_shapes = [piece.shape[1:] for piece in _in_order(pieces)]
        index = pieces.join()[0]
        # A fixed ε is no weight; its position is one past the last.
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("inverse", index.argsort(stable=True)[: ends[-1]], persistent=False)

    def pack(self, named: Mapping[str, Tensor]) -> Tensor:
        """The vector of named weights, `[W]`."""
        flat = [named[name].detach().flatten() for name in self.shapes]
        return torch.cat([*flat, flat[0].new_zeros(1)]).index_select(0, self.index)

    def unpack(self, vector: Tensor) -> list[Tensor]:
        """A vector such as a gradient, `[W]`, in the shapes and the order of the named weights."""
        flat = vector.index_select(0, self.inverse)
        parts = torch.split(flat, [shape.numel() for shape in self.shapes.values()])
        return [part.view(shape) for part, shape in zip(parts, self.shapes.values(), strict=True)]

    def cut(self, vectors: Tensor) -> Pieces:
        """Views of the vectors of episodes, `[B, W]`."""
        parts = torch.split(vectors, [shape.numel() for shape in self.piece_shapes], 1)
        views = [part.view(len(vectors), *shape) for part, shape in zip(parts, self.piece_shapes, strict=True)]
        n = self.convs
        eps, first, middle, rest = views[0], views[1], views[2 : 2 + 3 * n], views[2 + 3 * n :]
        return Pieces(eps, first, middle[:n], middle[n : 2 * n], middle[2 * n :], *rest)


def _pieces(named: Mapping[str, Tensor], convs: int, num_features: int, fixed: int) -> Pieces:
    """Cut named arrays, each with a leading dimension 1; `fixed` stands where there is no ε."""

    def layer(name: str) -> Tensor:
        return torch.cat([named[f"{name}.weight"].mT, named[f"{name}.bias"].unsqueeze(1)], 1)

    inner = [f"embedder.convs.{index}" for index in range(convs)]
    jump = named["embedder.jump.linear.weight"].mT
    width = jump.shape[2]
    of_input, *of_convs = torch.split(jump, [num_features, *[width] * convs], 1)
    first = [named[f"{conv}.first.weight"].mT for conv in inner]
    eps = [named.get(f"{conv}.eps", torch.full((1, 1), fixed)) for conv in inner]
    in_norm = ("norms.0.weight", "norms.0.bias", "norms.0.mean_scale")
    return Pieces(
        eps=torch.cat(eps, 1),
        first=first[0],
        norms=[torch.stack([named[f"{conv}.{name}"] for name in ("first.bias", *in_norm)], 1) for conv in inner],
        lasts=[layer(f"{conv}.others.0") for conv in inner],
        nexts=[torch.cat(pair, 2) for pair in zip(first[1:], of_convs[:-1], strict=True)] + [of_convs[-1]],
        jump=torch.cat([of_input, named["embedder.jump.linear.bias"].unsqueeze(1)], 1),
        read=torch.stack([named[f"embedder.jump.norm.{name}"] for name in ("weight", "bias")], 1),
        embed=layer("embedder.out"),
        hidden=layer("head.hidden"),
        scores=layer("head.out"),
    )
