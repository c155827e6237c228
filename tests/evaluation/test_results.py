from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import FsgcError, StoreError
from fsgc.evaluation.outcomes import Outcomes
from fsgc.evaluation.predict import predict_scores
from fsgc.evaluation.results import SCORES_KIND, evaluate, headline
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.training.checkpoint import ModelInputs, Origin, TrainedModel
from fsgc.training.report import FitReport
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from fsgc.zarr_io import read_arrays
from tests.methods.conftest import make_episodes

SETTINGS = PrototypicalSettings(width=8)
REPORT = FitReport(3, 2, 0.5, 10.0, 1000, 99)


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")


def _trained(episodes: Episodes, model: str) -> TrainedModel:
    shape = TaskShape.of(episodes)
    method = make_method(Training(model, SETTINGS, TrainSettings()), shape, seed=0)
    assert isinstance(method, LearnedMethod)
    method.attach(episodes)
    method.eval()
    origin = Origin(model, "enzymes", 3, 0, episodes.feature_names)
    return TrainedModel(origin, SETTINGS, REPORT, method, shape, ModelInputs.of(episodes))


@pytest.mark.parametrize("model", ["pn", "pn_tae_mu"])
def test_what_is_written_is_what_was_predicted(tmp_path: Path, episodes: Episodes, model: str) -> None:
    trained = _trained(episodes, model)
    result = evaluate(trained, episodes, tmp_path, {"preset": "paper"}, "m.json")
    assert json.loads((tmp_path / "m.json").read_text()) == result
    arrays, attributes = read_arrays(tmp_path / "scores.zarr", SCORES_KIND, ("scores",))
    table = pl.read_parquet(tmp_path / "episodes.parquet")
    # One episode after the other, by hand, is the oracle of the batched run.
    for episode, graphs in enumerate(episodes.store.test):
        single = EpisodeBatch(torch.from_numpy(graphs[None].astype(np.int64)), episodes.shots)
        with torch.inference_mode():
            scores = trained.method.predict(single)
        np.testing.assert_allclose(arrays["scores"][episode], scores[0].numpy(), rtol=1e-3, atol=1e-3)
        truth = np.repeat([0, 1], 4)
        assert table["accuracy"][episode] == (arrays["scores"][episode].argmax(1) == truth).mean()
    assert result["accuracy"] == pytest.approx(table["accuracy"].mean())
    outcomes = Outcomes.load(tmp_path / "outcomes.bin")
    np.testing.assert_array_equal(outcomes.accuracy, table["accuracy"].to_numpy())
    assert outcomes.test_episodes == result["test_episodes"]
    assert (result["episodes"], result["queries"], result["way"], result["shots"]) == (50, 4, 2, 3)
    assert attributes["model"] == model
    assert (result["preset"], result["train"]["epochs"], result["threads"]) == ("paper", 3, torch.get_num_threads())
    assert headline(result).items() <= {**result, "best_epoch": 2}.items()


@pytest.mark.parametrize("model", ["pn", "pn_tae_mu"])
def test_a_saved_model_scores_the_same(tmp_path: Path, episodes: Episodes, model: str) -> None:
    trained = _trained(episodes, model)
    trained.save(tmp_path / "model.pt")
    loaded = TrainedModel.load(tmp_path / "model.pt", episodes)
    assert (loaded.origin.model, loaded.settings, loaded.report) == (model, SETTINGS, REPORT)
    replace(trained, report=replace(REPORT, seconds=99.0)).save(tmp_path / "again.pt")
    assert (tmp_path / "model.pt").read_bytes() == (tmp_path / "again.pt").read_bytes(), "the same for the same weights"
    np.testing.assert_array_equal(predict_scores(loaded.method, episodes), predict_scores(trained.method, episodes))


def test_models_that_do_not_fit_are_refused(tmp_path: Path, episodes: Episodes) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        TrainedModel.load(tmp_path / "no.pt", episodes)
    (tmp_path / "bad.pt").write_bytes(b"bad")
    with pytest.raises(StoreError, match="damaged"):
        TrainedModel.load(tmp_path / "bad.pt", episodes)
    _trained(episodes, "pn").save(tmp_path / "model.pt")
    with pytest.raises(StoreError, match=r"takes .* features \(attributes degree_onehot\), the episodes have 1"):
        TrainedModel.load(tmp_path / "model.pt", replace(episodes, feature_names=("degree",)))


def test_a_method_is_whatever_predicts(episodes: Episodes) -> None:
    """Evaluation knows nothing but `predict`."""

    class Constant(Method):
        episodes_at_once = 7

        def __init__(self) -> None:
            pass

        def attach(self, _episodes: Episodes) -> None:
            raise AssertionError("evaluation needs a method that has its graphs")

        def predict(self, batch: EpisodeBatch) -> Tensor:
            return torch.zeros(len(batch.graphs), batch.labels.shape[1], 2)

    class Broken(Constant):
        def predict(self, batch: EpisodeBatch) -> Tensor:
            return super().predict(batch) / 0

    assert predict_scores(Constant(), episodes).shape == (50, 8, 2)
    with pytest.raises(FsgcError, match=r"the scores of test episode 0 \(and 49 more\) are not finite"):
        predict_scores(Broken(), episodes)


def test_a_full_disk_is_a_sentence(tmp_path: Path, episodes: Episodes) -> None:
    """`RLIMIT_FSIZE` makes every file too large, as a full disk does, whichever library writes it."""
    resource = pytest.importorskip("resource")
    trained, limits = _trained(episodes, "pn"), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"episodes\.parquet cannot be written: File too large"):
            evaluate(trained, episodes, tmp_path, {}, "m.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert list(tmp_path.iterdir()) == []
