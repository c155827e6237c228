from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.faith.hierarchy import Layout
from fsgc.methods.faith.method import Faith, FaithSettings
from fsgc.methods.faith.tasks import TaskNoise, noise_of_supports
from fsgc.methods.registry import METHODS
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.settings import from_mapping
from fsgc.training.plan import BatchPlan
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit
from tests.noise import with_novel_noise
from tests.oracles.embedder import assert_same_gradients
from tests.oracles.faith import PlainFaith, Task
from tests.oracles.gin import DataCache
from tests.resuming import curves_after_resuming

SMALL = FaithSettings(support_tasks=3, gin_width=8, convs=3, width=10, memory=5, classifier_weight=0.1)
ROWS = ("faith", "faith_inductive")
PLAN = BatchPlan(size=2, per_epoch=8, seed=0)


def make(episodes: Episodes, name: str, **changes: Any) -> Faith:
    torch.manual_seed(0)
    method = METHODS[name].make(TaskShape.of(episodes), replace(SMALL, **changes))
    assert isinstance(method, Faith)
    method.attach(episodes)
    if torch.get_default_dtype() == torch.float64:
        method._graphs = GraphTensors(episodes.graphs, torch.from_numpy(episodes.features.rows()).double())
    return method


def settled(episodes: Episodes, name: str, **changes: Any) -> Faith:
    """A few steps, so that batch norm has statistics and the classifier tells classes apart; then evaluation."""
    method = make(episodes, name, **changes)
    optimiser = torch.optim.Adam(method.parameters(), lr=1e-3)
    for batch in method.train_batches(episodes, PLAN, 0):
        optimiser.zero_grad()
        method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return method.eval().requires_grad_(False)


def tasks_of(data: DataCache, episode: Tensor, others: Tensor) -> list[Task]:
    return [[data(graphs) for graphs in task] for task in (episode, *others)]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ROWS)
def test_loss_and_gradients_are_those_of_a_plain_loop_on_pyg(episodes: Episodes, name: str) -> None:
    """On tasks that share no graph, since batch norm then sees the same on either side."""
    method = make(episodes, name, dropout=0.0)
    plain, data = PlainFaith(method), DataCache(episodes)
    rows = torch.randperm(len(episodes.graphs), generator=torch.Generator().manual_seed(1))[: 4 * 2 * 7].view(4, 2, 7)
    classes = torch.tensor([[2, 0]])
    layout = Layout(4, 2, 3, 4, 4)
    z, place = method._embed(layout.line_up(rows[:1], rows[None, 1:]))
    scores = method._scores(z, place, layout, every_task=True)
    labels = torch.arange(2).repeat_interleave(4).repeat(4)
    losses = method._classifier_losses(z, place, layout, classes)
    ours = F.cross_entropy(scores.flatten(0, 2), labels) + 0.1 * losses.mean()
    theirs = plain.loss(tasks_of(data, rows[0], rows[1:]), classes[0].tolist(), 3, 0.1)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)
    ours.backward()  # type: ignore[no-untyped-call]
    theirs.backward()  # type: ignore[no-untyped-call]
    assert_same_gradients(method, plain, rtol=1e-7, atol=1e-9)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ROWS)
def test_scores_are_those_of_a_plain_loop_over_episodes(episodes: Episodes, name: str) -> None:
    method = settled(episodes, name)
    plain, data = PlainFaith(method).eval(), DataCache(episodes)
    batch = next(episodes.batches("test", 5))
    scores = method.predict(batch)
    assert scores.shape == (5, 8, 2)
    for episode, graphs in enumerate(batch.graphs):
        supports = graphs[None, :, :3]
        noise = noise_of_supports(method.pools, supports, 3)
        means = [torch.cat(plain.gin(data(one)), 1).mean(0) for one in supports[0]]
        shares = [plain.classifier(mean).softmax(0) for mean in means]
        likely = (shares[0] + shares[1]).log_softmax(0)
        _, others = method.pools.draw(likely[None], noise, 7)
        expected, _ = plain(tasks_of(data, graphs, others[0]), 3)
        torch.testing.assert_close(scores[episode], expected[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ROWS)
def test_the_order_of_queries_and_classes_changes_nothing_but_the_order(episodes: Episodes, name: str) -> None:
    method = settled(episodes, name)
    batch = next(episodes.batches("test", 6))
    scores = method.predict(batch).view(6, 2, 4, 2)
    size = float(scores.abs().max())
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    shuffled = batch.query.flatten(1)[:, order].view_as(batch.query)  # queries under any class
    found = method.predict(EpisodeBatch(torch.cat([batch.support, shuffled], 2), batch.shots))
    torch.testing.assert_close(found, scores.flatten(1, 2)[:, order], rtol=1e-4, atol=1e-5 * size)
    swapped = method.predict(EpisodeBatch(batch.graphs.flip(1), batch.shots)).view(6, 2, 4, 2)
    torch.testing.assert_close(swapped, scores.flip(1).flip(3), rtol=1e-4, atol=1e-5 * size)


@pytest.mark.parametrize("name", ROWS)
def test_other_queries_count_in_the_transductive_row_only(episodes: Episodes, name: str) -> None:
    method = settled(episodes, name)
    batch = next(episodes.batches("test", 6))
    scores = method.predict(batch).view(6, 2, 4, 2)
    size = float(scores.abs().max())
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, :4], batch.shots)).view(6, 2, 1, 2)
    difference = float((alone - scores[:, :, :1]).abs().max()) / size
    assert method.transductive == (name == "faith")
    assert (difference > 1e-4) == method.transductive


