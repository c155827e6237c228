"""MAML (`maml`): weights from which a few gradient steps on the supports lead to a good classifier of the queries.

Finn, Abbeel, Levine, Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks, ICML 2017, algorithm 2, with
the embedder of the prototypical network and a two-layer head. All episodes of a chunk take their steps side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.methods.maml.accumulate import accumulated
from fsgc.methods.maml.adapt import Network, Weights, adapt
from fsgc.methods.maml.descent import MeanLoss, ascend, descend
from fsgc.methods.maml.episode_kernel import Adapted, EpisodeKernel
from fsgc.methods.maml.episode_network import EpisodeNetwork, is_written_out
from fsgc.methods.maml.flat_weights import FlatWeights
from fsgc.methods.maml.side_by_side import EpisodeGraphs
from fsgc.methods.maml.stacked_embedder import StackedEmbedder, can_be_stacked
from fsgc.nn.embedder import Embedder
from fsgc.nn.graph_tensors import GraphBatch
from fsgc.nn.heads import HEAD_NAMES, HeadWeights, MLPHead, apply_heads
from fsgc.nn.known_gradient import known_gradient
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings
from fsgc.settings import Count, Positive, settings

NODES_AT_ONCE_CPU = 2048
NODES_AT_ONCE_ACCELERATOR = 131_072
"""About how many nodes a pass takes, by device: on a CPU its arrays then stay near the processor."""


@settings
class MamlSettings(EmbedderSettings):
    """Hyperparameters; those of the embedder are explained in `EmbedderSettings`.

    Attributes:
        lr: learning rate of Adam in the outer loop.
        inner_lr: learning rate of gradient descent on the supports.
        inner_steps: its steps in training.
        test_steps: its steps in validation and test.
        first_order: whether the outer gradient takes the inner ones for constants (FOMAML).
    """

    lr: Positive = 1e-3
    inner_lr: Positive = 1e-2
    inner_steps: Count = 5
    test_steps: Count = 5
    first_order: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.conv == "gat":
            raise SettingsError("conv must be 'gin' or 'gcn' for maml, got 'gat'", key="conv")
        if self.norm == "batch":
            raise SettingsError("norm must not be 'batch': maml keeps no running statistics", key="norm")


class MamlNetwork(nn.Module):
    """Embedder and head: the graphs of an episode to logits `[g, N]` for its positions 0 to N-1."""

    def __init__(self, shape: TaskShape, settings: MamlSettings) -> None:
        super().__init__()
        self.embedder = Embedder(shape.num_features, settings)
        self.head = MLPHead(settings.width, settings.width, shape.way)

    def forward(self, batch: GraphBatch, groups: Groups | None = None) -> Tensor:
        """Logits."""
        return self.head(self.embedder(batch, None, groups))


class Maml(LearnedMethod):
    """Adapt all weights to the supports, classify the queries with them.

    Args:
        shape: of the episodes.
        settings: hyperparameters.
    """

    settings_type = MamlSettings
    section = "maml"
    any_way = False
    mixed_precision = False

    def __init__(self, shape: TaskShape, settings: MamlSettings) -> None:
        super().__init__()
        self.settings = settings
        self.network = MamlNetwork(shape, settings)
        self.transductive = settings.norm == "episode"
        self.layout: FlatWeights | None = None
        if is_written_out(settings, training=False):
            self.layout = FlatWeights(dict(self.network.named_parameters()), settings, shape.num_features)
        self._kernel = EpisodeKernel.make(settings, settings.inner_lr, not settings.first_order)
        self._nodes = torch.zeros(0, dtype=torch.int64)
        self._one_hot = False

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Also keep how many nodes a graph has, by which episodes are put into chunks, and if features are one-hot."""
        super().attach_graphs(graphs, features)
        self._nodes = torch.from_numpy(graphs.num_nodes).long()
        self._one_hot = np.array_equal(features.table, np.eye(*features.table.shape))

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Logits of every query after adaptation, `[B, N·Q, N]`; nothing in it is random."""
        compiled = self._compiled(episodes, self.settings.test_steps, gradient=False)
        if compiled is not None:
            return compiled.logits
        chunks = self._chunks(episodes)
        scores = torch.cat([self._predict(EpisodeBatch(episodes.graphs[chunk], episodes.shots)) for chunk in chunks])
        return scores[torch.cat(chunks).argsort()]

    def loss(self, batch: EpisodeBatch) -> Loss:
        """Mean cross-entropy of all queries after adaptation."""
        if self._written_out is not None:
            return self._loss_written_out(batch, self._written_out)
        start = dict(self.network.named_parameters())
        right: list[Tensor] = []

        def parts() -> Iterator[Tensor]:
            for chunk in self._chunks(batch):
                episodes = EpisodeBatch(batch.graphs[chunk], batch.shots)
                scores = self._query_scores(episodes, start, self.settings.inner_steps, not self.settings.first_order)
                share = len(chunk) / len(batch.graphs)
                right.append(share * accuracy(scores, episodes.labels))
                yield share * F.cross_entropy(scores.flatten(0, 1), episodes.labels.flatten())

        total = accumulated(parts(), list(start.values()))
        return Loss(total, torch.stack(right).sum(), {"cross_entropy": total})

    @property
    def _written_out(self) -> FlatWeights | None:
        return self.layout if is_written_out(self.settings, self.training) else None

    @torch.no_grad()
    def _compiled(self, episodes: EpisodeBatch, steps: int, gradient: bool) -> Adapted | None:
        """What compiled code makes of the episodes, where it can."""
        layout = self._written_out
        if layout is None or self._kernel is None:
            return None
        start = layout.pack(dict(self.network.named_parameters()))
        if not self._kernel.can_run(self.graphs, start, self._one_hot):
            return None
        return self._kernel.run(self.graphs, start, episodes, steps, gradient)

    @torch.no_grad()
    def _gradient_written_out(self, batch: EpisodeBatch, layout: FlatWeights) -> tuple[Tensor, Tensor, Tensor]:
        """The loss, the accuracy and the gradient `[W]`."""
        start, settings = layout.pack(dict(self.network.named_parameters())), self.settings
        compiled = self._compiled(batch, settings.inner_steps, gradient=True)
        if compiled is not None and compiled.grads is not None:
            scores, labels = compiled.logits, batch.labels
            loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten())
            return loss, accuracy(scores, labels), compiled.grads.mean(0)
        losses, right, grads = [], [], []
        for chunk in self._chunks(batch):
            episodes = EpisodeBatch(batch.graphs[chunk], batch.shots)
            supports, queries = self._loss_on(episodes.support, layout), self._loss_on(episodes.query, layout)
            vectors, kept = descend(
                supports, start.repeat(len(chunk), 1), settings.inner_steps, settings.inner_lr, not settings.first_order
            )
            grad, logits, _ = queries.gradient(vectors, keep=False)
            grads.append(ascend(supports, grad, kept, settings.inner_lr).sum(0))
            scores, share = _class_major(logits), len(chunk) / len(batch.graphs)
            right.append(share * accuracy(scores, episodes.labels))
            losses.append(share * F.cross_entropy(scores.flatten(0, 1), episodes.labels.flatten()))
        return torch.stack(losses).sum(), torch.stack(right).sum(), torch.stack(grads).sum(0) / len(batch.graphs)

    def _loss_written_out(self, batch: EpisodeBatch, layout: FlatWeights) -> Loss:
        value, right, grad = self._gradient_written_out(batch, layout)
        total = known_gradient(value, layout.unpack(grad), list(self.network.parameters()))
        return Loss(total, right, {"cross_entropy": total})

    def _loss_on(self, graphs: Tensor, layout: FlatWeights) -> MeanLoss:
        """The loss on the graphs of each episode, `[B, N, M]`, in as many parts as they are large."""
        nodes = self._nodes[graphs.cpu()].sum()
        parts = 1 if self.transductive else max(1, round(float(nodes) / self._nodes_at_once))
        networks, targets = [], []
        for part in graphs.chunk(parts, 2):
            laid_out = EpisodeGraphs.make(self.graphs, part)
            networks.append(EpisodeNetwork(laid_out, self.settings, layout, self._one_hot))
            classes = torch.eye(part.shape[1]).to(laid_out.features.table)
            targets.append(classes.repeat_interleave(part.shape[2], 0))
        return MeanLoss(networks, targets)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, for the outer loop."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.lr)

    def _predict(self, episodes: EpisodeBatch) -> Tensor:
        if self._written_out is not None:
            return self._predict_written_out(episodes, self._written_out)
        start = {name: weight.detach().requires_grad_() for name, weight in self.network.named_parameters()}
        with torch.enable_grad():
            return self._query_scores(episodes, start, self.settings.test_steps, second_order=False).detach()

    @torch.no_grad()
    def _predict_written_out(self, episodes: EpisodeBatch, layout: FlatWeights) -> Tensor:
        start = layout.pack(dict(self.network.named_parameters())).repeat(len(episodes.graphs), 1)
        supports, queries = self._loss_on(episodes.support, layout), self._loss_on(episodes.query, layout)
        vectors, _ = descend(supports, start, self.settings.test_steps, self.settings.inner_lr)
        return _class_major(queries.logits(vectors))

    def _query_scores(self, episodes: EpisodeBatch, start: Weights, steps: int, second_order: bool) -> Tensor:
        """Adapt from `start` and score the queries, `[B, N·Q, N]`."""
        count = len(episodes.graphs)
        weights = {name: weight.expand(count, *weight.shape) for name, weight in start.items()}
        supports, queries = self._network_on(episodes.support), self._network_on(episodes.query)
        return queries(adapt(supports, weights, episodes.support_labels, steps, self.settings.inner_lr, second_order))

    def _network_on(self, graphs: Tensor) -> Network:
        """The network on the graphs of each episode, `[B, N, M]`."""
        laid_out = EpisodeGraphs.make(self.graphs, graphs)
        if not can_be_stacked(self.settings, self.graphs, self.training):
            return lambda weights: laid_out.run(self.network, weights)
        embed = StackedEmbedder(laid_out, self.settings)

        def network(weights: Weights) -> Tensor:
            head = HeadWeights(*(weights[f"head.{name}"] for name in HEAD_NAMES))
            inner = {name.removeprefix("embedder."): weight for name, weight in weights.items()}
            return apply_heads(head, embed(inner))

        return network

    def _chunks(self, episodes: EpisodeBatch) -> list[Tensor]:
        """Cut a batch, int64 positions in it; episodes of similar size come together, so that little is filled up."""
        nodes = self._nodes[episodes.support.cpu()].sum((1, 2))
        chunks = max(1, round(float(nodes.sum()) / self._nodes_at_once))
        return list(torch.tensor_split(nodes.argsort(stable=True), min(chunks, len(nodes))))

    @property
    def _nodes_at_once(self) -> int:
        return NODES_AT_ONCE_CPU if self.graphs.device.type == "cpu" else NODES_AT_ONCE_ACCELERATOR


def _class_major(parts: list[Tensor]) -> Tensor:
    """Logits of some graphs of each class, `[B, N·m, N]`, and of others, to those of all, `[B, N·M, N]`."""
    way = parts[0].shape[2]
    return torch.cat([part.view(len(part), way, -1, way) for part in parts], 2).flatten(1, 2)
