"""What a method is to the rest of fsgc."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import pytorch_lightning as pl
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch
from fsgc.nn import GraphTensors


@runtime_checkable
class Method(Protocol):
    """Classifies the queries of episodes; all that comes after training knows only this.

    Attributes:
        transductive: whether a query's scores depend on the other queries of its episode.
        episodes_at_once: how many episodes `predict` should be given at a time.
    """

    transductive: bool
    episodes_at_once: int

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores of every query for every class of its episode, `[B, N·Q, N]`; the largest is the prediction."""
        ...


@dataclass(frozen=True)
class Loss:
    """What a training step minimises, and what it shows.

    Attributes:
        total: scalar.
        scores: `[B, N·Q, N]`, of the same forward pass.
        parts: the terms of `total` by name, for the curves.
    """

    total: Tensor
    scores: Tensor
    parts: Mapping[str, Tensor] = field(default_factory=dict)


def cross_entropy(scores: Tensor, episodes: EpisodeBatch) -> Tensor:
    """Mean cross-entropy over all queries of all episodes, of scores `[B, N·Q, N]`."""
    return F.cross_entropy(scores.flatten(0, 1), episodes.labels.flatten())


def accuracy(scores: Tensor, episodes: EpisodeBatch) -> Tensor:
    """Share of queries whose highest score is that of their class, a scalar."""
    return (scores.detach().argmax(-1) == episodes.labels).float().mean()


class LearnedMethod(pl.LightningModule):
    """A method with weights: what training needs beyond `Method` is `loss` and an optimiser.

    Attributes:
        settings_type: the dataclass of its hyperparameters, a section of `params.yaml`.
        section: the name of that section.
    """

    settings_type: ClassVar[type[Any]]
    section: ClassVar[str]
    transductive: bool = False
    episodes_at_once: int = 64

    def __init__(self) -> None:
        super().__init__()
        self._graphs: GraphTensors | None = None

    def attach(self, graphs: GraphTensors) -> None:
        """Give the method the graphs that episodes refer to; they are no part of its weights."""
        self._graphs = graphs

    @property
    def graphs(self) -> GraphTensors:
        """The graphs that episodes refer to."""
        if self._graphs is None:
            raise RuntimeError("attach the graphs first")
        return self._graphs

    def on_fit_start(self) -> None:
        """Bring the graphs to where Lightning has put the weights."""
        self.attach(self.graphs.to(self.device))

    @abstractmethod
    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """See `Method.predict`."""

    @abstractmethod
    def loss(self, episodes: EpisodeBatch) -> Loss:
        """The loss of a batch of training episodes."""

    def training_step(self, episodes: EpisodeBatch, _index: int) -> Tensor:
        """One step; Lightning does the rest."""
        loss = self.loss(episodes)
        shown = {"loss": loss.total.detach(), "accuracy": accuracy(loss.scores, episodes)}
        self.log_dict(shown, prog_bar=True, on_step=True, on_epoch=False, batch_size=1)
        # Averages over the epoch are kept by the `Curves` callback, from what this returns.
        self.step_values = {**shown, **{name: part.detach() for name, part in loss.parts.items()}}
        return loss.total

    def validation_step(self, episodes: EpisodeBatch, _index: int) -> None:
        """Loss (the cross-entropy alone) and accuracy of a batch of validation episodes."""
        scores = self.predict(episodes)
        values = {"val_loss": cross_entropy(scores, episodes), "val_accuracy": accuracy(scores, episodes)}
        self.log_dict(values, prog_bar=True, on_step=False, on_epoch=True, batch_size=len(episodes.graphs))

    def transfer_batch_to_device(self, batch: EpisodeBatch, device: torch.device, _dataloader_idx: int) -> EpisodeBatch:
        """Move the indices of a batch."""
        return EpisodeBatch(batch.graphs.to(device), batch.shots)
