"""A method with weights: what the training loop asks of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes, StoredBatches
from fsgc.methods.contract import Method, Run
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.training.fit import fit
from fsgc.training.plan import Batches, BatchPlan
from fsgc.training.report import FitReport


@dataclass(frozen=True)
class Loss:
    """What a training step minimises, and what it shows.

    Attributes:
        total: scalar.
        accuracy: scalar, of the same forward pass.
        parts: the terms of `total` by name, and what else the curves should show.
    """

    total: Tensor
    accuracy: Tensor
    parts: Mapping[str, Tensor] = field(default_factory=dict)


def cross_entropy(scores: Tensor, episodes: EpisodeBatch) -> Tensor:
    """Mean cross-entropy over all queries of all episodes, of scores `[B, N·Q, N]`."""
    return F.cross_entropy(scores.flatten(0, 1), episodes.labels.flatten())


def accuracy(scores: Tensor, labels: Tensor) -> Tensor:
    """Share of rows of `[…, N]` whose highest score is that of their label `[…]`, a scalar."""
    return (scores.detach().argmax(-1) == labels).float().mean()


class LearnedMethod(pl.LightningModule, Method):
    """A method with weights: what training needs beyond `Method` is `loss` and an optimiser.

    Attributes:
        trains_on: `episodes`, the stored ones, or `graphs`, where `train_batches` draws its own batches.
    """

    trains_on: ClassVar[str] = "episodes"

    def __init__(self) -> None:
        super().__init__()
        self._graphs: GraphTensors | None = None

    def attach(self, episodes: Episodes) -> None:
        """Give the method the graphs that episodes refer to; they are no part of its weights."""
        self.attach_graphs(episodes.graphs, episodes.features)

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Give the method graphs and the features of their nodes."""
        self._graphs = GraphTensors(graphs, features)

    @property
    def graphs(self) -> GraphTensors:
        """The graphs that episodes refer to."""
        if self._graphs is None:
            raise RuntimeError("attach the graphs first")
        return self._graphs

    def fit(self, run: Run) -> FitReport:
        """Train by gradient descent; the weights are then those of the best epoch by validation."""
        return fit(self, run)

    def state(self) -> dict[str, Any]:
        """The weights."""
        return self.state_dict()

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over; training is done."""
        self.load_state_dict(state)
        self.eval()

    def move(self, device: torch.device | str) -> None:
        """Bring weights and graphs to a device."""
        self.to(device)
        self._graphs = self.graphs.to(torch.device(device))

    def on_fit_start(self) -> None:
        """Bring the graphs to where Lightning has put the weights."""
        self.move(self.device)

    @abstractmethod
    def loss(self, batch: Any) -> Loss:
        """The loss of a batch of training data."""

    def train_batches(self, episodes: Episodes, plan: BatchPlan, epoch: int) -> Batches:
        """The training data of an epoch: stored episodes, unless a method trains on something else."""
        if plan.per_epoch:
            return StoredBatches.in_turn(episodes, plan.size, epoch, plan.per_epoch)
        return StoredBatches.of(episodes, "train", plan.size, epoch)

    def val_batches(self, episodes: Episodes, plan: BatchPlan) -> Batches:
        """The validation data: stored episodes, unless a method has another criterion."""
        return StoredBatches.of(episodes, "val", plan.size)

    def validate(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Loss (the cross-entropy alone) and accuracy of a batch of validation data."""
        scores = self.predict(batch)
        return cross_entropy(scores, batch), accuracy(scores, batch.labels)

    def training_step(self, batch: Any, _index: int) -> dict[str, Tensor]:
        """One step: Lightning minimises the `loss`, and hands all that is returned to the `Curves` callback."""
        loss = self.loss(batch)
        if self.trainer.progress_bar_callback is not None:  # Lightning takes longer over it than a short step
            shown = {"loss": loss.total.detach(), "accuracy": loss.accuracy}
            self.log_dict(shown, prog_bar=True, on_step=True, on_epoch=False, batch_size=1)
        parts = {name: part.detach() for name, part in loss.parts.items()}
        return {"loss": loss.total, "accuracy": loss.accuracy, **parts}

    def validation_step(self, batch: Any, _index: int) -> None:
        """Log what validation looks at."""
        loss, right = self.validate(batch)
        values = {"val_loss": loss, "val_accuracy": right}
        self.log_dict(values, prog_bar=True, on_step=False, on_epoch=True, batch_size=len(batch.graphs))

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _dataloader_idx: int) -> Any:
        """Move the indices of a batch."""
        return batch.to(device)
