from __future__ import annotations

import math
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
from fsgc.methods.as_maml import adaptation
from fsgc.methods.as_maml.method import AdaptiveStepMaml, AsMamlSettings
from fsgc.methods.as_maml.step_controller import log_scaled, steps_of
from fsgc.methods.contract import TaskShape
from fsgc.settings import from_mapping
from fsgc.training.plan import BatchPlan
from fsgc.training.settings import Training, TrainSettings
from tests.noise import with_novel_noise
from tests.oracles.as_maml import PlainEpisode
from tests.resuming import curves_after_resuming

SMALL = AsMamlSettings(width=8, inner_lr=0.05, test_steps=4, min_steps=2, max_steps=6, root_weight=True)


@pytest.fixture
def double() -> Any:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make(episodes: Episodes, **changes: Any) -> AdaptiveStepMaml:
    torch.manual_seed(0)
    method = AdaptiveStepMaml(TaskShape.of(episodes), replace(SMALL, **changes))
    if torch.get_default_dtype() == torch.float64:
        features = type(episodes.features)(episodes.features.table.astype(np.float64), episodes.features.code)
        episodes = replace(episodes)
        episodes.__dict__["features"] = features
    method.attach(episodes)
    return method


@pytest.mark.usefixtures("double")
def test_scores_are_those_of_a_plain_loop_over_episodes(episodes: Episodes) -> None:
    method = make(episodes)
    batch = next(episodes.batches("test", 6))
    with torch.no_grad():
        ours = method.predict(batch)
    assert ours.shape == (6, episodes.way * 4, episodes.way)
    for graphs, scores in zip(batch.graphs, ours, strict=True):
        episode = PlainEpisode(method, episodes, graphs, batch.shots)
        expected = episode.scores(episode.adapt(SMALL.test_steps)[0])
        torch.testing.assert_close(scores, expected.detach())
        assert not torch.allclose(scores, episode.scores(episode.start), atol=1e-3), "the steps must show"


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    ("first_order", "root_weight", "kept"), [(False, True, True), (True, True, True), (False, False, False)]
)
def test_meta_gradient_and_steps_are_those_of_a_plain_loop(
    episodes: Episodes, first_order: bool, root_weight: bool, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episode after episode, the controller's verdict on one deciding the steps of the next."""
    if not kept:
        monkeypatch.setattr(adaptation, "MOST_KEPT", 0)
    method = make(episodes, first_order=first_order, root_weight=root_weight, max_steps=9)
    with torch.no_grad():
        method.controller.cell.weight_ih.mul_(100)  # verdicts that differ from episode to episode
        method.controller.out.weight.mul_(10)
    batch = next(episodes.batches("train", 5))
    loss = method.loss(batch)
    loss.total.backward()  # type: ignore[no-untyped-call]
    losses, steps, policies, stop = [], [], [], 0.5
    names: dict[str, Tensor] = {}
    for graphs in batch.graphs:
        episode = PlainEpisode(method, episodes, graphs, batch.shots)
        count = steps_of(stop, SMALL.min_steps, 9)
        _, support_losses, information = episode.adapt(count)
        state, logits, accuracies = None, [], []
        for step in range(count):
            inputs = support_losses[step].view(1), information[step].view(1)
            logit, state = method.controller(*inputs, state)
            logits.append(logit)
            weights, _, _ = episode.adapt(step + 1, create_graph=not first_order)
            accuracies.append(float((episode.scores(weights).argmax(1) == episode.query_labels).double().mean()))
        stop = float(logits[-1].detach().sigmoid())
        for t, step in enumerate(range(SMALL.min_steps - 1, count)):
            gain = accuracies[-1] - accuracies[step] - (np.exp(t) - 1) * SMALL.step_penalty
            policies.append(-torch.log(1 - logits[step].sigmoid()) * gain)
        losses.append(F.cross_entropy(episode.scores(weights), episode.query_labels))
        (losses[-1] / 5).backward()  # type: ignore[no-untyped-call]
        for name, parameter in episode.start.items():
            assert parameter.grad is not None
            names[name] = names.get(name, torch.zeros(())) + parameter.grad
        steps.append(count)
    assert len(set(steps)) > 1, "the episodes should differ"
    assert loss.parts["steps"].item() == pytest.approx(np.mean(steps))
    assert method.stop_probability.item() == pytest.approx(stop, rel=1e-6)
    torch.testing.assert_close(loss.parts["query_loss"], torch.stack(losses).mean())
    torch.testing.assert_close(loss.parts["policy_loss"], torch.cat(policies).sum() / 5, rtol=1e-5, atol=1e-6)
    for mine, other in episode.network.names().items():
        torch.testing.assert_close(method.network.get_parameter(mine).grad, names[other])


def test_first_order_is_another_gradient(episodes: Episodes) -> None:
    grads: list[Any] = []
    for first_order in (False, True):
        method = make(episodes, first_order=first_order)
        method.loss(next(episodes.batches("train", 3))).total.backward()  # type: ignore[no-untyped-call]
        grads.append(method.network.get_parameter("neighbour.1.weight").grad)
    assert not torch.allclose(grads[0], grads[1], rtol=1e-2)


def test_policy_and_queries_teach_different_weights(episodes: Episodes) -> None:
    method = make(episodes)
    loss = method.loss(next(episodes.batches("train", 3)))
    controller, network = list(method.controller.parameters()), list(method.network.parameters())
    of_queries = torch.autograd.grad(
        loss.parts["query_loss"], [*controller, *network], allow_unused=True, retain_graph=True
    )
    of_policy = torch.autograd.grad(loss.parts["policy_loss"], [*controller, *network], allow_unused=True)
    cut = len(controller)
    assert all(grad is None for grad in [*of_queries[:cut], *of_policy[cut:]])
    assert all(grad is not None for grad in [*of_queries[cut:], *of_policy[:cut]])


def test_an_episode_depends_on_nothing_but_itself(episodes: Episodes) -> None:
    method = make(episodes).eval()
    batch = next(episodes.batches("test", 8))
    scores = method.predict(batch)
    assert torch.equal(method.predict(batch), scores)
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots)).flip(0)
    torch.testing.assert_close(turned, scores, rtol=1e-3, atol=1e-4)
    way = episodes.way
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots)).view(8, way, 1, way)
    assert not method.transductive
    torch.testing.assert_close(alone, scores.view(8, way, -1, way)[:, :, :1], rtol=1e-3, atol=1e-4)


