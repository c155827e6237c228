from __future__ import annotations

from pathlib import Path

import torch

from fsgc.episodes.batches import Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit


def test_it_is_pn_before_its_first_step(episodes: Episodes, tmp_path: Path) -> None:
    settings = PrototypicalSettings(width=8)
    method, report = fit(Training("untrained", settings, TrainSettings()), episodes, 3, tmp_path / "s", tmp_path / "c")
    assert report.epochs == 0
    start = make_method(Training("pn", settings, TrainSettings()), TaskShape.of(episodes), 3)
    assert isinstance(start, PrototypicalNetwork)
    start.attach(episodes)
    start.eval()
    batch = next(episodes.batches("test", 9))
    with torch.no_grad():
        torch.testing.assert_close(method.predict(batch), start.predict(batch), rtol=0, atol=0)


def test_every_seed_is_another_initialisation(episodes: Episodes, tmp_path: Path) -> None:
    settings = PrototypicalSettings(width=8)
    training = Training("untrained", settings, TrainSettings())
    first, second = (fit(training, episodes, seed, tmp_path / "s", tmp_path / "c")[0].state() for seed in (0, 1))
    assert any(not torch.equal(first[name], second[name]) for name in first)
