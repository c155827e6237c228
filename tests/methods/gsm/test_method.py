from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.contract import Scope, TaskShape
from fsgc.methods.gsm import method as gsm_method
from fsgc.methods.gsm.clustering import find_superclasses
from fsgc.methods.gsm.method import GraphSpectralMeasures, GsmSettings
from fsgc.methods.gsm.super_graph import nearest
from fsgc.settings import from_mapping
from fsgc.training.plan import BatchPlan
from fsgc.training.settings import Training, TrainSettings
from tests.methods.conftest import make_episodes
from tests.noise import with_novel_noise
from tests.oracles.gsm import PlainTail, knn_edges
from tests.resuming import curves_after_resuming

SMALL = GsmSettings(
    width=8, head_width=6, gin_layers=3, super_classes=2, batches_per_epoch=10, fine_tune_steps=12, fine_tune_lr=1e-2
)
PLAN = BatchPlan(size=16, per_epoch=0, seed=0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    """Episodes with super-classes beside them."""
    root = tmp_path_factory.mktemp("gsm")
    return with_superclasses(make_episodes(root / "x.zarr"), root)


def with_superclasses(episodes: Episodes, root: Path) -> Episodes:
    path = root / "superclasses.zarr"
    find_superclasses(episodes.graphs, episodes.split).save(path)
    return replace(episodes, prepared=path)


def make(episodes: Episodes, **changes: Any) -> GraphSpectralMeasures:
    torch.manual_seed(0)
    method = GraphSpectralMeasures(TaskShape.of(episodes), replace(SMALL, **changes))
    method.attach(episodes)
    return method


def trained(episodes: Episodes, epochs: int = 3, **changes: Any) -> GraphSpectralMeasures:
    """Some steps of training, so that batch norms have statistics and super-classes are told apart."""
    method = make(episodes, **changes)
    optimiser = method.configure_optimizers()
    for epoch in range(epochs):
        for batch in method.train_batches(episodes, PLAN, epoch):
            optimiser.zero_grad()
            method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return method.eval()


@pytest.mark.parametrize(
    "changes", [{}, {"neighbours": 3}, {"normalise_attention": True}, {"pooling": "sum", "heads": 1}]
)
def test_scores_are_those_of_a_plain_loop_over_episodes(stored: Episodes, changes: dict[str, Any]) -> None:
    method = trained(stored, dropout=0.0, **changes)
    batch = next(stored.batches("test", 10))
    ours = method.predict(batch)
    assert ours.shape == (10, stored.way * 4, stored.way)
    moved = 0.0
    for episode, graphs in enumerate(batch.graphs):
        order = torch.cat([graphs[:, : batch.shots].flatten(), graphs[:, batch.shots :].flatten()])
        with torch.no_grad():
            levels = method.gin(method.graphs.batch(order))
        x = F.normalize(levels.z, dim=1)
        edge_index = knn_edges(
            levels.z[:, -SMALL.width :], levels.logits.argmax(1).tolist(), method.settings.neighbours
        )
        tail = PlainTail(method)
        labels = torch.arange(stored.way).repeat_interleave(batch.shots)
        before = tail(x, edge_index)[len(labels) :].detach()
        optimiser = torch.optim.Adam(tail.parameters(), lr=SMALL.fine_tune_lr)
        for _ in range(SMALL.fine_tune_steps):
            optimiser.zero_grad()
            F.cross_entropy(tail(x, edge_index)[: len(labels)], labels).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        expected = tail(x, edge_index)[len(labels) :].detach()
        torch.testing.assert_close(ours[episode], expected, rtol=1e-3, atol=1e-4)
        moved = max(moved, float((expected - before).abs().max()))
    assert moved > 0.05, "the steps must show"


def test_the_training_loss_by_hand(stored: Episodes) -> None:
    method = make(stored, dropout=0.0)
    batch = next(iter(method.train_batches(stored, PLAN, 0)))
    loss = method.loss(batch)
    levels = method.gin(method.graphs.batch(batch.graphs))
    found = find_superclasses(stored.graphs, stored.split)
    of_class = dict(zip(found.classes.tolist(), found.of_classes(2).tolist(), strict=True))
    classes = stored.graphs.y[batch.graphs.numpy()].tolist()
    group = [of_class[c] for c in classes]
    assert batch.labels.tolist() == [stored.split.base.index(c) for c in classes]
    tail = PlainTail(method)
    tail.hidden, tail.out = method.head.hidden, method.head.out
    logits = tail(F.normalize(levels.z, dim=1), knn_edges(levels.z[:, -SMALL.width :], group, 2))
    first, second = F.cross_entropy(logits, batch.labels), F.cross_entropy(levels.logits, torch.tensor(group))
    torch.testing.assert_close(loss.total, first + second, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(loss.parts["class_loss"], first, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(loss.parts["super_class_loss"], second, rtol=1e-4, atol=1e-5)


def test_batches_are_graphs_of_base_classes_for_training_drawn_by_seed_and_epoch(stored: Episodes) -> None:
    method = make(stored)
    pool = np.concatenate(list(stored.split.pools(stored.graphs.y, "train").values()))

    def drawn(seed: int, epoch: int) -> list[list[int]]:
        return [b.graphs.tolist() for b in method.train_batches(stored, replace(PLAN, seed=seed), epoch)]

    first = drawn(0, 0)
    assert len(first) == SMALL.batches_per_epoch
    assert all(len(set(graphs)) == 16 and set(graphs) <= set(pool.tolist()) for graphs in first)
    assert first == drawn(0, 0)
    assert first != drawn(0, 1)
    assert first != drawn(1, 0)
    whole = next(iter(method.train_batches(stored, replace(PLAN, size=10**6), 0)))
    assert sorted(whole.graphs.tolist()) == sorted(pool.tolist())


def test_an_episode_does_not_depend_on_its_company(stored: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout: masks belong to steps and places, not to batches. Twice the same call, twice the same scores."""
    method = trained(stored)
    batch = next(stored.batches("test", 9))
    scores = method.predict(batch)
    assert torch.equal(method.predict(batch), scores)
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots)).flip(0)
    torch.testing.assert_close(turned, scores, rtol=1e-3, atol=1e-4)
    monkeypatch.setattr(gsm_method, "episodes_at_once", lambda _: 2)
    torch.testing.assert_close(method.predict(batch), scores, rtol=1e-3, atol=1e-4)


def test_dropout_counts_in_fine_tuning(stored: Episodes) -> None:
    method = trained(stored)
    batch = next(stored.batches("test", 5))
    scores = method.predict(batch)
    method.settings = replace(method.settings, dropout=0.0)
    assert not torch.allclose(method.predict(batch), scores, atol=1e-3)


def test_scores_are_the_heads_of_what_is_embedded(stored: Episodes) -> None:
    method = trained(stored, fine_tune_steps=0)
    batch = next(stored.batches("test", 3))
    points = method.embed(batch)
    assert points.shape == (*batch.graphs.shape, SMALL.width)
    graphs = batch.graphs[0].numel()
    links = nearest(torch.rand(1, graphs, graphs), SMALL.neighbours)
    head = method._tuner(links, batch.support[0].numel()).head
    queries = points[:, :, batch.shots :].flatten(1, 2)
    scores = F.relu(queries @ head.hidden_weight.T + head.hidden_bias) @ head.out_weight.T + head.out_bias
    torch.testing.assert_close(method.predict(batch), scores)
    method.settings = replace(method.settings, fine_tune_steps=5)
    assert (method.embed(batch) - points).abs().max() > 1e-3


def test_predictions_touch_no_global_random_state_and_no_weights(stored: Episodes) -> None:
    method = trained(stored)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    state = torch.get_rng_state()
    method.predict(next(stored.batches("test", 3)))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in method.state_dict().items())


def test_queries_share_the_super_graph(stored: Episodes) -> None:
    method = trained(stored, epochs=1)
    batch = next(stored.batches("test", 12))
    way = stored.way
    scores = method.predict(batch).view(12, way, -1, way)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots)).view(12, way, 1, way)
    assert method.transductive
    assert (alone - scores[:, :, :1]).abs().max() > 1e-3


def test_fine_tuning_learns_the_supports(stored: Episodes) -> None:
    """With supports in the place of queries, more steps score better."""
    method = trained(stored, dropout=0.0)
    batch = next(stored.batches("test", 20))
    again = EpisodeBatch(torch.cat([batch.support, batch.support], 2), batch.shots)
    losses = []
    for steps in (0, 12, 100):
        method.settings = replace(method.settings, fine_tune_steps=steps)
        losses.append(float(F.cross_entropy(method.predict(again).flatten(0, 1), again.labels.flatten())))
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("super_classes", 0), ("width", 0), ("gin_layers", 1), ("norm", "layer"), ("pooling", "max"), ("neighbours", 0),
        ("heads", 0), ("dropout", 1.0), ("slope", -0.1), ("fine_tune_steps", -1), ("lr", 0.0), ("fine_tune_lr", 0.0),
        ("weight_decay", -1.0), ("batches_per_epoch", 0), ("val_episodes", 0), ("head_width", 0), ("gin_mlp_layers", 0),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^gsm\.{key} must be "):
        from_mapping("gsm", GsmSettings, {key: value})


def test_more_super_classes_than_classes_are_refused_by_name(stored: Episodes) -> None:
    with pytest.raises(SettingsError, match=r"gsm\.super_classes: 5 super-classes, but there are 4 base classes"):
        make(stored, super_classes=5)


def test_without_stored_super_classes_training_says_so(stored: Episodes, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        make(stored).train_batches(replace(stored, prepared=tmp_path / "no.zarr"), PLAN, 0)
    with pytest.raises(StoreError, match="super-classes"):
        make(stored).train_batches(replace(stored, prepared=None), PLAN, 0)


def test_validation_episodes_are_of_validation_graphs_class_by_class(stored: Episodes) -> None:
    batches = make(stored, val_episodes=7).val_batches(stored, PLAN)
    assert len(batches) == 1
    graphs = next(iter(batches)).graphs
    assert graphs.shape[:2] == (7, stored.way)
    pools = [set(pool.tolist()) for pool in stored.split.pools(stored.graphs.y, "val").values()]
    for episode in graphs.tolist():
        for drawn in episode:
            assert len(set(drawn)) == len(drawn)
            assert any(set(drawn) <= pool for pool in pools)
        assert len({stored.graphs.y[drawn[0]] for drawn in episode}) == stored.way


def test_training_and_validation_do_not_depend_on_the_shots(stored: Episodes, tmp_path: Path) -> None:
    """A model is trained once for all shots."""
    settings = EpisodeSettings(queries=2, train_epochs=1, train_per_epoch=4, val=4, test=4)
    draw_episodes(tmp_path / "one.zarr", stored.graphs, stored.split, way=2, shots=1, seed=0, settings=settings)
    other = replace(stored, store=EpisodeStore.open(tmp_path / "one.zarr"))
    assert (stored.shots, other.shots) == (3, 1)
    assert GraphSpectralMeasures.trained_for == Scope(shots=False, seed=True)
    ours, theirs = (next(iter(make(one).val_batches(one, PLAN))) for one in (stored, other))
    assert torch.equal(ours.graphs, theirs.graphs)
    assert ours.shots == theirs.shots
    first, second = (make(one).train_batches(one, PLAN, 0) for one in (stored, other))
    assert [batch.graphs.tolist() for batch in first] == [batch.graphs.tolist() for batch in second]


def test_novel_graphs_replaced_by_noise_change_no_weight(stored: Episodes, tmp_path: Path) -> None:
    noisy = with_superclasses(with_novel_noise(stored), tmp_path)
    weights = [torch.cat([v.flatten().float() for v in trained(e).state_dict().values()]) for e in (stored, noisy)]
    assert torch.equal(*weights)


@pytest.mark.usefixtures("outside_any_repository")
def test_a_training_that_died_ends_like_an_undisturbed_one(stored: Episodes, tmp_path: Path) -> None:
    """The whole way through `fit`: seeds, checkpoints, curves."""
    loop = TrainSettings(max_epochs=2, batch_size=16, accelerator="cpu")
    experiment = Training("gsm", replace(SMALL, batches_per_epoch=3, val_episodes=4), loop)

    curves = curves_after_resuming(experiment, stored, tmp_path)
    assert {"class_loss", "super_class_loss", "super_class_accuracy", "val_loss", "graphs_per_second"} <= curves
