"""GSM* (`gsm`): super-classes from graph spectra, and attention over a super-graph of graphs.

Chauhan, Nathani, Kaul: Few-Shot Learning on Graphs via Super-Classes based on Graph Spectral Measures, ICLR 2020; the
star marks its run in the episodes of Crisostomi et al. 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fsgc.episodes.batches import EpisodeBatch, Episodes, StoredBatches
from fsgc.episodes.sampling import sample_episodes
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.base_graphs import GraphBatches, GraphSample
from fsgc.methods.contract import Preparation, Scope, TaskShape
from fsgc.methods.gsm.fine_tuning import Masks, Tuner, episodes_at_once
from fsgc.methods.gsm.levels import GINLevels
from fsgc.methods.gsm.receptive_field import Group, groups
from fsgc.methods.gsm.super_graph import Links, SuperAttention, distances_within, link_matrix, nearest
from fsgc.methods.gsm.superclass_settings import SuperClassSettings
from fsgc.methods.gsm.superclasses import SuperClasses
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.nn.dropout import Dropout
from fsgc.nn.heads import MLPHead, fresh_head
from fsgc.random import generator
from fsgc.settings import Count, CountOrNone, Layers, NonNegative, Positive, Share, Width, settings
from fsgc.training.plan import Batches, BatchPlan

VALIDATION_SHOTS, VALIDATION_QUERIES = 5, 15


@settings
class GsmSettings:
    """Hyperparameters; the numbers are those of GSM's released code, but for how often and on what it is validated.

    That code sums where `pooling` is `mean`, normalises after attention, has no ReLU in its class head and drops half
    of its super-class scores in training.

    Attributes:
        super_classes: clusters of base classes.
        lr: learning rate of Adam in training.
        weight_decay: of Adam in training.
        batches_per_epoch: training steps of an epoch; their graphs are drawn anew for each.
        width: of the GIN levels and the attention layers.
        gin_layers: levels of the GIN, counting the input.
        gin_mlp_layers: linear layers in each GIN convolution.
        norm: inside and after the GIN convolutions: `batch` or `graph`.
        pooling: read-out of a level: `mean` or `sum`.
        neighbours: graphs that a graph is linked to in the super-graph, itself included.
        heads: attention heads, averaged.
        slope: of the leaky ReLU in attention.
        normalise_attention: whether the outputs of the attention layers are divided by their L2 norm, as in the
            released code of GSM.
        head_width: hidden width of the class head.
        dropout: share dropped of the attention and in the class head.
        fine_tune_steps: steps on the supports of a test episode.
        fine_tune_lr: learning rate of Adam there.
        val_episodes: validation episodes of an epoch, each of which is fine-tuned: nearly all the time of training.
    """

    super_classes: Count = 3
    lr: Positive = 1e-3
    weight_decay: NonNegative = 1e-7
    batches_per_epoch: Count = 100
    width: Width = 128
    gin_layers: Annotated[int, Field(ge=2, le=64)] = 5
    gin_mlp_layers: Layers = 2
    norm: Literal["batch", "graph"] = "batch"
    pooling: Literal["mean", "sum"] = "mean"
    neighbours: Count = 2
    heads: Annotated[int, Field(ge=1, le=64)] = 2
    slope: Share = 0.1
    normalise_attention: bool = False
    head_width: Width = 64
    dropout: Share = 0.5
    fine_tune_steps: CountOrNone = 200
    fine_tune_lr: Positive = 1e-3
    val_episodes: Count = 180


class GraphSpectralMeasures(LearnedMethod):
    """Classify base graphs through a super-graph; at test adapt attention and a fresh head to the supports.

    A GIN embeds graphs and predicts their super-class from all levels. Graphs of a batch (at test: of an episode,
    supports and queries alike) are linked to their nearest neighbours by the last level within their super-class, and
    the L2-normalised levels run through two layers of attention over these links.
    """

    settings_type = GsmSettings
    section = "gsm"
    mixed_precision = False
    preparation = Preparation(
        "fsgc.methods.gsm.prepare:make_superclasses", "superclasses", SuperClassSettings, Scope(shots=False, seed=True)
    )
    trained_for = Scope(shots=False, seed=True)
    trains_on = "graphs"
    transductive = True
    episodes_at_once = 500
    any_way = False

    def __init__(self, shape: TaskShape, settings: GsmSettings) -> None:
        super().__init__()
        if settings.super_classes > shape.base_classes:
            raise SettingsError(
                f"gsm.super_classes: {settings.super_classes} super-classes, but there are {shape.base_classes} base "
                f"classes; use at most as many"
            )
        self.settings = settings
        self.way = shape.way
        convs, width = settings.gin_layers - 1, settings.width
        self.gin = GINLevels(
            shape.num_features, width, convs, settings.gin_mlp_layers, settings.norm, settings.pooling,
            settings.super_classes,
        )  # fmt: skip
        self.attention = nn.ModuleList(
            SuperAttention(in_width, width, settings.heads, settings.slope, settings.dropout)
            for in_width in (convs * width, width)
        )
        self.head = MLPHead(width, settings.head_width, shape.base_classes)
        self.dropout = Dropout(settings.dropout)
        self._super_class: Tensor | None = None

    def train_batches(self, episodes: Episodes, plan: BatchPlan, epoch: int) -> Batches:
        """Batches of graphs of base classes, drawn for each batch from all that training may use."""
        if self._super_class is None:
            self._super_class = self._load_super_classes(episodes)
        pool = np.concatenate([*episodes.split.pools(episodes.graphs.y, "train").values()])
        draws = generator("gsm-batches", plan.seed, block=epoch).random((self.settings.batches_per_epoch, len(pool)))
        size = min(plan.size, len(pool))
        return GraphBatches(episodes, pool[draws.argsort(1)[:, :size].flatten()], size)

    def val_batches(self, episodes: Episodes, plan: BatchPlan) -> Batches:  # noqa: ARG002
        """Validation episodes of their own, with the same K whatever the shots: a model is trained once for all shots.

        What is chosen is a GIN and attention layers to start from, by what they are for: the accuracy on queries after
        fine-tuning. Stored episodes cannot serve, since theirs have the run's K. The graphs are the same as in those:
        of validation classes, or held out of base classes.
        """
        pools = list(episodes.split.pools(episodes.graphs.y, "val").values())
        smallest = min(len(pool) for pool in pools)
        shots = min(VALIDATION_SHOTS, smallest - 1)
        per_class = min(shots + VALIDATION_QUERIES, smallest)
        count = self.settings.val_episodes
        key = ("gsm-validation", episodes.split.dataset, episodes.split.seed)
        drawn = sample_episodes(pools, count, self.way, per_class, key)
        return StoredBatches(torch.from_numpy(drawn.astype(np.int64)), shots, count)

    def loss(self, batch: GraphSample) -> Loss:
        """Cross-entropy of class and super-class; the links are within true super-classes."""
        assert self._super_class is not None
        super_class = self._super_class.to(batch.labels.device)[batch.labels]
        levels = self.gin(self.graphs.batch(batch.graphs))
        with torch.no_grad():
            distance = distances_within(self.gin.last(levels.z), super_class)
            links = link_matrix(nearest(distance.unsqueeze(0), self.settings.neighbours)).squeeze(0)
        x = F.normalize(levels.z, dim=1)
        for layer in self.attention:
            x = layer(x, links)
            x = F.normalize(x, dim=1) if self.settings.normalise_attention else x
        logits = self.head.out(self.dropout(F.relu(self.head.hidden(x))))
        parts = {
            "class_loss": F.cross_entropy(logits, batch.labels),
            "super_class_loss": F.cross_entropy(levels.logits, super_class),
        }
        total = parts["class_loss"] + parts["super_class_loss"]
        parts["super_class_accuracy"] = accuracy(levels.logits, super_class)
        return Loss(total, accuracy(logits, batch.labels), parts)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores of the queries, `[B, N·Q, N]`, each episode after fine-tuning on its supports."""
        return self._fine_tuned(episodes, Tuner.scores)[:, episodes.support[0].numel() :]

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """What the fine-tuned head of each episode is given of its graphs, `[B, N, K+Q, d]`."""
        supports = episodes.support[0].numel()
        parts = torch.split(self._fine_tuned(episodes, Tuner.embeddings), [supports, episodes.query[0].numel()], 1)
        return torch.cat([part.reshape(len(part), self.way, -1, part.shape[2]) for part in parts], 2)

    @torch.no_grad()
    def super_graph(self, episodes: EpisodeBatch) -> tuple[Tensor, Tensor, Links]:
        """What fine-tuning leaves alone: inputs of attention `[g, in]` of the distinct graphs, places `[B, M]`, links.

        Rows are supports, then queries.
        """
        graphs = torch.cat([episodes.support.flatten(1), episodes.query.flatten(1)], 1)
        # Evaluation leaves the indices on the host.
        distinct, place = torch.unique(graphs.to(self.device), return_inverse=True)
        levels = self.gin.of_graphs(self.graphs, distinct)
        distance = distances_within(self.gin.last(levels.z), levels.logits.argmax(1))
        links = nearest(distance[place.unsqueeze(2), place.unsqueeze(1)], self.settings.neighbours)
        return F.normalize(levels.z, dim=1), place, links

    def _fine_tuned(
        self, episodes: EpisodeBatch, result: Callable[[Tuner, Tensor, Tensor, Group, Tensor], Tensor]
    ) -> Tensor:
        """Fine-tune every episode and take a result of its tuner; rows are supports, then queries: `[B, M, …]`."""
        z, place, links = self.super_graph(episodes)
        labels = episodes.support_labels.to(z.device)
        tuner = self._tuner(links, len(labels))
        order, results = [], []
        for group in groups(links, len(labels), episodes_at_once(z.device)):
            own = Links(links.source[group.episodes], links.taken[group.episodes])
            results.append(result(tuner, z[place[group.episodes]], link_matrix(own), group, labels))
            order.append(group.episodes)
        return torch.cat(results)[torch.cat(order).argsort()]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.lr, weight_decay=self.settings.weight_decay)

    def _tuner(self, links: Links, supports: int) -> Tuner:
        """Fresh head and dropout masks come from a stream of their own, the same at every call."""
        settings = self.settings
        draw = torch.Generator().manual_seed(int(generator("gsm-fine-tune").integers(2**63)))
        head = fresh_head(settings.width, settings.head_width, self.way, draw)
        _, graphs, places = links.source.shape
        shape = (settings.fine_tune_steps, places, settings.heads, graphs, supports, settings.head_width)
        first, second = (layer for layer in self.attention if isinstance(layer, SuperAttention))
        return Tuner(
            first=first,
            second=second,
            head=type(head)(*(weight.to(self.device) for weight in head)),
            steps=settings.fine_tune_steps,
            lr=settings.fine_tune_lr,
            normalise=settings.normalise_attention,
            masks=Masks.draw(shape, settings.dropout, draw).to(self.device),
        )

    def _load_super_classes(self, episodes: Episodes) -> Tensor:
        """The super-class of each base class in the order of the split, `[C]`."""
        path = episodes.prepared
        if path is None:
            raise StoreError("gsm needs the super-classes that the step 'prepare' stores; open the episodes with them")
        store = SuperClasses.open(path)
        store.check(path, episodes.graphs, episodes.split)
        of_class = store.of_classes(self.settings.super_classes)
        return torch.from_numpy(of_class[np.searchsorted(store.classes, episodes.split.base)])
