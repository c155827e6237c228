from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.base_graphs import GraphSample
from fsgc.methods.contract import TaskShape
from fsgc.methods.registry import METHODS
from fsgc.methods.transfer import Transfer, TransferSettings
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.training.plan import BatchPlan
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit
from tests.noise import with_novel_noise
from tests.oracles.classifier import PlainClassifier, transfer_scores
from tests.oracles.embedder import assert_same_gradients, copy_weights, largest_gradient

SMALL = TransferSettings(width=8, lr=1e-2)
CONVS = ("gin", "gat", "gcn")


def _method(episodes: Episodes, conv: str = "gin", **changes: Any) -> Transfer:
    torch.manual_seed(0)
    method = METHODS[conv].make(TaskShape.of(episodes), replace(SMALL, **changes))
    assert isinstance(method, Transfer)
    method.attach(episodes)
    return method


def _batch(episodes: Episodes, count: int = 6) -> EpisodeBatch:
    return next(episodes.batches("test", count))


@pytest.mark.parametrize("conv", CONVS)
def test_heads_are_those_of_a_loop_over_episodes_on_plain_pyg(episodes: Episodes, conv: str) -> None:
    """Ten steps of `torch.optim.Adam` on `nn.Linear` layers, in double precision, since steps magnify rounding."""
    method = _method(episodes, conv).double().eval()
    method._graphs = GraphTensors(episodes.graphs, torch.from_numpy(episodes.features.rows()).double())
    plain = PlainClassifier(episodes.num_features, method.settings, len(episodes.split.base)).double().eval()
    copy_weights(method, plain)
    batch = _batch(episodes)
    data = {graph: episodes.graphs.to_data(graph, episodes.features) for graph in batch.graphs.flatten().tolist()}
    for one in data.values():
        one.x = one.x.double()
    scores = torch.stack(
        [
            transfer_scores(plain, episodes, data, EpisodeBatch(graphs[None], batch.shots), method.settings)
            for graphs in batch.graphs
        ]
    )
    ours = method.predict(batch)
    torch.testing.assert_close(ours, scores, rtol=1e-7, atol=1e-8)
    assert torch.equal(ours.argmax(-1), scores.argmax(-1))


@pytest.mark.parametrize("conv", CONVS)
def test_loss_and_gradients_are_those_of_plain_pyg(episodes: Episodes, conv: str) -> None:
    method = _method(episodes, conv)
    plain = PlainClassifier(episodes.num_features, method.settings, len(episodes.split.base))
    copy_weights(method, plain)
    (sample, *_) = method.train_batches(episodes, BatchPlan(32, 0, 0), epoch=0)
    logits = plain(episodes.graphs.to_batch(sample.graphs.numpy(), episodes.features))
    loss = F.cross_entropy(logits, sample.labels)
    ours = method.loss(sample)
    torch.testing.assert_close(ours.total, loss)
    assert ours.accuracy == (logits.argmax(-1) == sample.labels).float().mean()
    ours.total.backward()  # type: ignore[no-untyped-call]
    loss.backward()  # type: ignore[no-untyped-call]
    assert_same_gradients(method, plain, rtol=1e-4, atol=1e-5 * largest_gradient(plain))


def test_training_and_validation_share_no_graph_and_both_are_of_base_classes(episodes: Episodes) -> None:
    method = _method(episodes)
    plan = BatchPlan(32, 0, 0)
    train, again, later = (
        torch.cat([sample.graphs for sample in method.train_batches(episodes, plan, epoch)]) for epoch in (0, 0, 1)
    )
    val = list(method.val_batches(episodes, plan))
    held_out = torch.cat([sample.graphs for sample in val])
    assert set(held_out.tolist()) == set(episodes.split.held_out.tolist())
    assert not set(train.tolist()) & set(held_out.tolist())
    assert set(episodes.graphs.y[train.numpy()]) == set(episodes.split.base)
    assert torch.equal(train, again)
    assert not torch.equal(train, later)
    assert torch.equal(train.sort().values, later.sort().values)
    base = np.asarray(episodes.split.base)
    assert all((base[sample.labels.numpy()] == episodes.graphs.y[sample.graphs.numpy()]).all() for sample in val)