@pytest.mark.parametrize("name", ROWS)
def test_an_episode_does_not_depend_on_its_company(
    episodes: Episodes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = settled(episodes, name)
    batch = next(episodes.batches("test", 7))
    state = torch.get_rng_state()
    scores = method.predict(batch)
    assert torch.equal(torch.get_rng_state(), state)
    size = float(scores.abs().max())
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots)).flip(0)
    torch.testing.assert_close(turned, scores, rtol=1e-4, atol=1e-5 * size)
    monkeypatch.setattr("fsgc.methods.faith.method.EPISODES_AT_ONCE", 2)
    torch.testing.assert_close(method.predict(batch), scores, rtol=1e-4, atol=1e-5 * size)
    assert method.embed(batch).shape == (*batch.graphs.shape, SMALL.width)


def test_embeddings_are_the_features_that_are_scored(episodes: Episodes) -> None:
    """One support makes the prototype its own features; the scores follow from them but for the task's weights."""
    method = settled(episodes, "faith_inductive")
    with torch.no_grad():
        method.hierarchy.task.weight.zero_()
        method.hierarchy.task.bias.zero_()  # sigmoid(0) = 1/2 for every number
    batch = EpisodeBatch(next(episodes.batches("test", 4)).graphs, 1)
    z = method.embed(batch)
    queries, prototypes = z[:, :, 1:].flatten(1, 2), z[:, :, 0]
    expected = -0.5 * torch.cdist(queries, prototypes).square()
    torch.testing.assert_close(method.predict(batch), expected, rtol=1e-3, atol=1e-5 * float(expected.abs().max()))


def test_training_remembers_the_losses_of_classes_step_by_step(episodes: Episodes) -> None:
    method = make(episodes, "faith")
    assert torch.equal(method.losses, torch.full((5, 4), 10.0))
    classes = torch.tensor([[0, 2], [2, 3]])
    method._remember(classes, torch.tensor([[1.0, 2.0], [4.0, 30.0]]))
    assert method.losses[0].tolist() == [1.0, 10.0, 3.0, 30.0]
    for _ in range(5):
        method._remember(torch.tensor([[1, 0]]), torch.tensor([[7.0, 8.0]]))
    assert method.losses[0].tolist() == [8.0, 7.0, 3.0, 30.0]  # the sixth step writes where the first did
    assert method.losses[4].tolist() == [8.0, 7.0, 10.0, 10.0]
    assert int(method.steps) == 6
    assert {"losses", "steps"} <= set(method.state_dict())


