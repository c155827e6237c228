"""A method as Lightning trains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
import torch
from torch import Tensor

if TYPE_CHECKING:
    from fsgc.methods.learned import LearnedMethod


class Trainee(pl.LightningModule):
    """The steps of training and validation around a method; its checkpoints hold the method's weights by their names.

    The method's hooks are its own, but for `on_fit_start` and `on_fit_end`, which it has itself.

    Args:
        method: with its graphs.
    """

    def __init__(self, method: LearnedMethod) -> None:
        super().__init__()
        self.method = method
        for name in dir(method):  # Lightning finds a hook by its name
            if name.startswith("on_") and hasattr(pl.LightningModule, name) and name not in vars(Trainee):
                setattr(self, name, getattr(method, name))

    def state_dict(self, *arguments: Any, **options: Any) -> Any:
        """The method's."""
        return self.method.state_dict(*arguments, **options)

    def load_state_dict(self, *arguments: Any, **options: Any) -> Any:
        """Take over what `state_dict` gave."""
        return self.method.load_state_dict(*arguments, **options)

    def configure_optimizers(self) -> Any:
        """The method's, which may depend on the trainer."""
        self.method.trainer = self.trainer
        return self.method.configure_optimizers()

    def on_fit_start(self) -> None:
        """Bring the graphs to where Lightning has put the weights."""
        self.method.move(self.device)

    def on_fit_end(self) -> None:
        """Leave the method without a trainer, as it was."""
        self.method.trainer = None

    def training_step(self, batch: Any, _index: int) -> dict[str, Tensor]:
        """One step: Lightning minimises the `loss`, and hands all that is returned to the `Curves` callback."""
        loss = self.method.loss(batch)
        if self.trainer.progress_bar_callback is not None:  # Lightning takes longer over it than a short step
            shown = {"loss": loss.total.detach(), "accuracy": loss.accuracy}
            self.log_dict(shown, prog_bar=True, on_step=True, on_epoch=False, batch_size=1)
        parts = {name: part.detach() for name, part in loss.parts.items()}
        return {"loss": loss.total, "accuracy": loss.accuracy, **parts}

    def validation_step(self, batch: Any, _index: int) -> None:
        """Log what validation looks at."""
        loss, right = self.method.validate(batch)
        values = {"val_loss": loss, "val_accuracy": right}
        self.log_dict(values, prog_bar=True, on_step=False, on_epoch=True, batch_size=len(batch.graphs))

    def transfer_batch_to_device(self, batch: Any, device: torch.device, _dataloader_idx: int) -> Any:
        """Move the indices of a batch."""
        return batch.to(device)