def test_validation_is_the_mean_cross_entropy_of_base_classes(episodes: Episodes) -> None:
    method = _method(episodes).eval()
    sample = GraphSample(torch.arange(4), torch.tensor([0, 1, 2, 3]))
    loss, accuracy = method.validate(sample)
    logits = method.head(method.embedder(method.graphs.batch(sample.graphs)))
    torch.testing.assert_close(loss, -logits.log_softmax(-1).diagonal().mean())
    assert accuracy == (logits.argmax(-1) == sample.labels).float().mean()


@pytest.mark.parametrize("conv", CONVS)
def test_an_episode_depends_neither_on_its_batch_nor_a_query_on_the_others(episodes: Episodes, conv: str) -> None:
    method = _method(episodes, conv).eval()
    batch, way = _batch(episodes), episodes.way
    scores = method.predict(batch)
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots))
    torch.testing.assert_close(turned, scores.flip(0), rtol=1e-4, atol=1e-4)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots))
    first = scores.view(len(scores), way, -1, way)[:, :, :1]
    torch.testing.assert_close(alone.view(len(scores), way, 1, way), first, rtol=1e-4, atol=1e-4)
    assert not method.transductive


def test_embeddings_are_those_of_each_graph_by_itself(episodes: Episodes) -> None:
    method, batch = _method(episodes).eval(), _batch(episodes, 2)
    points = method.embed(batch)
    assert points.shape[:3] == batch.graphs.shape
    for place in ((0, 0, 0), (1, episodes.way - 1, batch.shots)):
        alone = method.embedder(method.graphs.batch([int(batch.graphs[place])]))
        torch.testing.assert_close(points[place], alone[0], rtol=1e-4, atol=1e-5)


def test_heads_do_not_move_the_embedder_and_follow_their_seed(episodes: Episodes) -> None:
    method = _method(episodes).eval()
    before = {name: value.clone() for name, value in method.state_dict().items()}
    batch = _batch(episodes)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    with torch.no_grad():
        scores = method.predict(batch)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(method.predict(batch), scores)
    assert all(torch.equal(before[name], value) for name, value in method.state_dict().items())
    assert not torch.equal(_method(episodes, head_seed=1).eval().predict(batch), scores)


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("conv", CONVS)
def test_it_learns_and_novel_graphs_replaced_by_noise_change_no_weight(
    tmp_path: Path, episodes: Episodes, conv: str
) -> None:
    loop = TrainSettings(max_epochs=4, batch_size=16, accelerator="cpu")
    experiment = Training(conv, SMALL, loop)
    clean, report = fit(experiment, episodes, 0, tmp_path / "clean", tmp_path / "clean_curves")
    noisy, _ = fit(experiment, with_novel_noise(episodes), 0, tmp_path / "noisy", tmp_path / "noisy_curves")
    assert isinstance(clean, Transfer)
    assert isinstance(noisy, Transfer)
    for name, value in clean.state_dict().items():
        assert torch.equal(value, noisy.state_dict()[name])
    losses = np.genfromtxt(tmp_path / "clean_curves" / "plots" / "metrics" / "val_loss.tsv", names=True)["val_loss"]
    assert len(losses) == 4
    assert report.best == pytest.approx(losses.min())
    assert losses.min() < 0.9 * losses[0]


@pytest.mark.parametrize(
    ("key", "value"),
    [("lr", -1.0), ("head_lr", 0.0), ("head_steps", 0), ("head_seed", -1), ("conv", "sage"), ("norm", "episode")],
)
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=key):
        replace(SMALL, **{key: value})
