"""What a method trains and validates on, as Lightning's data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytorch_lightning as pl

from fsgc.episodes.batches import Episodes
from fsgc.training.plan import Batches, BatchPlan

if TYPE_CHECKING:
    from fsgc.methods.learned import LearnedMethod


class MethodData(pl.LightningDataModule):
    """The training data of the current epoch, and the validation data; never a test episode.

    Args:
        method: decides what it trains and validates on.
        episodes: the stored episodes.
        plan: how training data is cut into batches.
    """

    def __init__(self, method: LearnedMethod, episodes: Episodes, plan: BatchPlan) -> None:
        super().__init__()
        self.method = method
        self.episodes = episodes
        self.plan = plan

    def train_dataloader(self) -> Batches:
        """The data of the epoch that is about to start; asked for anew before every epoch."""
        epoch = self.trainer.current_epoch if self.trainer is not None else 0
        return self.method.train_batches(self.episodes, self.plan, epoch)

    def val_dataloader(self) -> Batches:
        """The validation data."""
        return self.method.val_batches(self.episodes, replace(self.plan, size=self.method.episodes_at_once))
