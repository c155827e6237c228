"""PN and PN+TAE+MU as public code does them: PyG layers, a `Data` list per batch, loops over episodes and class pairs.

The baseline of `benchmarks.prototypical`, and the oracle that tests compare scores and losses with.
"""

from __future__ import annotations

from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, GraphNorm, global_add_pool, global_mean_pool

from fsgc.methods.prototypical.conditioner import TaskConditioner
from fsgc.methods.prototypical.method import PrototypicalSettings


class PlainMLP(nn.Module):
    """The MLP of a GIN convolution: norm and ReLU between the linear layers."""

    def __init__(self, in_width: int, width: int, layers: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(in_width if i == 0 else width, width) for i in range(layers))
        self.norms = nn.ModuleList(GraphNorm(width) for _ in range(layers - 1))
        self.batch = torch.zeros(0)

    def forward(self, x: Tensor) -> Tensor:
        """`[n, in]` to `[n, width]`; the graph index is set by the embedder."""
        for index, linear in enumerate(self.linears):
            if index:
                x = F.relu(self.norms[index - 1](x, self.batch))
            x = linear(x)
        return x


class PlainPN(nn.Module):
    """A prototypical network with or without task-adaptive embedding.

    Args:
        num_features: width of the node features.
        settings: hyperparameters; mean or sum pooling, GraphNorm.
        task_adaptive: whether to condition on the episode.
        mixup: whether to add the mixup penalty.
    """

    def __init__(self, num_features: int, settings: PrototypicalSettings, task_adaptive: bool, mixup: bool) -> None:
        super().__init__()
        self.settings = settings
        width, convs = settings.width, settings.num_convs
        self.mlps = [PlainMLP(num_features if i == 0 else width, width, settings.gin_mlp_layers) for i in range(convs)]
        self.convs = nn.ModuleList(GINConv(mlp, train_eps=settings.learnable_eps) for mlp in self.mlps)
        self.jump = nn.Linear(num_features + convs * width, width)
        self.jump_norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.tensor(float(settings.scale)))
        self.conditioner = TaskConditioner(width, convs + 1, settings.gamma0, settings.beta0) if task_adaptive else None
        self.mixup = mixup

    def embed(self, listed: list[Data], film: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Embed a list of graphs, `[g, d]`; `film` are scales and shifts `[g, L+1, d]`."""
        batch = Batch.from_data_list(listed)
        h, layers = batch.x, [batch.x]
        for index, conv in enumerate(self.convs):
            self.mlps[index].batch = batch.batch
            h = self._modulate(conv(h, batch.edge_index), film, index, batch.batch)
            h = F.dropout(h, self.settings.dropout, self.training)
            layers.append(h)
        h = self.out(F.relu(self.jump_norm(self.jump(torch.cat(layers, 1)))))
        h = self._modulate(h, film, len(self.convs), batch.batch)
        pool = global_mean_pool if self.settings.pooling == "mean" else global_add_pool
        return pool(h, batch.batch)

    @staticmethod
    def _modulate(h: Tensor, film: tuple[Tensor, Tensor] | None, layer: int, batch: Tensor) -> Tensor:
        if film is None:
            return h
        gamma, beta = (values[:, layer][batch] for values in film)
        return gamma * h + beta

    def forward(self, supports: list[list[list[Data]]], queries: list[list[list[Data]]]) -> tuple[Tensor, Tensor]:
        """Episodes as nested lists `[B][N][K]` and `[B][N][Q]` to the loss and the scores `[B, N·Q, N]`."""
        film = None
        if self.conditioner is not None:
            plain = self.embed([g for episode in supports for graphs in episode for g in graphs])
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

    def _embed_set(self, part: list[list[list[Data]]], film: tuple[Tensor, Tensor] | None) -> list[list[Tensor]]:
        """Embeddings of nested lists of graphs, nested alike but for the last level, a tensor."""
        flat = [g for episode in part for graphs in episode for g in graphs]
        per_graph = None
        if film is not None:
            repeats = len(flat) // len(part)
            per_graph = (film[0].repeat_interleave(repeats, 0), film[1].repeat_interleave(repeats, 0))
        z = self.embed(flat, per_graph)
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


def copy_weights(ours: nn.Module, plain: PlainPN) -> None:
    """Give the plain network the weights of one of ours; both must be made with the same settings."""
    theirs = list(plain.state_dict())
    mine = {_plain_name(name): value for name, value in ours.state_dict().items()}
    plain.load_state_dict({name: mine[name].reshape(plain.state_dict()[name].shape) for name in theirs})


def _plain_name(name: str) -> str:
    """`embedder.convs.0.first.weight` is `convs.0.nn.linears.0.weight` there, and so on."""
    parts = name.removeprefix("embedder.").split(".")
    if parts[0] == "convs":
        conv, rest = parts[:2], parts[2:]
        if rest[0] == "first":
            return ".".join([*conv, "nn", "linears", "0", *rest[1:]])
        if rest[0] == "others":
            return ".".join([*conv, "nn", "linears", str(int(rest[1]) + 1), *rest[2:]])
        if rest[0] == "norms":
            return ".".join([*conv, "nn", *rest])
        return ".".join([*conv, *rest])
    if parts[:2] == ["jump", "linear"]:
        return ".".join(["jump", *parts[2:]])
    if parts[:2] == ["jump", "norm"]:
        return ".".join(["jump_norm", *parts[2:]])
    return ".".join(parts)
