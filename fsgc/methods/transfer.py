"""Transfer (`gin`, `gat`, `gcn`): classify base graphs first, then fine-tune a fresh head on each episode's supports.

The baselines of Crisostomi et al., LoG 2022, section 4. The embedder is frozen after training, so each graph is
embedded once, and the heads of thousands of episodes are one batched computation.
"""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.base_graphs import GraphBatches, GraphSample, base_graphs
from fsgc.methods.contract import Scope, TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.nn.embedder import Embedder
from fsgc.nn.heads import HEADS_AT_ONCE, HeadWeights, MLPHead, apply_heads, fine_tune, fresh_head
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.settings import Conv, EmbedderSettings
from fsgc.settings import Count, Positive, Seed, settings
from fsgc.training.plan import Batches, BatchPlan


@settings
class TransferSettings(EmbedderSettings):
    """Hyperparameters; those of the embedder are explained in `EmbedderSettings`.

    Attributes:
        lr: learning rate of Adam while base graphs are classified.
        head_lr: learning rate of Adam while a head is fine-tuned.
        head_steps: its steps, each on all supports of the episode.
        head_seed: of the weights that every head starts from.
    """

    lr: Positive = 1e-4
    head_lr: Positive = 1e-2
    head_steps: Count = 10
    head_seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm == "episode":
            raise SettingsError("norm must not be 'episode': transfer embeds each graph by itself", key="norm")


class Transfer(LearnedMethod):
    """An embedder trained with a classifier of base graphs; at test a head per episode.

    Args:
        shape: of the episodes.
        settings: hyperparameters.
        conv: the convolution, in place of that of the settings: the three methods share a section.
    """

    settings_type = TransferSettings
    section = "transfer"
    trains_on = "graphs"
    trained_for = Scope(shots=False, seed=True)
    episodes_at_once = 5000

    def __init__(self, shape: TaskShape, settings: TransferSettings, conv: Conv = "gin") -> None:
        super().__init__()
        self.settings = replace(settings, conv=conv)
        self.embedder = Embedder(shape.num_features, self.settings)
        self.head = MLPHead(settings.width, settings.width, shape.base_classes)

    def loss(self, batch: GraphSample) -> Loss:
        """Cross-entropy over base classes."""
        logits = self._logits(batch)
        total = F.cross_entropy(logits, batch.labels)
        return Loss(total, accuracy(logits, batch.labels))

    def validate(self, batch: GraphSample) -> tuple[Tensor, Tensor]:
        """Loss and accuracy on held-out graphs of base classes."""
        logits = self._logits(batch)
        return F.cross_entropy(logits, batch.labels), accuracy(logits, batch.labels)

    def train_batches(self, episodes: Episodes, plan: BatchPlan, epoch: int) -> Batches:
        """The graphs of base classes, once an epoch."""
        return GraphBatches(episodes, base_graphs(episodes)[0], plan.size).shuffled(plan.seed, epoch)

    def val_batches(self, episodes: Episodes, plan: BatchPlan) -> Batches:
        """Held-out graphs of base classes."""
        return GraphBatches(episodes, base_graphs(episodes)[1], plan.size)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Logits of every query under its episode's head, `[B, N·Q, N]`; every head starts from the same weights."""
        way, width = episodes.graphs.shape[1], self.settings.width
        z, place = self._embedded(episodes.graphs)
        drawn = fresh_head(width, width, way, torch.Generator().manual_seed(self.settings.head_seed))
        start = HeadWeights(*(weight.to(z) for weight in drawn))
        labels = episodes.support_labels.to(z.device)
        # Few episodes at a time: what a head reads and writes then stays near the processor.
        chunks = torch.split(place, HEADS_AT_ONCE)
        return torch.cat([self._tune_and_score(start, z[chunk], episodes.shots, labels) for chunk in chunks])

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Logits under a head fine-tuned on all supports, however many each class has: `[M, C]`."""
        classes, width = int(labels.max()) + 1, self.settings.width
        with torch.no_grad():
            z = embed_graphs(self.embedder, self.graphs, torch.cat([support, query])).unsqueeze(0)
        drawn = fresh_head(width, width, classes, torch.Generator().manual_seed(self.settings.head_seed))
        start = HeadWeights(*(weight.to(z) for weight in drawn))
        supports, steps, lr = z[:, : len(support)], self.settings.head_steps, self.settings.head_lr
        return apply_heads(fine_tune(start, supports, labels, steps, lr), z[:, len(support) :])[0]

    @torch.no_grad()
    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor:  # noqa: ARG002
        """The embeddings that the head is fine-tuned on, `[g, d]`."""
        return embed_graphs(self.embedder, self.graphs, graphs)

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """The embeddings that heads are fine-tuned on, `[B, N, K+Q, d]`."""
        z, place = self._embedded(episodes.graphs)
        return z[place]

    @torch.no_grad()
    def _embedded(self, graphs: Tensor) -> tuple[Tensor, Tensor]:
        """The embeddings of the distinct graphs, and where each graph finds its own."""
        distinct, place = torch.unique(graphs, return_inverse=True)
        return embed_graphs(self.embedder, self.graphs, distinct), place

    def _tune_and_score(self, start: HeadWeights, z: Tensor, shots: int, labels: Tensor) -> Tensor:
        """Heads fine-tuned on the supports and applied to the queries, of `z` `[B, N, K+Q, d]`: `[B, N·Q, N]`."""
        supports, queries = z[:, :, :shots].flatten(1, 2), z[:, :, shots:].flatten(1, 2)
        steps, lr = self.settings.head_steps, self.settings.head_lr
        return apply_heads(fine_tune(start, supports, labels, steps, lr), queries)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.lr)

    def _logits(self, batch: GraphSample) -> Tensor:
        return self.head(embed_graphs(self.embedder, self.graphs, batch.graphs))
