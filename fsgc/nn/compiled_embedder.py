"""`Embedder` by way of compiled code, for graphs of episodes that may each have a scale and a shift a layer (FiLM)."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn import folded_kernel
from fsgc.nn.convs import GINConv
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.folding import folded_weights, spread_matrix
from fsgc.nn.gin_kernel import GinRows, is_compiled
from fsgc.nn.graph_copies import LANES, MOST_CONVS, GraphCopies
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.norms import GraphNorm
from fsgc.nn.pooling import root_of_variance


def can_be_compiled(embedder: Embedder, device: torch.device) -> bool:
    """Whether `embed_compiled` covers these settings: GIN with norms that see no other graph, on the CPU."""
    settings = embedder.settings
    return (
        is_compiled()
        and folded_kernel.is_compiled()
        and device.type == "cpu"
        and embedder.out.weight.dtype == torch.float32
        and not torch.is_autocast_enabled(device.type)
        and settings.conv == "gin"
        and settings.norm == "graph"
        and settings.gin_mlp_layers <= 2
        and settings.num_convs <= MOST_CONVS
        and settings.width % (LANES if embedder.halve is None else 2 * LANES) == 0
    )


def embed_distinct(embedder: Embedder, tensors: GraphTensors, graphs: Tensor) -> Tensor:
    """Embed each distinct graph once and hand it to every place it occurs at: `[…]` to `[…, d]`.

    By compiled code where that is possible; for embedders that see no other graph (not `norm: episode`).
    """
    distinct, place = torch.unique(graphs, return_inverse=True)
    embed = embed_compiled if can_be_compiled(embedder, tensors.device) else embed_graphs
    return embed(embedder, tensors, distinct)[place]


def embed_compiled(embedder: Embedder, tensors: GraphTensors, graphs: Tensor, film: Film | None = None) -> Tensor:
    """Embed the given graphs, `[g]` to `[g, d]`; the result is that of `embed_graphs`.

    Args:
        embedder: the embedder; see `can_be_compiled`.
        tensors: the dataset.
        graphs: int64 `[g]`; a graph may occur more than once.
        film: scales and shifts, `film.episode` `[g]`.
    """
    settings = embedder.settings
    dropout = settings.dropout if embedder.training else 0.0
    if settings.gin_mlp_layers < 2 or settings.activation != "none" or dropout:
        return _embed(embedder, tensors, graphs, film, dropout)
    # Without chance a graph has one embedding an episode, however often it occurs in it.
    pairs = graphs if film is None else film.episode * len(tensors) + graphs
    distinct, place = torch.unique(pairs, return_inverse=True)
    if film is not None:
        film = replace(film, episode=distinct // len(tensors))
    return _embed_folded(embedder, tensors, distinct % len(tensors), film).index_select(0, place)


def _embed_folded(embedder: Embedder, tensors: GraphTensors, graphs: Tensor, film: Film | None) -> Tensor:
    batch, copies = _copies(tensors, graphs, film)
    entry, jump, from_layers = _inputs(embedder, batch)
    weights = folded_weights(embedder, from_layers, film)
    sums, variances = folded_kernel.folded_rows(copies, entry, jump, weights)
    return _pooled(embedder, sums, variances, copies.sizes, film)


def _embed(embedder: Embedder, tensors: GraphTensors, graphs: Tensor, film: Film | None, dropout: float) -> Tensor:
    settings, convs = embedder.settings, len(embedder.convs)
    batch, copies = _copies(tensors, graphs, film)
    entry, jump, from_layers = _inputs(embedder, batch)
    gin = GinRows(
        width=settings.width,
        convs=convs,
        mlp_layers=settings.gin_mlp_layers,
        relu=settings.activation == "relu",
        dropout=dropout,
        seed=int(torch.randint(2**63 - 1, ())) if dropout else 0,
        copies=copies,
    )
    gamma = None if film is None else film.gamma[:, :convs].contiguous()
    beta = None if film is None else film.beta[:, :convs].contiguous()
    sums, variances = gin(_weights(embedder, from_layers), entry, jump, gamma, beta, spread_matrix(embedder, film))
    return _pooled(embedder, sums, variances, copies.sizes, film)


def _copies(tensors: GraphTensors, graphs: Tensor, film: Film | None) -> tuple[GraphBatch, GraphCopies]:
    distinct, place = torch.unique(graphs, return_inverse=True)
    batch = tensors.batch(distinct)
    return batch, GraphCopies.make(batch, place, None if film is None else film.episode.contiguous())


def _inputs(embedder: Embedder, batch: GraphBatch) -> tuple[Tensor, Tensor, list[Tensor]]:
    """What enters the kernels, `[m, d]` twice, and the parts of jumping knowledge's matrix for the convolutions."""
    first = embedder.convs[0]
    assert isinstance(first, GINConv)
    widths = [batch.features.width] + [embedder.settings.width] * len(embedder.convs)
    from_input, *from_layers = torch.split(embedder.jump.linear.weight, widths, 1)
    jump = batch.features.project(from_input, embedder.jump.linear.bias)
    return first_linear(first, batch), jump, from_layers


def first_linear(conv: GINConv, batch: GraphBatch) -> Tensor:
    """The first linear layer of a convolution of the input features, `[m, d]`; sums on the narrower side of it."""
    linear, features = conv.first, batch.features
    if features.neighbour_sum is not None or features.width <= linear.out_features:
        return linear(conv.mix(features, batch.adjacency))
    return conv.mix(features.project(linear.weight), batch.adjacency) + linear.bias


def _weights(embedder: Embedder, from_layers: list[Tensor]) -> Tensor:
    """All weights that the kernel takes, as it lays them out."""
    parts: list[Tensor] = []
    for index, (conv, jump) in enumerate(zip(embedder.convs, from_layers, strict=True)):
        assert isinstance(conv, GINConv)
        if index:
            own = jump.new_ones(1) if conv.eps is None else 1 + conv.eps
            parts += [conv.first.weight.t(), conv.first.bias, own]
        for norm in conv.norms:
            assert isinstance(norm, GraphNorm)
            parts += [norm.weight, norm.bias, norm.mean_scale, conv.last.weight.t(), conv.last.bias]
        parts.append(jump.t())
    parts += [embedder.jump.norm.weight, embedder.jump.norm.bias]
    return torch.cat([part.reshape(-1) for part in parts])


def _pooled(embedder: Embedder, sums: Tensor, variances: Tensor, sizes: Tensor, film: Film | None) -> Tensor:
    """What follows sums over the nodes of each graph, `[g, d]`: as in `Embedder.pool`, on graphs in place of nodes."""
    nodes, last = sizes.to(sums.dtype).unsqueeze(1), len(embedder.convs)
    if embedder.settings.pooling == "sum":
        z = F.linear(sums, embedder.out.weight) + nodes * embedder.out.bias
        return z if film is None else film.graphs(z, last, sizes)
    z = embedder.out(sums / nodes)
    z = z if film is None else film.graphs(z, last)
    return z if embedder.halve is None else torch.cat([embedder.halve(z), root_of_variance(variances)], 1)
