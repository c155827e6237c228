"""PN and PN+TAE+MU as public code does them: PyG layers, lists of `Data`, loops over episodes and pairs of classes."""

from __future__ import annotations

from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from fsgc.episodes.batches import Episodes
from fsgc.methods.prototypical.method import PrototypicalSettings
from tests.oracles.embedder import Film, PlainEmbedder

Nested = list[list[list[Data]]]


class PlainResidualMLP(nn.Module):
    """`relu(W x + MLP(x))`, the MLP of three layers with hidden width `d/2`."""

    def __init__(self, in_width: int, out_width: int) -> None:
        super().__init__()
        self.first = nn.Linear(in_width, in_width // 2)
        self.second = nn.Linear(in_width // 2, in_width // 2)
        self.third = nn.Linear(in_width // 2, out_width)
        self.shortcut = nn.Linear(in_width, out_width)

    def forward(self, x: Tensor) -> Tensor:
        """`[d]` to `[out]`."""
        inner = self.third(self.second(self.first(x).relu()).relu())
        return (self.shortcut(x) + inner).relu()


class PlainConditioner(nn.Module):
    """TAE: `β = β0 · g(p)` and `γ = γ0 · h(p) + 1`, one episode and one layer after the other."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.gamma0, self.beta0 = nn.Parameter(torch.empty(layers)), nn.Parameter(torch.empty(layers))
        self.scale, self.shift = PlainResidualMLP(width, layers * width), PlainResidualMLP(width, layers * width)

    def forward(self, means: Tensor) -> Film:
        """The mean embeddings of the supports, `[B, d]`, to scales and shifts, `[B, L+1, d]` each."""
        gammas, betas = [], []
        for mean in means:
            scales, shifts = (mlp(mean).split(len(mean)) for mlp in (self.scale, self.shift))
            gammas.append(torch.stack([1 + g0 * scale for g0, scale in zip(self.gamma0, scales, strict=True)]))
            betas.append(torch.stack([b0 * shift for b0, shift in zip(self.beta0, shifts, strict=True)]))
        return torch.stack(gammas), torch.stack(betas)

    def penalty(self) -> Tensor:
        """`‖γ0‖₂ + ‖β0‖₂`."""
        return (self.gamma0**2).sum().sqrt() + (self.beta0**2).sum().sqrt()


class PlainPN(nn.Module):
    """A prototypical network with or without task-adaptive embedding; its weights are there to be copied into.

    Args:
        num_features: width of the node features.
        settings: hyperparameters; mean or sum pooling, GraphNorm.
        task_adaptive: whether to condition on the episode.
        mixup: whether to add the mixup penalty.
    """

    def __init__(self, num_features: int, settings: PrototypicalSettings, task_adaptive: bool, mixup: bool) -> None:
        super().__init__()
        self.settings = settings
        self.embedder = PlainEmbedder(num_features, settings)
        self.scale = nn.Parameter(torch.tensor(float(settings.scale)))
        self.conditioner = PlainConditioner(settings.width, settings.num_convs + 1) if task_adaptive else None
        self.mixup = mixup

    def forward(self, supports: Nested, queries: Nested) -> tuple[Tensor, Tensor]:
        """Episodes as nested lists `[B][N][K]` and `[B][N][Q]` to the loss and the scores `[B, N·Q, N]`."""
        film = None
        if self.conditioner is not None:
            plain = self.embedder(Batch.from_data_list(_flat(supports)))
            film = self.conditioner(plain.view(len(supports), -1, plain.shape[1]).mean(1))
        losses, scores = [], []
        embedded = [self._embed_set(part, film) for part in (supports, queries)]
        for support, query in zip(*embedded, strict=True):  # one episode after the other
            prototypes = torch.stack([rows.mean(0) for rows in support])
            logits = torch.cat([self._scores(rows, prototypes) for rows in query])
            labels = torch.arange(len(query)).repeat_interleave(len(query[0]))
            loss = F.cross_entropy(logits, labels)
            if self.mixup:
                loss = loss + self.settings.lambda_mixup * self._mixup(support, prototypes)
            losses.append(loss)
            scores.append(logits)
        total = torch.stack(losses).mean()
        if self.conditioner is not None:
            total = total + self.settings.lambda_reg * self.conditioner.penalty()
        return total, torch.stack(scores)

    def _embed_set(self, part: Nested, film: Film | None) -> list[list[Tensor]]:
        """Embeddings of nested lists of graphs, nested alike but for the last level, a tensor."""
        graphs = _flat(part)
        per_graph = None
        if film is not None:
            repeats = len(graphs) // len(part)
            per_graph = film[0].repeat_interleave(repeats, 0), film[1].repeat_interleave(repeats, 0)
        z = self.embedder(Batch.from_data_list(graphs), per_graph)
        return [list(episode.chunk(len(part[0]))) for episode in z.chunk(len(part))]

    def _scores(self, x: Tensor, prototypes: Tensor) -> Tensor:
        return -self.scale * ((x[:, None] - prototypes[None]) ** 2).sum(-1)

    def _mixup(self, support: list[Tensor], prototypes: Tensor) -> Tensor:
        penalty = torch.zeros(())
        for a, b in combinations(range(len(support)), 2):
            first = support[a][torch.randint(len(support[a]), ())]
            second = support[b][torch.randint(len(support[b]), ())]
            mask = torch.randint(2, first.shape).float()
            mixed = mask * first + (1 - mask) * second
            rho = [self._scores(x[None], prototypes).softmax(-1) for x in (mixed, first, second)]
            target = mask.mean() * rho[1] + (1 - mask.mean()) * rho[2]
            penalty = penalty + ((rho[0] - target) ** 2).sum()
        return penalty


def nested(episodes: Episodes, cache: dict[int, Data], graphs: Tensor) -> Nested:
    """Indices `[B, N, M]` as nested lists of `Data` objects, which are kept in `cache`."""
    for graph in graphs.flatten().tolist():
        if graph not in cache:
            cache[graph] = episodes.graphs.to_data(graph, episodes.features)
    return [[[cache[g] for g in c] for c in e] for e in graphs.tolist()]


def _flat(part: Nested) -> list[Data]:
    return [graph for episode in part for graphs in episode for graph in graphs]