def test_classes_of_a_large_loss_come_more_often_and_a_huge_one_counts_as_the_largest(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = make(episodes, "faith", support_tasks=1)
    seen: list[int] = []
    monkeypatch.setattr(method, "_remember", lambda classes, _: seen.extend(classes.flatten().tolist()))
    method.losses.copy_(torch.tensor([19.0, 10.0, 1e9, 10.0]).expand(5, 4))
    for batch in method.train_batches(episodes, BatchPlan(20, 60, 0), 0):
        method.loss(batch)
    times = np.bincount(seen, minlength=4)
    assert times[2] == 60  # e^20 against e^10 and e^19: always among the two
    assert times[0] > 50


def test_the_loss_is_that_of_the_tasks_drawn(episodes: Episodes) -> None:
    method = make(episodes, "faith", dropout=0.0)
    batch = next(iter(method.train_batches(episodes, PLAN, 0)))
    assert isinstance(batch, TaskNoise)
    classes, drawn = method.pools.draw(torch.zeros(2, 4), batch.tasks(slice(0, 1)), 7)
    others = method._support_tasks(drawn[:, 0, :, :3], batch.tasks(slice(1, 4)), 7)
    layout = Layout(4, 2, 3, 4, 4)
    state = {name: value.clone() for name, value in method.state_dict().items()}
    loss = method.loss(batch)
    assert set(loss.parts) == {"cross_entropy", "classifier"}
    torch.testing.assert_close(loss.total, loss.parts["cross_entropy"] + loss.parts["classifier"])
    method.load_state_dict(state)
    z, place = method._embed(layout.line_up(drawn[:, 0], others))
    scores = method._scores(z, place, layout, every_task=True)
    labels = torch.arange(2).repeat_interleave(4).repeat(8)
    torch.testing.assert_close(loss.parts["cross_entropy"], F.cross_entropy(scores.flatten(0, 2), labels))
    losses = method._classifier_losses(z, place, layout, classes[:, 0])
    torch.testing.assert_close(loss.parts["classifier"], 0.1 * losses.mean())
    assert loss.accuracy == (scores[:, 0].flatten(0, 1).argmax(-1) == labels[:16]).float().mean()


def test_class_means_of_the_released_code_take_the_queries_along(episodes: Episodes) -> None:
    layout, z = Layout(2, 2, 1, 2, 2), torch.randn(12, 24)
    place, classes = torch.arange(12).unsqueeze(0), torch.tensor([[3, 1]])
    for means, groups in (("supports", [[0], [1]]), ("all", [[0, 4, 5], [1, 6, 7]])):
        method = make(episodes, "faith", class_means=means)
        logits = torch.stack([method.classifier(z[rows].mean(0)) for rows in groups])
        expected = F.cross_entropy(logits, classes[0], reduction="none")
        torch.testing.assert_close(method._classifier_losses(z, place, layout, classes)[0], expected)


def test_released_edges_see_the_labels_of_queries_and_the_inductive_row_has_none(episodes: Episodes) -> None:
    method = settled(episodes, "faith", class_edges="released")
    batch = next(episodes.batches("test", 6))
    scores = method.predict(batch).view(6, 2, 4, 2)
    mixed = torch.cat([batch.query[:, :1, 2:], batch.query[:, 1:, :2]], 2)
    other = torch.stack([mixed[:, 0], torch.cat([batch.query[:, 0, :2], batch.query[:, 1, 2:]], 1)], 1)
    found = method.predict(EpisodeBatch(torch.cat([batch.support, other], 2), batch.shots)).view(6, 2, 4, 2)
    assert (found[:, 0, :2] - scores[:, 0, 2:]).abs().max() > 1e-4 * scores.abs().max()
    first, second = (
        settled(episodes, "faith_inductive", class_edges=edges).predict(batch) for edges in ("released", "supports")
    )
    assert torch.equal(first, second)


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("name", ROWS)
def test_novel_graphs_replaced_by_noise_change_nothing_that_is_kept(
    tmp_path: Path, episodes: Episodes, name: str
) -> None:
    loop = TrainSettings(max_epochs=3, batch_size=4, episodes_per_epoch=24, accelerator="cpu")
    kept = []
    for which, data in (("clean", episodes), ("noisy", with_novel_noise(episodes))):
        method, _ = fit(Training(name, SMALL, loop), data, 0, tmp_path / which, tmp_path / f"{which}_curves")
        assert isinstance(method, Faith)
        kept.append(method.state_dict())
    assert all(torch.equal(value, kept[1][key]) for key, value in kept[0].items())
    assert int(kept[0]["steps"]) > 0
    losses = np.genfromtxt(tmp_path / "clean_curves" / "plots" / "metrics" / "loss.tsv", names=True)["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("name", ROWS)
def test_a_training_that_died_ends_like_an_undisturbed_one(tmp_path: Path, episodes: Episodes, name: str) -> None:
    loop = TrainSettings(max_epochs=3, batch_size=4, episodes_per_epoch=12, accelerator="cpu")
    settings = replace(SMALL, lr_period=4)
    curves = curves_after_resuming(Training(name, settings, loop), episodes, tmp_path)
    assert {"cross_entropy", "classifier", "loss", "val_loss", "episodes_per_second"} <= curves


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("support_tasks", 0), ("gin_width", 0), ("convs", 0), ("gin_mlp_layers", 0), ("width", 0), ("threshold", 1.0),
        ("dropout", -0.1), ("classifier_weight", -1.0), ("class_means", "queries"), ("class_edges", "all"),
        ("memory", 0), ("first_loss", 0.0), ("largest_loss", -1.0), ("lr", 0.0), ("lr_factor", 0.0), ("lr_period", 0),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"faith\.{key} must "):
        from_mapping("faith", FaithSettings, {key: value})
