"""SMF-GIN (`smf_gin`, `smf_gin_local`): prototypes of fused GIN read-outs, centred and normalised in test.

Jiang, Feng, Chen, Li, He: Structure-Enhanced Meta-Learning For Few-Shot Graph Classification, AI Open 2021. The test is
that of Wang et al., SimpleShot, 2019 (CL2N).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy, cross_entropy
from fsgc.methods.smf_gin.adam import adam
from fsgc.methods.smf_gin.episode_loss_kernel import EpisodesOfRows, distinct_graphs, episode_loss, is_compiled_for
from fsgc.methods.smf_gin.gin_pass import read_outs
from fsgc.methods.smf_gin.halves import with_halves
from fsgc.nn.class_means import class_means
from fsgc.nn.dropout import Dropout, keep_mask
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.settings import Layers, Positive, Share, Width, settings

EXACT = "donot_use_mm_for_euclid_dist"
LR_FACTOR = 0.1


@settings
class SmfGinSettings:
    """Hyperparameters; the values are those of the released code.

    Attributes:
        lr: learning rate of Adam; a tenth of it from half of the epochs on, a hundredth from three quarters on.
        width: of the GIN's layers.
        convs: of the GIN.
        gin_mlp_layers: linear layers in each convolution.
        dropout: share dropped of the read-outs.
    """

    lr: Positive = 1e-3
    width: Width = 64
    convs: Layers = 4
    gin_mlp_layers: Layers = 2
    dropout: Share = 0.2


@settings
class SmfGinLocalSettings(SmfGinSettings):
    """Hyperparameters of the local row, some of which differ.

    Attributes:
        local_weight: of the mean of the two halves; the whole graph has the rest.
    """

    lr: Positive = 5e-3
    dropout: Share = 0.6
    local_weight: Share = 0.3


class SmfGin(LearnedMethod):
    """The global row: a graph is the sum of its GIN read-outs, each times a learned scalar.

    Training: logits −‖q − p‖, `p` the mean of a class's supports. Test: the mean embedding of the base graphs is
    subtracted, the rest is divided by its norm, and then the same is done. That mean is taken anew before every
    validation and kept with the weights.
    """

    settings_type: ClassVar[type[Any]] = SmfGinSettings
    section = "smf_gin"
    has_prototypes = True
    episodes_at_once = 5000
    local_weight: float | None = None
    fusion: Tensor | None

    def __init__(self, shape: TaskShape, settings: SmfGinSettings) -> None:
        super().__init__()
        self.settings = settings
        self.gin = GINReadOuts(shape.num_features, settings.width, settings.convs, settings.gin_mlp_layers)
        self.dropout = Dropout(settings.dropout)
        self._base = torch.zeros(0, dtype=torch.int64)
        self._make_fusion()

    def _make_fusion(self) -> None:
        self.fusion = nn.Parameter(torch.ones(self.settings.convs))
        self.register_buffer("centre", torch.zeros(self.settings.width))

    def attach(self, episodes: Episodes) -> None:
        """Take the graphs, and note which ones of base classes training may use."""
        super().attach(episodes)
        pools = episodes.split.pools(episodes.graphs.y, "train")
        self._base = torch.from_numpy(np.concatenate([*pools.values()]))

    def loss(self, batch: EpisodeBatch) -> Loss:
        """Cross-entropy over all queries, of distances that are not normalised."""
        distinct, place = distinct_graphs(batch.graphs)
        found = read_outs(self.gin, self.graphs, self._chosen(distinct))
        if is_compiled_for(found, self.settings.convs):
            keep = keep_mask(found, self.dropout.rate) if self.dropout.training and self.dropout.rate else None
            rows = EpisodesOfRows(place, batch.shots, self.settings.convs, self.local_weight, keep)
            total, right = episode_loss(found, self.fusion, rows)
        else:
            z = F.embedding(place.to(self.device), self._joined(self.dropout(found), len(distinct)))
            scores = _scores(z, batch.shots)
            total, right = cross_entropy(scores, batch), accuracy(scores, batch.labels)
        return Loss(total, right, {"cross_entropy": total})

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores −‖q − p‖ of every query, `[B, N·Q, N]`, after CL2N."""
        return _scores(self.embed(episodes), episodes.shots)

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """Embeddings after CL2N, `(z − centre) / ‖z − centre‖`: `[B, N, K+Q, d]`."""
        return F.normalize(self._embed(episodes.graphs) - self.centre, dim=-1)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Scores by the distance to the mean of each class's supports, however many they are: `[M, C]`."""
        z = self.vectors(support, labels, torch.cat([support, query]))
        return -torch.cdist(z[len(support) :], class_means(z[: len(support)], labels), compute_mode=EXACT)

    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor:  # noqa: ARG002
        """Embeddings after CL2N, `[g, d]`."""
        return F.normalize(self._embed_distinct(graphs) - self.centre, dim=-1)

    @torch.no_grad()
    def on_validation_epoch_start(self) -> None:
        """Centre on the base graphs, as the weights are now."""
        self.centre = self._embed_distinct(self._base).mean(0)

    def configure_optimizers(self) -> Any:
        """Adam, with less and less of its learning rate."""
        optimiser = adam(self.parameters(), self.settings.lr, self.trainer.precision)
        epochs = self.trainer.max_epochs or 1
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: _lr_share(epoch, epochs))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}

    def _embed(self, graphs: Tensor) -> Tensor:
        """Embed each distinct graph once and hand it to every place it occurs at: `[B, N, M]` to `[B, N, M, d]`."""
        distinct, place = torch.unique(graphs, return_inverse=True)
        return F.embedding(place.to(self.device), self._embed_distinct(distinct))

    def _embed_distinct(self, graphs: Tensor) -> Tensor:
        """`[g]` to `[g, d]`, or to `[g, L·d]` in the local row."""
        found = read_outs(self.gin, self.graphs, self._chosen(graphs))
        return self._joined(self.dropout(found), len(graphs))

    def _chosen(self, graphs: Tensor) -> Tensor:
        """Which graphs are read out for `[g]`."""
        return graphs

    def _joined(self, found: Tensor, graphs: int) -> Tensor:
        """The read-outs of `_chosen` to one vector for each of the `g` graphs."""
        assert self.fusion is not None
        return torch.einsum("l,gld->gd", self.fusion, found.view(graphs, len(self.fusion), -1))


