"""The worked example of CONTRIBUTING: a method in one file, trained and evaluated like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from examples.cosine_prototypes import CosinePrototypes
from fsgc.episodes.batches import Episodes
from fsgc.evaluation.predict import predict_scores
from fsgc.methods.contract import TaskShape
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.registry import METHODS, Entry
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit


@pytest.mark.usefixtures("outside_any_repository")
def test_the_example_works(tmp_path: Path, episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("PN cosine", "Prototypes by cosine similarity.", "examples.cosine_prototypes:CosinePrototypes")
    monkeypatch.setitem(METHODS, "pn_cosine", entry)
    loop = TrainSettings(max_epochs=2, batch_size=16, accelerator="cpu")
    settings = PrototypicalSettings(width=8, lr=1e-2)
    method, report = fit(Training("pn_cosine", settings, loop), episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert report.epochs == 2
    scores = torch.from_numpy(predict_scores(method, episodes))
    assert scores.shape == (50, 8, 2)
    assert isinstance(method, CosinePrototypes)
    assert scores.abs().max() <= method.scale.abs() * 1.0001


def test_its_similarity_is_pytorchs_cosine(episodes: Episodes) -> None:
    method = CosinePrototypes(TaskShape.of(episodes), PrototypicalSettings(width=8, scale=2.0))
    x, prototypes = torch.randn(3, 5, 8), torch.randn(3, 2, 8)
    expected = 2 * torch.cosine_similarity(x.unsqueeze(2), prototypes.unsqueeze(1), dim=-1)
    torch.testing.assert_close(method.similarity(x, prototypes), expected)
