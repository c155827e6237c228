"""A method with weights: what the training loop asks of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes, StoredBatches
from fsgc.methods.contract import Method, Run
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.training.plan import Batches, BatchPlan
from fsgc.training.report import FitReport

LOADED_LATER = ("fsgc.training.fit",)
"""Loads Lightning, which takes longer than all else together; only training needs it."""


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


class LearnedMethod(nn.Module, Method):
    """A method with weights: what training needs beyond `Method` is `loss` and `configure_optimizers`.

    Lightning trains it as a `fsgc.training.trainee.Trainee`; it may have Lightning's hooks, such as
    `on_validation_epoch_start`.

    Attributes:
        trains_on: `episodes`, the stored ones, or `graphs`, where `train_batches` draws its own batches.
        mixed_precision: whether it can be trained in it; one that writes out gradients of its own cannot.
        trainer: Lightning's, while it is trained.
    """

    trains_on: ClassVar[str] = "episodes"
    mixed_precision: ClassVar[bool] = True
    trainer: Any = None

    def __init__(self) -> None:
        super().__init__()
        self._graphs: GraphTensors | None = None

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

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
        from fsgc.training.fit import fit

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

    @abstractmethod
    def configure_optimizers(self) -> Any:
        """The optimiser, and a schedule of its learning rate if there is one, as Lightning takes them."""