class SmfGinLocal(SmfGin):
    """The local row: a graph is its read-outs side by side, mixed with the mean of those of its two halves.

    The halves are cut by the order of the nodes, so that renumbering the nodes of a graph changes its embedding.
    """

    settings_type: ClassVar[type[Any]] = SmfGinLocalSettings
    section = "smf_gin_local"

    def __init__(self, shape: TaskShape, settings: SmfGinLocalSettings) -> None:
        super().__init__(shape, settings)
        self.local_weight = settings.local_weight
        self._pairs = torch.zeros(0, 2, dtype=torch.int64)

    def _make_fusion(self) -> None:
        self.fusion = None
        self.register_buffer("centre", torch.zeros(self.settings.convs * self.settings.width))

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Take the graphs and cut them."""
        halves = with_halves(graphs)
        self._pairs = torch.from_numpy(halves.pairs)
        self._graphs = GraphTensors(halves.graphs, halves.features(features))

    def _chosen(self, graphs: Tensor) -> Tensor:
        """The graphs, then the two halves of each: all run through the GIN together."""
        return torch.cat([graphs, self._pairs.to(graphs.device)[graphs].flatten()])

    def _joined(self, found: Tensor, graphs: int) -> Tensor:
        """`[3 g, L·d]` to `[g, L·d]`."""
        assert self.local_weight is not None
        whole, halves = found[:graphs], found[graphs:].view(graphs, 2, -1)
        return torch.lerp(whole, halves.mean(1), self.local_weight)


def _scores(z: Tensor, shots: int) -> Tensor:
    """−‖q − p‖ of embeddings `[B, N, K+Q, d]`: `[B, N·Q, N]`."""
    return -torch.cdist(z[:, :, shots:].flatten(1, 2), z[:, :, :shots].mean(2), compute_mode=EXACT)


def _lr_share(epoch: int, epochs: int) -> float:
    """What is left of the learning rate in an epoch counted from 0."""
    return float(LR_FACTOR ** ((2 * epoch >= epochs) + (4 * epoch >= 3 * epochs)))
