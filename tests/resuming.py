"""A training that dies on the way and is taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fsgc.episodes.batches import Episodes
from fsgc.methods.learned import LearnedMethod
from fsgc.training.callbacks import Curves
from fsgc.training.settings import Training
from tests.fitting import fit


def curves_after_resuming(experiment: Training, episodes: Episodes, root: Path) -> set[str]:
    """Train undisturbed, then with a death in epoch 2; the weights must agree. Returns the names of the curves."""

    def run(name: str) -> Tensor:
        method, _ = fit(experiment, episodes, 0, root / name / "state", root / name / "curves")
        assert isinstance(method, LearnedMethod)
        return torch.cat([value.flatten().float() for value in method.state_dict().values()])

    undisturbed = run("undisturbed")
    original = Curves.on_train_batch_end

    def die(self: Curves, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
        original(self, trainer, module, outputs, batch, index)
        if trainer.current_epoch == 1 and index == 1:
            raise RuntimeError("died")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curves, "on_train_batch_end", die)
        with pytest.raises(RuntimeError, match="died"):
            run("resumed")
    assert torch.equal(run("resumed"), undisturbed)
    return {path.stem for path in (root / "resumed" / "curves" / "plots" / "metrics").iterdir()}
