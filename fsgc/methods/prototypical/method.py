"""Prototypical networks for graphs (`pn`), with task-adaptive embedding (`tae`) and latent mixup (`mu`).

Crisostomi et al., Metric Based Few-Shot Graph Classification, LoG 2022, section 3; Snell et al., 2017.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from fsgc.episodes.batches import EpisodeBatch
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy, cross_entropy
from fsgc.methods.prototypical.conditioner import EpisodeConditioner
from fsgc.methods.prototypical.folded_film import embed_conditioned
from fsgc.methods.prototypical.mixup import LatentMixup, Mask, MixupLoss, Ratio, Source
from fsgc.nn.class_means import class_means
from fsgc.nn.compiled_embedder import embed_distinct
from fsgc.nn.distance import squared_distances
from fsgc.nn.embedder import Embedder
from fsgc.nn.in_chunks import embed_graphs
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings, Pooling
from fsgc.settings import NonNegative, Positive, settings


@settings
class PrototypicalSettings(EmbedderSettings):
    """Hyperparameters; the defaults are the paper's for COIL-DEL.

    Attributes:
        lr: learning rate of Adam.
        scale: start of the learnable temperature α.
        gamma0: start of the scalars that TAE's scales are multiplied with.
        beta0: start of the scalars that TAE's shifts are multiplied with.
        lambda_reg: weight of ‖γ0‖₂ + ‖β0‖₂.
        lambda_mixup: weight of the mixup penalty.
        square_lambda_reg: whether `lambda_reg` enters squared, as in the authors' code, which applies it twice.
        mixup_source: `support` (the paper: a random one of each class) or `query` (the authors' code: the first).
        mixup_mask: `bernoulli` (the paper) or `blocks` (the authors' code).
        mixup_ratio: `mask`, the share of features taken from the first (the paper), or `uniform` (the authors' code).
        mixup_loss: `squared` (the paper) or `cross_entropy` (the authors' code).
    """

    lr: Positive = 1e-4
    scale: Positive = 7.5
    gamma0: float = 0.0
    beta0: float = 1.0
    lambda_reg: NonNegative = 0.1
    lambda_mixup: NonNegative = 0.1
    square_lambda_reg: bool = False
    mixup_source: Source = "support"
    mixup_mask: Mask = "bernoulli"
    mixup_ratio: Ratio = "mask"
    mixup_loss: MixupLoss = "squared"


class PrototypicalNetwork(LearnedMethod):
    """Embed, average the supports of a class, score queries by distance.

    Args:
        shape: of the episodes; the width of the node features matters.
        settings: hyperparameters.
        task_adaptive: whether embeddings are conditioned on the episode (TAE).
        mixup: whether mixtures of embeddings regularise training (MU).
        pooling: in place of that of the settings.
    """

    settings_type = PrototypicalSettings
    section = "prototypical"
    has_prototypes = True

    def __init__(
        self,
        shape: TaskShape,
        settings: PrototypicalSettings,
        task_adaptive: bool = False,
        mixup: bool = False,
        pooling: Pooling | None = None,
    ) -> None:
        super().__init__()
        settings = settings if pooling is None else replace(settings, pooling=pooling)
        self.settings = settings
        self.embedder = Embedder(shape.num_features, settings)
        self.scale = nn.Parameter(torch.tensor(float(settings.scale)))
        self.conditioner = (
            EpisodeConditioner(settings.width, self.embedder.film_layers, settings.gamma0, settings.beta0)
            if task_adaptive
            else None
        )
        self.mixup = (
            LatentMixup(settings.mixup_source, settings.mixup_mask, settings.mixup_ratio, settings.mixup_loss)
            if mixup
            else None
        )
        self.transductive = settings.norm == "episode"
        # Without anything that depends on the episode each distinct graph is embedded once, however many episodes.
        self.embeds_once = not task_adaptive and not self.transductive
        # TAE shares between copies of a graph what comes before the first FiLM: the more copies, the more is shared.
        self.episodes_at_once = 64 if self.transductive else 1000 if task_adaptive else 5000

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores −α‖q − p‖² of every query, `[B, N·Q, N]`."""
        return self._scores(self.embed(episodes), episodes.shots)

    def loss(self, batch: EpisodeBatch) -> Loss:
        """Cross-entropy over all queries, and the penalties of TAE and MU."""
        z = self.embed(batch)
        scores = self._scores(z, batch.shots)
        parts = {"cross_entropy": cross_entropy(scores, batch)}
        if self.conditioner is not None:
            weight = self.settings.lambda_reg ** (2 if self.settings.square_lambda_reg else 1)
            parts["regulariser"] = weight * self.conditioner.penalty()
        if self.mixup is not None:
            prototypes = z[:, :, : batch.shots].mean(2)
            penalty = self.mixup.penalty(z, batch.shots, lambda x: self.similarity(x, prototypes))
            parts["mixup"] = self.settings.lambda_mixup * penalty
        return Loss(torch.stack(list(parts.values())).sum(), accuracy(scores, batch.labels), parts)

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """Embeddings of all graphs of the episodes, `[B, N, K+Q, d]`."""
        if self.embeds_once:
            return embed_distinct(self.embedder, self.graphs, episodes.graphs)
        if self.conditioner is None:
            return self._embed_by_episode(episodes.graphs, episodes.shots)
        supports = episodes.support
        if self.transductive:
            plain = self._embed_by_episode(supports, episodes.shots)
        else:
            plain = embed_distinct(self.embedder, self.graphs, supports)
        gamma, beta = self.conditioner(plain.mean((1, 2)))  # of the mean of the N prototypes, [B, d]
        groups = self._groups(episodes.graphs, episodes.shots)
        z = embed_conditioned(self.embedder, self.graphs, episodes.graphs.flatten(1), gamma, beta, groups)
        return z.view(*episodes.graphs.shape, -1)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Scores by the distance to the mean of each class's supports, however many they are: `[M, C]`."""
        z = self.vectors(support, labels, torch.cat([support, query])).unsqueeze(0)
        prototypes = class_means(z[0, : len(support)], labels)
        return self.similarity(z[:, len(support) :], prototypes.unsqueeze(0))[0]

    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor:
        """The embeddings of `graphs` in an episode of all labelled graphs, `[g, d]`."""
        known = torch.isin(graphs, support).logical_not().long() if self.transductive else None
        groups = None if known is None else Groups(known, 2)
        if self.conditioner is None:
            return embed_graphs(self.embedder, self.graphs, graphs, groups=groups)
        alone = Groups(torch.zeros_like(support), 1) if self.transductive else None
        plain = embed_graphs(self.embedder, self.graphs, support, groups=alone)
        gamma, beta = self.conditioner(class_means(plain, labels).mean(0, keepdim=True))
        return embed_conditioned(self.embedder, self.graphs, graphs.unsqueeze(0), gamma, beta, groups)

    def similarity(self, x: Tensor, prototypes: Tensor) -> Tensor:
        """−α‖x − p‖² of embeddings `[B, M, d]` and prototypes `[B, N, d]`: `[B, M, N]`."""
        return -self.scale * squared_distances(x, prototypes)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.lr)

    def _scores(self, z: Tensor, shots: int) -> Tensor:
        prototypes = z[:, :, :shots].mean(2)  # [B, N, d]
        return self.similarity(z[:, :, shots:].flatten(1, 2), prototypes)

    def _embed_by_episode(self, graphs: Tensor, shots: int) -> Tensor:
        """Embed every occurrence of a graph by itself, normalised with its episode; `graphs` is `[B, N, M]`."""
        z = embed_graphs(self.embedder, self.graphs, graphs, groups=self._groups(graphs, shots))
        return z.view(*graphs.shape, -1)

    def _groups(self, graphs: Tensor, shots: int) -> Groups | None:
        """Which graphs `norm: episode` takes together: the supports of an episode, and its queries."""
        if not self.transductive:
            return None
        episodes, way, per_class = graphs.shape
        episode = torch.arange(episodes, device=graphs.device).repeat_interleave(way * per_class)
        is_query = (torch.arange(per_class, device=graphs.device) >= shots).long().repeat(episodes * way)
        return Groups(2 * episode + is_query, 2 * episodes)