def test_prediction_changes_no_weights_and_draws_nothing(episodes: Episodes) -> None:
    method = make(episodes)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    state = torch.get_rng_state()
    with torch.no_grad():
        method.predict(next(episodes.batches("test", 3)))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in method.state_dict().items())


def test_the_last_verdict_is_part_of_a_checkpoint(episodes: Episodes) -> None:
    """A resumed run goes on with the steps that the run before had come to."""
    method = make(episodes)
    method.loss(next(episodes.batches("train", 3)))
    again = make(episodes)
    again.load_state_dict(method.state_dict())
    assert again.stop_probability == method.stop_probability != 0.5


def test_a_run_that_has_diverged_has_a_loss_that_is_no_number(episodes: Episodes) -> None:
    """Training then stops with its message; before, the number of steps failed to be one."""
    method = make(episodes)
    with torch.no_grad():
        for weight in method.parameters():
            weight.fill_(math.nan)
    assert method.loss(next(episodes.batches("train", 3))).total.isnan()
    assert method.stop_probability.isnan()
    assert method.loss(next(episodes.batches("train", 3))).total.isnan()


def test_rates_of_network_and_controller(episodes: Episodes) -> None:
    configured = make(episodes).configure_optimizers()
    network, controller = configured["optimizer"].param_groups
    assert (network["lr"], controller["lr"], network["weight_decay"]) == (1e-3, 1e-4, 1e-5)
    plateau = configured["lr_scheduler"]["scheduler"]
    for _ in range(37):
        plateau.step(1.0)
    assert (network["lr"], controller["lr"]) == (5e-4, 5e-5)
    for _ in range(500):
        plateau.step(1.0)
    assert network["lr"] == controller["lr"] == 1e-5


