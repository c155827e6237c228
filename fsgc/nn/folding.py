"""Weights of a GIN embedder folded together: FiLM between two linear layers makes one matrix of them, an episode's."""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.nn.convs import GINConv
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.folded_kernel import FoldedWeights
from fsgc.nn.norms import GraphNorm


def folded_weights(embedder: Embedder, from_layers: list[Tensor], film: Film | None) -> FoldedWeights:
    """What `folded_rows` takes.

    Args:
        embedder: two-layer GIN convolutions, nothing between them but FiLM.
        from_layers: the parts of jumping knowledge's matrix that each convolution goes through, `[d, d]`.
        film: scales and shifts of `E` episodes; one without.
    """
    convs = [conv for conv in embedder.convs if isinstance(conv, GINConv)]
    norms = [norm for conv in convs for norm in conv.norms if isinstance(norm, GraphNorm)]
    matrices, vectors = [], []
    to_jump: Tensor | float = 0.0
    for index, (conv, jump) in enumerate(zip(convs, from_layers, strict=True)):
        # What leaves a convolution is r M + k, M [E, d, d] and k [E, d].
        leaving, shift = conv.last.weight.t().contiguous().unsqueeze(0), conv.last.bias.unsqueeze(0)
        if film is not None:
            gamma, beta = film.gamma[:, index], film.beta[:, index]
            leaving, shift = leaving * gamma.unsqueeze(1), torch.addcmul(beta, shift, gamma)
        matrices.append(leaving @ jump.t())
        to_jump = to_jump + shift @ jump.t()
        if index + 1 < len(convs):
            first = convs[index + 1].first
            matrices.append(leaving @ first.weight.t())
            vectors += [shift @ first.weight.t(), first.bias.expand(len(shift), -1)]
    assert isinstance(to_jump, Tensor)
    own = [torch.ones_like(conv.first.bias[:1]) if conv.eps is None else 1 + conv.eps for conv in convs[1:]]
    return FoldedWeights(
        norms=torch.stack([torch.stack([norm.weight, norm.bias, norm.mean_scale]) for norm in norms]),
        own=torch.cat(own) if own else to_jump.new_empty(0),
        matrices=matrices,
        vectors=torch.stack([to_jump, *vectors], 1),
        layer_norm=torch.stack([embedder.jump.norm.weight, embedder.jump.norm.bias]),
        spread=spread_matrix(embedder, film),
    )


def spread_matrix(embedder: Embedder, film: Film | None) -> Tensor | None:
    """From jumping knowledge to what deviations are taken of, `[E, d, d/2]`: `out`, its FiLM and `halve`."""
    if embedder.halve is None:
        return None
    out = embedder.out.weight.t().contiguous().unsqueeze(0)
    if film is not None:
        out = out * film.gamma[:, len(embedder.convs)].unsqueeze(1)
    return out @ embedder.halve.weight.t()
