from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fsgc.data.descriptors.store import DescriptorSettings, make_descriptors
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import Run, TaskShape
from fsgc.methods.discriminant import model
from fsgc.methods.discriminant.method import Discriminant, DiscriminantSettings
from fsgc.methods.discriminant.metric import METRICS
from fsgc.methods.registry import METHODS
from fsgc.training.settings import TrainSettings
from tests.noise import with_novel_noise

pytestmark = pytest.mark.usefixtures("outside_any_repository")

SMALL = DiscriminantSettings(folds=3, episodes=15, max_views=2)


def _run(episodes: Episodes, path: Path, seed: int = 0) -> Run:
    return Run(episodes, TrainSettings(), seed, path / "state", path / "curves", "test")


def _fitted(episodes: Episodes, path: Path, **options: Any) -> Discriminant:
    method = Discriminant(TaskShape.of(episodes), SMALL, **options)
    method.attach(episodes)
    method.fit(_run(episodes, path))
    return method


def _same(one: Any, other: Any, exact: bool = True) -> bool:
    """Whether two states hold the same."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) if exact else torch.allclose(one, other, rtol=1e-5, atol=1e-7)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key], exact) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b, exact) for a, b in zip(one, other, strict=True))
    if isinstance(one, float):
        return one == other if exact else one == pytest.approx(other, rel=1e-6)
    return bool(one == other)


@pytest.fixture(scope="module")
def fitted(episodes: Episodes, tmp_path_factory: pytest.TempPathFactory) -> Discriminant:
    path = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        return _fitted(episodes, path)


def _accuracy(method: Discriminant, episodes: Episodes) -> float:
    batch = next(episodes.batches("test", 50))
    return float((method.predict(batch).argmax(-1) == batch.labels).double().mean())


def test_it_learns_reports_and_draws_its_search(episodes: Episodes, tmp_path: Path) -> None:
    """The classes differ by attributes, which views of attributes see."""
    method = Discriminant(TaskShape.of(episodes), SMALL)
    method.attach(episodes)
    report = method.fit(_run(episodes, tmp_path))
    table = method.search_table
    assert report.unit == "choice"
    assert report.epochs == len(table)
    assert report.best == table[report.best_epoch - 1]["best"] == table[report.best_epoch - 1]["accuracy"]
    curve = np.genfromtxt(tmp_path / "curves" / "plots" / "metrics" / "val_accuracy.tsv", names=True)["val_accuracy"]
    assert curve.tolist() == pytest.approx([row["best"] for row in table])
    assert _accuracy(method, episodes) > 0.85


def test_the_seed_decides_everything(episodes: Episodes, fitted: Discriminant, tmp_path: Path) -> None:
    assert _same(_fitted(episodes, tmp_path / "again").state(), fitted.state())
    other = Discriminant(TaskShape.of(episodes), SMALL)
    other.attach(episodes)
    other.fit(_run(episodes, tmp_path / "other", seed=1))
    assert not _same(other.state(), fitted.state())


def test_novel_graphs_replaced_by_noise_change_nothing(
    episodes: Episodes, fitted: Discriminant, tmp_path: Path
) -> None:
    noisy = _fitted(with_novel_noise(episodes), tmp_path)
    # A graph's numbers may differ in their last digit with the graphs it is computed beside.
    assert _same(noisy.state(), fitted.state(), exact=False)


def test_a_query_does_not_depend_on_the_others_nor_an_episode_on_its_neighbours(
    episodes: Episodes, fitted: Discriminant
) -> None:
    batch = next(episodes.batches("test", 8))
    queries = batch.query.shape[2]
    scores = fitted.predict(batch).view(8, 2, queries, 2)
    alone = fitted.predict(EpisodeBatch(batch.graphs[3:4, :, : batch.shots + 1], batch.shots))
    assert not fitted.transductive
    torch.testing.assert_close(alone.view(1, 2, 1, 2), scores[3:4, :, :1])
    turned = fitted.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots)).view(8, 2, queries, 2)
    torch.testing.assert_close(turned.flip(0), scores)
    swapped = fitted.predict(EpisodeBatch(batch.graphs.flip(1), batch.shots)).view(8, 2, queries, 2)
    torch.testing.assert_close(swapped.flip(1).flip(3), scores)


def test_scores_are_those_of_the_embedding(episodes: Episodes, fitted: Discriminant) -> None:
    """The nearest mean among the vectors it gives out, with the formula of the head, an episode at a time."""
    batch = next(episodes.batches("test", 5))
    vectors = fitted.embed(batch).double().numpy()
    tau = fitted.model.tau
    for episode, found in zip(vectors, fitted.predict(batch).numpy(), strict=True):
        support, query = episode[:, : batch.shots], episode[:, batch.shots :].reshape(-1, episode.shape[-1])
        means = support.mean(axis=1)
        residuals = (support - means[:, None]).reshape(-1, episode.shape[-1])
        shrunken = np.eye(episode.shape[-1])
        if tau < inf:
            shrunken = np.linalg.inv(shrunken + residuals.T @ residuals / (tau * (residuals**2).sum(axis=1).mean()))
        apart = query[:, None] - means
        expected = -np.einsum("qcd,de,qce->qc", apart, shrunken, apart)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_many_graphs_are_compared_in_parts(
    episodes: Episodes, fitted: Discriminant, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = next(episodes.batches("test", 20))
    whole = fitted.predict(batch)
    monkeypatch.setattr(model, "_MOST_GRAPHS", 20)
    monkeypatch.setattr(model, "_EPISODES", 3)
    torch.testing.assert_close(fitted.predict(batch), whole)


def test_a_saved_model_scores_the_same_and_graphs_of_ones_own(
    episodes: Episodes, fitted: Discriminant, tmp_path: Path
) -> None:
    torch.save(fitted.state(), tmp_path / "x.pt")
    loaded = Discriminant(TaskShape.of(episodes), SMALL)
    loaded.load_state(torch.load(tmp_path / "x.pt", weights_only=True))
    loaded.attach(episodes)
    batch = next(episodes.batches("test", 8))
    torch.testing.assert_close(loaded.predict(batch), fitted.predict(batch))
    assert loaded.search_table == fitted.search_table
    # The same graphs alone, as a user's own: nothing of the dataset is at hand but what the state holds.
    used, place = np.unique(batch.graphs.numpy(), return_inverse=True)
    own = replace(episodes, graphs=episodes.graphs.select(used))
    loaded.attach(own)
    again = loaded.predict(EpisodeBatch(torch.from_numpy(place.reshape(batch.graphs.shape)), batch.shots))
    torch.testing.assert_close(again, fitted.predict(batch), rtol=1e-5, atol=1e-6)


def test_labelled_graphs_of_ones_own_in_classes_of_any_size(episodes: Episodes, fitted: Discriminant) -> None:
    """With classes of equal size it is an episode; with unequal ones the formula of the head."""
    batch = next(episodes.batches("test", 1))
    support, query = batch.support.flatten(), batch.query.flatten()
    labels = torch.arange(2).repeat_interleave(batch.shots)
    whole = fitted.classify(support, labels, query)
    torch.testing.assert_close(whole, fitted.predict(batch)[0])
    method = Discriminant(TaskShape.of(episodes), SMALL)
    method.attach_graphs(episodes.graphs, episodes.features)
    with pytest.raises(RuntimeError, match="before it is given other graphs"):
        _ = method.data
    method.load_state(fitted.state())
    own = torch.cat([support, query]).numpy()
    method.attach_graphs(episodes.graphs.select(own), episodes.features)
    place = torch.arange(len(own))
    again = method.classify(place[: len(support)], labels, place[len(support) :])
    torch.testing.assert_close(again, whole, rtol=1e-5, atol=1e-6)
    fewer = method.classify(place[1 : len(support)], labels[1:], place[len(support) :])
    vectors = method.vectors(place, labels, place).numpy()
    one, other = vectors[1 : batch.shots], vectors[batch.shots : len(support)]
    means = np.stack([one.mean(axis=0), other.mean(axis=0)])
    residuals = np.concatenate([one - means[0], other - means[1]])
    shrunken = np.eye(vectors.shape[1])
    if method.model.tau < inf:
        energy = (residuals**2).sum(axis=1).mean()
        shrunken = np.linalg.inv(shrunken + residuals.T @ residuals / (method.model.tau * energy))
    apart = vectors[len(support) :, None] - means
    np.testing.assert_allclose(fewer, -np.einsum("qcd,de,qce->qc", apart, shrunken, apart), rtol=1e-6, atol=1e-8)


def test_prepared_descriptors_are_used_if_they_are_of_these_graphs(
    episodes: Episodes, fitted: Discriminant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_descriptors(tmp_path / "x.zarr", episodes.graphs, episodes.split, DescriptorSettings())
    method = Discriminant(TaskShape.of(episodes), SMALL)
    method.load_state(fitted.state())
    batch = next(episodes.batches("test", 4))
    with monkeypatch.context() as patch:
        patch.setattr("fsgc.methods.discriminant.method.compute_descriptors", None)
        method.attach(replace(episodes, prepared=tmp_path / "x.zarr"))
        torch.testing.assert_close(method.predict(batch), fitted.predict(batch))
    method.attach(replace(with_novel_noise(episodes), prepared=tmp_path / "x.zarr"))
    assert not torch.allclose(method.predict(batch), fitted.predict(batch))


def test_ablations_leave_out_what_they_say(episodes: Episodes, tmp_path: Path) -> None:
    options = {name: METHODS[name].options for name in METHODS if name.startswith("discriminant_")}
    plain = _fitted(episodes, tmp_path / "a", **options["discriminant_nearest_mean"])
    np.testing.assert_array_equal(plain.model.transform, np.eye(len(plain.model.transform)))
    assert plain.model.tau == inf
    metric = _fitted(episodes, tmp_path / "b", **options["discriminant_metric"])
    assert metric.model.tau == inf
    assert (metric.metrics, metric.taus) == (METRICS, (inf,))
    assert {row["gamma"] for row in plain.search_table} == {0.0}
    assert {row["tau"] for row in [*plain.search_table, *metric.search_table]} == {inf}
    blind = _fitted(episodes, tmp_path / "c", **options["discriminant_no_cycles"])
    assert blind.data.without_cycles


def test_using_it_before_it_is_ready_is_a_bug(episodes: Episodes) -> None:
    method = Discriminant(TaskShape.of(episodes), SMALL)
    with pytest.raises(RuntimeError, match="attach"):
        _ = method.data
    method.attach(episodes)
    with pytest.raises(RuntimeError, match="fit the discriminant"):
        method.predict(next(episodes.batches("test", 1)))
    with pytest.raises(SettingsError, match="folds must be at least 1, got 0"):
        DiscriminantSettings(folds=0)
