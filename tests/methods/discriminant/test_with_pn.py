from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import inf
from pathlib import Path

import numpy as np
import pytest
import torch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import Run, TaskShape
from fsgc.methods.discriminant.head import vector_head
from fsgc.methods.discriminant.method import Discriminant, DiscriminantSettings
from fsgc.methods.discriminant.search import TAUS
from fsgc.methods.discriminant.with_pn import VIEW, DiscriminantPN, HeadPN
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.training.checkpoint import TrainedModel
from fsgc.training.run import fit_model
from fsgc.training.settings import Training, TrainSettings
from fsgc.training.trainee import Trainee
from tests.noise import with_novel_noise

pytestmark = pytest.mark.usefixtures("outside_any_repository")

SMALL = PrototypicalSettings(width=8, lr=1e-2)
LOOP = TrainSettings(max_epochs=2, batch_size=16, accelerator="cpu")


def _run(episodes: Episodes, path: Path) -> Run:
    return Run(episodes, LOOP, 0, path / "state", path / "curves", "test")


def _fitted(kind: type[HeadPN] | type[DiscriminantPN], episodes: Episodes, path: Path) -> HeadPN | DiscriminantPN:
    torch.manual_seed(0)
    method = kind(TaskShape.of(episodes), SMALL)
    if isinstance(method, DiscriminantPN):
        method.discriminant.settings = DiscriminantSettings(folds=2, episodes=10, max_views=1)
    method.attach(episodes)
    method.fit(_run(episodes, path))
    return method


@pytest.mark.parametrize("kind", [HeadPN, DiscriminantPN])
def test_a_query_is_alone_noise_changes_nothing_and_a_file_holds_all(
    kind: type[HeadPN] | type[DiscriminantPN], episodes: Episodes, tmp_path: Path
) -> None:
    method = _fitted(kind, episodes, tmp_path / "a")
    batch = next(episodes.batches("test", 6))
    with torch.no_grad():
        scores = method.predict(batch).view(6, 2, -1, 2)
        alone = method.predict(EpisodeBatch(batch.graphs[2:3, :, : batch.shots + 1], batch.shots))
        torch.testing.assert_close(alone.view(1, 2, 1, 2), scores[2:3, :, :1], rtol=1e-4, atol=1e-5)
        torch.save(method.state(), tmp_path / "x.pt")
        loaded = kind(TaskShape.of(episodes), SMALL)
        loaded.load_state(torch.load(tmp_path / "x.pt", weights_only=True))
        loaded.attach(episodes)
        torch.testing.assert_close(loaded.predict(batch).view_as(scores), scores)
        noisy = _fitted(kind, with_novel_noise(episodes), tmp_path / "b")
        noisy.attach(episodes)
        torch.testing.assert_close(noisy.predict(batch).view_as(scores), scores, rtol=1e-4, atol=1e-5)


def test_tau_is_the_best_on_validation_episodes(episodes: Episodes, tmp_path: Path) -> None:
    method = _fitted(HeadPN, episodes, tmp_path)
    assert isinstance(method, HeadPN)
    with torch.no_grad():
        right = {}
        for tau in TAUS:
            found = [
                (vector_head(method.embed(batch), batch.shots).scores(tau).argmax(-1) == batch.labels).float().mean()
                for batch in episodes.batches("val", 10)
            ]
            right[tau] = float(torch.stack(found).mean())
        assert right[method.tau or inf] == pytest.approx(max(right.values()))
        # With nothing to shrink it is the network itself.
        method.tau = inf
        batch = next(episodes.batches("test", 6))
        plain = torch.argmax(super(HeadPN, method).predict(batch), -1)
        assert torch.equal(method.predict(batch).argmax(-1), plain)


def test_the_embedding_is_a_view_that_keeps_its_scale(episodes: Episodes, tmp_path: Path) -> None:
    method = _fitted(DiscriminantPN, episodes, tmp_path)
    assert isinstance(method, DiscriminantPN)
    part = method.discriminant.model.parts[-1]
    assert (part.part.view, part.part.scaling) == (VIEW, "plain")
    np.testing.assert_array_equal(part.scaling.scale, 1)
    everything = EpisodeBatch(torch.arange(len(episodes.graphs)).view(1, 1, -1), 0)
    with torch.no_grad():
        embedding = method.embed(everything)[0, 0].double().numpy()
    rows = part.rows(method.discriminant.data)
    ratio = rows / (embedding - part.scaling.shift)
    np.testing.assert_allclose(ratio, part.scaling.total, rtol=1e-6)


class _KilledError(Exception):
    pass


@pytest.mark.parametrize("moment", ["in the second epoch", "after the last epoch"])
def test_a_killed_training_resumes_and_the_model_file_is_whole(
    moment: str, episodes: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while the network is trained, or when only the discriminant is left to fit, it ends up the same."""
    quick = DiscriminantSettings(folds=2, episodes=10, max_views=1)
    monkeypatch.setattr("fsgc.methods.discriminant.with_pn.DiscriminantSettings", lambda: quick)
    training = Training("discriminant_pn", SMALL, LOOP)
    undisturbed = fit_model(training, _run(episodes, tmp_path / "a"))

    def die(*_: object) -> None:
        raise _KilledError

    with monkeypatch.context() as patch:
        if moment == "after the last epoch":
            patch.setattr(Discriminant, "choose", die)
        else:
            patch.setattr(Trainee, "on_train_epoch_start", _at_call(2, die), raising=False)
        with pytest.raises(_KilledError):
            fit_model(training, _run(episodes, tmp_path / "b"))
    resumed = fit_model(training, _run(episodes, tmp_path / "b"))
    resumed.save(tmp_path / "model.pt")
    loaded = TrainedModel.load(tmp_path / "model.pt", episodes)
    batch = next(episodes.batches("test", 6))
    with torch.no_grad():
        expected = undisturbed.method.predict(batch)
        torch.testing.assert_close(resumed.method.predict(batch), expected)
        torch.testing.assert_close(loaded.method.predict(batch), expected)
    assert isinstance(loaded.method, DiscriminantPN)
    assert loaded.method.discriminant.search_table
    assert resumed.report.epochs == undisturbed.report.epochs


def _at_call(number: int, act: Callable[[], None]) -> Callable[[object], None]:
    """Something that does nothing but at its `number`-th call."""
    calls = count(1)

    def called(_self: object) -> None:
        if next(calls) == number:
            act()

    return called


def test_an_embedding_of_episodes_is_no_view(episodes: Episodes) -> None:
    with pytest.raises(SettingsError, match="norm must not be 'episode'"):
        DiscriminantPN(TaskShape.of(episodes), PrototypicalSettings(norm="episode"))