def test_the_controllers_inputs_are_of_like_size() -> None:
    scaled = log_scaled(torch.tensor([0.7, 300.0]))
    assert scaled.abs().max() < 1


def test_validation_takes_the_first_validation_episodes(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at a time as in test, or as in training where that is more."""
    for at_once, size in ((3, 2), (1, 3)):
        monkeypatch.setattr(AdaptiveStepMaml, "episodes_at_once", at_once)
        batches = make(episodes, val_episodes=7).val_batches(episodes, BatchPlan(size, 0, 0))
        taken = [batch.graphs for batch in batches]
        assert [len(part) for part in taken] == [3, 3, 1]
        assert len(batches) == 3
        assert torch.equal(torch.cat(taken), next(episodes.batches("val", 7)).graphs)


@pytest.mark.parametrize(("inputs", "scale"), [("degree", np.positive), ("log_degree", np.log1p)])
def test_degrees_can_stand_in_for_the_datasets_features(episodes: Episodes, inputs: str, scale: np.ufunc) -> None:
    method = make(episodes, inputs=inputs)
    batch = next(episodes.batches("test", 2))
    rows = method.graphs.batch(batch.graphs).features.rows()
    nodes = np.concatenate([np.arange(*episodes.graphs.node_ptr[g : g + 2]) for g in batch.graphs.flatten().tolist()])
    assert rows.flatten().tolist() == pytest.approx(scale(episodes.graphs.degree[nodes]).tolist())
    assert method.predict(batch).shape == (2, batch.labels.shape[1], episodes.way)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("inputs", "tag"), ("width", 1), ("levels", 0), ("ratio", 0.0), ("ratio", 1.1), ("inner_lr", 0.0),
        ("outer_lr", 0.0), ("controller_lr", 0.0), ("weight_decay", -1.0), ("min_steps", 0), ("max_steps", 4),
        ("test_steps", 0),
        ("step_penalty", -1.0), ("controller_width", 0), ("val_episodes", 0), ("plateau_patience", 0),
        ("least_lr", -1.0),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"^as_maml\.{key} must be "):
        from_mapping("as_maml", AsMamlSettings, {key: value})


def test_novel_graphs_replaced_by_noise_change_no_weight(episodes: Episodes) -> None:
    weights = []
    for one in (episodes, with_novel_noise(episodes)):
        method = make(one)
        optimiser = method.configure_optimizers()["optimizer"]
        for batch in list(one.batches("train", 12))[:2]:
            optimiser.zero_grad()
            method.loss(batch).total.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        weights.append(torch.cat([value.flatten() for value in method.state_dict().values()]))
    assert torch.equal(*weights)


@pytest.mark.usefixtures("outside_any_repository")
def test_a_training_that_died_ends_like_an_undisturbed_one(episodes: Episodes, tmp_path: Path) -> None:
    """The whole way through `fit`: seeds, checkpoints, curves."""
    loop = TrainSettings(max_epochs=2, batch_size=5, episodes_per_epoch=15, gradient_clip=5.0, accelerator="cpu")
    experiment = Training("as_maml", replace(SMALL, val_episodes=6), loop)

    curves = curves_after_resuming(experiment, episodes, tmp_path)
    assert {"query_loss", "policy_loss", "steps", "stop_probability", "val_accuracy"} <= curves


def test_it_has_as_many_weights_as_the_released_code() -> None:
    """77,379 on TRIANGLES with degrees as inputs; 110,275 with a matrix for the node itself."""
    shape = TaskShape(num_features=1, way=3, base_classes=7)
    counts = [
        sum(weight.numel() for weight in AdaptiveStepMaml(shape, AsMamlSettings(root_weight=root)).parameters())
        for root in (False, True)
    ]
    assert counts == [77_379, 110_275]
