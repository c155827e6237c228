"""Stored episodes as Lightning's data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytorch_lightning as pl

from fsgc.data.splits import Part
from fsgc.episodes.batches import EpisodeBatch, Episodes


@dataclass(frozen=True)
class Batches:
    """The batches of a part; an iterable of its own kind, since Lightning takes a list for a list of loaders."""

    episodes: Episodes
    part: Part
    size: int
    epoch: int = 0

    def __iter__(self) -> Iterator[EpisodeBatch]:
        return self.episodes.batches(self.part, self.size, self.epoch)

    def __len__(self) -> int:
        counts = self.episodes.store.settings
        return -(-(counts.train_per_epoch if self.part == "train" else counts.val) // self.size)


class EpisodeData(pl.LightningDataModule):
    """Training episodes of the current epoch, and all validation episodes; never a test episode.

    Args:
        episodes: the stored episodes.
        batch_size: training episodes of a step.
        validation_batch_size: validation episodes at a time.
    """

    def __init__(self, episodes: Episodes, batch_size: int, validation_batch_size: int) -> None:
        super().__init__()
        self.episodes = episodes
        self.batch_size = batch_size
        self.validation_batch_size = validation_batch_size

    def train_dataloader(self) -> Batches:
        """The episodes of the epoch that is about to start; asked for anew before every epoch."""
        epoch = self.trainer.current_epoch if self.trainer is not None else 0
        return Batches(self.episodes, "train", self.batch_size, epoch)

    def val_dataloader(self) -> Batches:
        """The validation episodes."""
        return Batches(self.episodes, "val", self.validation_batch_size)
