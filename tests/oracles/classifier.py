"""Embedder and head on plain PyG, adapted to one episode at a time: what transfer and MAML are compared with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.transfer import TransferSettings
from fsgc.nn.heads import fresh_head
from fsgc.nn.settings import EmbedderSettings
from tests.oracles.embedder import PlainEmbedder, collate


class PlainClassifier(nn.Module):
    """The embedder and a two-layer head to `classes` logits."""

    def __init__(self, num_features: int, settings: EmbedderSettings, classes: int) -> None:
        super().__init__()
        width = settings.width
        self.embedder = PlainEmbedder(num_features, settings)
        self.head = nn.ModuleDict({"hidden": nn.Linear(width, width), "out": nn.Linear(width, classes)})

    def forward(self, batch: Batch) -> Tensor:
        """Logits, `[g, classes]`."""
        return self.head["out"](F.relu(self.head["hidden"](self.embedder(batch))))


def maml_scores(
    plain: PlainClassifier, episodes: Episodes, cache: dict[int, Data], episode: EpisodeBatch, lr: float, steps: int
) -> Tensor:
    """The logits of the queries of one episode after MAML's steps, `[N·Q, N]`, differentiable through them."""
    support, query = (collate(episodes, cache, graphs) for graphs in (episode.support, episode.query))
    labels = _support_labels(episode)
    fast: dict[str, Tensor] = dict(plain.named_parameters())
    for _ in range(steps):
        loss = F.cross_entropy(torch.func.functional_call(plain, fast, (support,)), labels)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=plain.training)
        fast = {name: weight - lr * grad for (name, weight), grad in zip(fast.items(), grads, strict=True)}
    return torch.func.functional_call(plain, fast, (query,))


def fine_tuned_head(z: Tensor, labels: Tensor, way: int, settings: TransferSettings) -> nn.Module:
    """A head fine-tuned by `torch.optim.Adam` on the embedded supports of one episode, `[N·K, d]`."""
    width = settings.width
    head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, way)).to(z)
    start = fresh_head(width, width, way, torch.Generator().manual_seed(settings.head_seed))
    with torch.no_grad():
        for parameter, weight in zip(head.parameters(), start, strict=True):
            parameter.copy_(weight)
    optimiser = torch.optim.Adam(head.parameters(), lr=settings.head_lr)
    for _ in range(settings.head_steps):
        optimiser.zero_grad()
        F.cross_entropy(head(z), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return head


def transfer_scores(
    plain: PlainClassifier,
    episodes: Episodes,
    cache: dict[int, Data],
    episode: EpisodeBatch,
    settings: TransferSettings,
) -> Tensor:
    """The logits of the queries of one episode under a head fine-tuned on its supports, `[N·Q, N]`."""
    with torch.no_grad():
        support = plain.embedder(collate(episodes, cache, episode.support))
        query = plain.embedder(collate(episodes, cache, episode.query))
    head = fine_tuned_head(support, _support_labels(episode), episode.graphs.shape[1], settings)
    with torch.no_grad():
        return head(query)


def _support_labels(episode: EpisodeBatch) -> Tensor:
    positions = [position for position in range(episode.graphs.shape[1]) for _ in range(episode.shots)]
    return torch.tensor(positions, device=episode.graphs.device)
