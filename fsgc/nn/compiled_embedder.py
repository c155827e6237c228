"""`Embedder` by way of compiled code, for graphs of episodes that may each have a scale and a shift a layer (FiLM)."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.nn.convs import GINConv
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.gin_kernel import LANES, MOST_CONVS, GinRows, is_compiled
from fsgc.nn.graph_tensors import GraphBatch, GraphTensors
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.norms import GraphNorm
from fsgc.nn.segments import Segments


def can_be_compiled(embedder: Embedder, device: torch.device) -> bool:
    """Whether `embed_compiled` covers these settings: GIN with norms that see no other graph, on the CPU."""
    settings = embedder.settings
    return (
        is_compiled()
        and device.type == "cpu"
        and embedder.out.weight.dtype == torch.float32
        and not torch.is_autocast_enabled(device.type)
        and settings.conv == "gin"
        and settings.norm == "graph"
        and settings.gin_mlp_layers <= 2
        and settings.num_convs <= MOST_CONVS
        and settings.width % LANES == 0
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
    # Rows of nodes leave the kernel only for the deviations of `mean_std`: not those of all graphs at once.
    parts = tensors.chunk_sizes(graphs) if embedder.halve is not None else []
    if len(parts) < 2:
        return _embed(embedder, tensors, graphs, film)
    episodes = [None] * len(parts) if film is None else torch.split(film.episode, parts)
    films = [film if episode is None or film is None else replace(film, episode=episode) for episode in episodes]
    pairs = zip(torch.split(graphs, parts), films, strict=True)
    return torch.cat([_embed(embedder, tensors, *pair) for pair in pairs])


def _embed(embedder: Embedder, tensors: GraphTensors, graphs: Tensor, film: Film | None) -> Tensor:
    settings = embedder.settings
    distinct, place = torch.unique(graphs, return_inverse=True)
    batch = tensors.batch(distinct)
    sizes = batch.num_nodes.index_select(0, place)
    rows = Segments.from_sizes(sizes, int(sizes.sum()))
    first = embedder.convs[0]
    assert isinstance(first, GINConv)
    convs = len(embedder.convs)
    from_input, *from_layers = torch.split(
        embedder.jump.linear.weight, [batch.features.width] + [settings.width] * convs, 1
    )
    dropout = settings.dropout if embedder.training else 0.0
    gin = GinRows(
        width=settings.width,
        convs=convs,
        mlp_layers=settings.gin_mlp_layers,
        relu=settings.activation == "relu",
        per_node=embedder.halve is not None,
        dropout=dropout,
        seed=int(torch.randint(2**63 - 1, ())) if dropout else 0,
        batch=batch,
        place=place,
        rows=rows,
        episode=None if film is None else film.episode.contiguous(),
    )
    scales = () if film is None else (film.gamma[:, :convs].contiguous(), film.beta[:, :convs].contiguous())
    jump = batch.features.project(from_input, embedder.jump.linear.bias)
    result = gin(_weights(embedder, from_layers), first_linear(first, batch), jump, *scales)
    return embedder.pool(result, rows, film) if gin.per_node else _pooled(embedder, result, sizes, film)


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


def _pooled(embedder: Embedder, sums: Tensor, sizes: Tensor, film: Film | None) -> Tensor:
    """What follows sums over the nodes of each graph, `[g, d]`: as in `Embedder.pool`, on graphs in place of nodes."""
    nodes, last = sizes.to(sums.dtype).unsqueeze(1), len(embedder.convs)
    if embedder.settings.pooling == "mean":
        z = embedder.out(sums / nodes)
        return z if film is None else film.graphs(z, last)
    z = F.linear(sums, embedder.out.weight) + nodes * embedder.out.bias
    return z if film is None else film.graphs(z, last, sizes)
