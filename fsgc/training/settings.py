"""Settings of the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fsgc.settings import Count, CountOrNone, Positive, settings


@settings
class TrainSettings:
    """The training loop.

    Attributes:
        monitor: the validation metric that early stopping and the choice of the checkpoint look at.
        max_epochs: at most so many epochs, of the stored ones.
        patience: epochs without improvement before training stops.
        batch_size: episodes (or graphs, where a method trains on those) of a step.
        episodes_per_epoch: training episodes of an epoch; 0: those stored for one. Otherwise the stored ones are taken
            in turn, from the first again after the last, and `max_epochs` may be any number.
        gradient_clip: largest norm of the gradient.
        accelerator: `auto` takes a GPU if there is one.
        precision: as Lightning names it.
    """

    monitor: Literal["loss", "accuracy"] = "loss"
    max_epochs: Count = 20
    patience: Count = 10
    batch_size: Count = 32
    episodes_per_epoch: CountOrNone = 0
    gradient_clip: Positive = 10.0
    accelerator: Literal["auto", "cpu", "gpu", "mps"] = "auto"
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] = "32-true"


@dataclass(frozen=True)
class Training:
    """What is to be trained and how.

    Attributes:
        model: a name in the registry of methods.
        method: its hyperparameters.
        train: the training loop.
    """

    model: str
    method: Any
    train: TrainSettings
