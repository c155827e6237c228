"""The GIN embedder conditioned on episodes (FiLM), arranged for the least work per node.

The result is that of `Embedder` with a `Film`. FiLM follows a linear layer, so it is a change of that layer's weights,
another one for every episode: no node row is scaled or shifted. What happens before the first FiLM depends on no
episode and is computed once per distinct graph. So are sums over neighbours, as long as nothing nonlinear stands
between: `A (r M + 1 c) = (A r) M + (A 1) c`, the matrix `M` and the shift `c` being the episode's.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn

from fsgc.methods.prototypical.copies import Copies
from fsgc.methods.prototypical.episode_affine import EpisodeAffine, EpisodeNodes, OwnTerm, SharedRows, SharedTerm
from fsgc.nn.compiled_embedder import can_be_compiled, embed_compiled
from fsgc.nn.convs import GINConv
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.norms import Groups


def can_be_folded(embedder: Embedder, device: torch.device) -> bool:
    """Whether `FoldedEmbedder` covers these settings.

    It does GIN, nothing nonlinear between the convolutions, and norms that see no other graph.
    """
    settings, training = embedder.settings, embedder.training
    linear_between = settings.activation == "none" and (settings.dropout == 0 or not training)
    by_itself = settings.norm in ("graph", "none") or (settings.norm == "batch" and not training)
    in_one_type = not torch.is_autocast_enabled(device.type)
    return settings.conv == "gin" and linear_between and by_itself and in_one_type


def embed_conditioned(
    embedder: Embedder,
    tensors: GraphTensors,
    graphs: Tensor,
    gamma: Tensor,
    beta: Tensor,
    groups: Groups | None = None,
    max_nodes: int | None = None,
) -> Tensor:
    """Embed the graphs of episodes, each conditioned on its episode: `[E, M]` to `[E·M, d]`.

    The result is that of `embed_graphs` with a `Film`; GIN takes less work than that (`FoldedEmbedder`).

    Args:
        embedder: the embedder.
        tensors: the dataset.
        graphs: int64 `[E, M]`, indices of graphs, best on the host.
        gamma: `[E, L+1, d]`, scales.
        beta: `[E, L+1, d]`, shifts.
        groups: the groups of `norm: episode`, `groups.index` `[E·M]`.
        max_nodes: about how many nodes a chunk has; by device if not given.
    """
    folds = can_be_folded(embedder, tensors.device)
    compiles = groups is None and can_be_compiled(embedder, tensors.device)
    # Linear convolutions leave so few products when folded that compiled code is no faster.
    if not folds or (compiles and embedder.settings.gin_mlp_layers > 1):
        episode = torch.arange(len(graphs), device=gamma.device).repeat_interleave(graphs.shape[1])
        film = Film(gamma, beta, episode)
        if compiles:
            return embed_compiled(embedder, tensors, graphs.flatten(), film)
        return embed_graphs(embedder, tensors, graphs, film, groups, max_nodes)
    embed = FoldedEmbedder(embedder, tensors, graphs)
    sizes = tensors.chunk_sizes(graphs, max_nodes)
    ends = accumulate(sizes, initial=0)
    chunks = [slice(begin, end) for begin, end in pairwise(ends)]
    return torch.cat([embed(chunk, gamma[chunk], beta[chunk]) for chunk in chunks])


class FoldedEmbedder:
    """Embeds the graphs of episodes, each with a scale and a shift per layer of its own.

    Args:
        embedder: the embedder; see `can_be_folded`.
        tensors: the dataset.
        graphs: int64 `[E, M]`, indices of graphs, of all episodes that will be asked for.
    """

    def __init__(self, embedder: Embedder, tensors: GraphTensors, graphs: Tensor) -> None:
        self.embedder, self.tensors, self.graphs = embedder, tensors, graphs
        self.convs = [conv for conv in embedder.convs if isinstance(conv, GINConv)]
        distinct, place = torch.unique(graphs, return_inverse=True)
        self.place = place.to(tensors.device)
        self.batch = tensors.batch(distinct)
        self.linear_convs = embedder.settings.gin_mlp_layers == 1
        self.first_is_done = not self.linear_convs or self.batch.features.width > embedder.settings.width
        self.entering = self._entering()
        features, jump = self.batch.features, embedder.jump.linear
        self.shared = SharedRows(self.entering if features.code is not None else [*self.entering, features.table])
        widths = [features.width] + [embedder.settings.width] * len(self.convs)
        self.jump_of_input, *self.jump_of_layers = torch.split(jump.weight, widths, 1)
        self.projected = features.project(self.jump_of_input) if features.code is not None else None

    def _entering(self) -> list[Tensor]:
        """Rows of the distinct graphs that the first layers multiply with an episode's matrix, `[m, k]` each.

        Convolution 0 is done, or only mixed where it is linear and its input narrow. Then what enters the MLP of
        convolution 1, 2, …, as far as that is linear in rows known here; the last column is for the layer's shift.
        """
        features, adjacency = self.batch.features, self.batch.adjacency
        first, *others = self.convs
        rows = first(features, self.batch) if self.first_is_done else first.mix(features, adjacency)
        result = [rows]
        for conv in others if self.linear_convs else others[:1]:
            rows = conv.mix(torch.cat([rows, rows.new_ones(len(rows), 1)], 1), adjacency)
            result.append(rows)
        return result

    def __call__(self, episodes: slice, gamma: Tensor, beta: Tensor) -> Tensor:
        """Embed the graphs of some of the episodes, `[e·M, d]`; scales and shifts of those are `[e, L+1, d]`."""
        place = self.place[episodes]
        copies = Copies.make(self.batch, place.flatten())
        nodes = EpisodeNodes(self.batch.num_nodes[place].sum(1).tolist(), copies, self.shared)
        layers: list[EpisodeAffine] = []
        for index, conv in enumerate(self.convs):
            y = self._first_linear(index, layers, episodes) if index else self._first_convolution(len(place))
            if index and not self.linear_convs:
                shift, matrix = _expanded(conv.last, len(place))
                y = EpisodeAffine(shift, own=(OwnTerm(conv.hidden(y.carry_out(nodes), copies.segments), matrix),))
            layers.append(y.film(gamma[:, index], beta[:, index]))
        hidden = self.embedder.jump.activate(self._jump(layers, nodes))
        episode = torch.arange(len(place), device=place.device).repeat_interleave(place.shape[1])
        return self.embedder.pool(hidden, copies.segments, Film(gamma, beta, episode))

    def _first_convolution(self, count: int) -> EpisodeAffine:
        if not self.first_is_done:
            shift, matrix = _expanded(self.convs[0].first, count)
        else:
            like = self.entering[0]
            shift = like.new_zeros(count, like.shape[1])
            matrix = torch.eye(like.shape[1], dtype=like.dtype, device=like.device).expand(count, -1, -1)
        return EpisodeAffine(shift, shared=(SharedTerm(0, matrix),))

    def _first_linear(self, index: int, layers: list[EpisodeAffine], episodes: slice) -> EpisodeAffine:
        """The first linear layer of convolution 1, 2, …, of the last of the layers so far."""
        conv, before = self.convs[index], layers[-1]
        none, shift = torch.zeros_like(before.shift), before.shift.unsqueeze(1)
        if before.shared:
            (known,) = before.shared
            mixed = EpisodeAffine(none, shared=(SharedTerm(index, torch.cat([known.matrix, shift], 1)),))
        else:
            (term,) = before.own
            adjacency = self.tensors.batch(self.graphs[episodes]).adjacency
            ones = term.rows.new_ones(len(term.rows), 1)
            of_rows = OwnTerm(conv.mix(term.rows, adjacency), term.matrix)
            mixed = EpisodeAffine(none, own=(of_rows, OwnTerm(conv.mix(ones, adjacency), shift)))
        return mixed.then(conv.first.weight, conv.first.bias)

    def _jump(self, layers: list[EpisodeAffine], nodes: EpisodeNodes) -> Tensor:
        """The linear layer of jumping knowledge, of the input and all layers: `[n, d]`."""
        count = len(nodes.sizes)
        total = EpisodeAffine(self.embedder.jump.linear.bias.expand(count, -1))
        for layer, weight in zip(layers, self.jump_of_layers, strict=True):
            total = total + layer.then(weight)
        if self.projected is not None:
            return total.carry_out(nodes) + nodes.copies.spread(self.projected)
        of_input = SharedTerm(len(self.entering), self.jump_of_input.t().expand(count, -1, -1))
        return replace(total, shared=(*total.shared, of_input)).carry_out(nodes)


def _expanded(layer: nn.Linear, count: int) -> tuple[Tensor, Tensor]:
    """The shift and the matrix of a linear layer, for `count` episodes, as yet the same for all."""
    return layer.bias.expand(count, -1), layer.weight.t().expand(count, -1, -1)
