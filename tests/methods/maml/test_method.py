from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.maml import method as maml_method
from fsgc.methods.maml.adapt import Network, Weights, adapt
from fsgc.methods.maml.method import Maml, MamlSettings
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit
from tests.noise import with_novel_noise
from tests.oracles.classifier import PlainClassifier, maml_scores
from tests.oracles.embedder import assert_same_gradients, copy_weights

SMALL = MamlSettings(width=8, inner_lr=0.1)
LABELS = torch.tensor([0, 0, 1, 1])


def _method(episodes: Episodes, **changes: Any) -> Maml:
    torch.manual_seed(0)
    method = Maml(TaskShape.of(episodes), replace(SMALL, **changes))
    with torch.no_grad():
        for parameter in method.parameters():
            # Away from the start, where a graph of one node sits on the kink of ReLU and rounding decides its gradient.
            parameter.add_(0.1 * torch.randn_like(parameter))
    method.attach(episodes)
    return method


def _in_double(method: Maml, episodes: Episodes) -> Maml:
    """Five steps of descent magnify rounding; in double precision a comparison can be strict."""
    method._graphs = GraphTensors(episodes.graphs, torch.from_numpy(episodes.features.rows()).double())
    return method.double()


def _batch(episodes: Episodes, count: int = 6) -> EpisodeBatch:
    return next(episodes.batches("test", count))


def _tiny(x: Tensor) -> Network:
    """Two layers with tanh on the rows `[B, S, 3]`."""
    return lambda weights: torch.bmm(torch.tanh(torch.bmm(x, weights["a"])), weights["b"])


def _tiny_start() -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(0)
    shapes = {"a": (3, 4), "b": (4, 2)}
    return {name: torch.randn(shape, generator=draw, dtype=torch.float64) for name, shape in shapes.items()}


def _rows(seed: int, episodes: int = 3) -> Tensor:
    return torch.randn(episodes, 4, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _outer_loss(start: Weights, steps: int = 5, second_order: bool = True) -> Tensor:
    weights = {name: weight.expand(3, *weight.shape) for name, weight in start.items()}
    adapted = adapt(_tiny(_rows(1)), weights, LABELS, steps, 0.3, second_order)
    return F.cross_entropy(_tiny(_rows(2))(adapted).flatten(0, 1), LABELS.repeat(3))


def _meta_gradient(second_order: bool) -> list[Tensor]:
    start = {name: weight.requires_grad_() for name, weight in _tiny_start().items()}
    return list(torch.autograd.grad(_outer_loss(start, second_order=second_order), list(start.values())))


def test_the_meta_gradient_is_that_of_finite_differences() -> None:
    step = 1e-6
    for position, (name, weight) in enumerate(_tiny_start().items()):
        ours = _meta_gradient(second_order=True)[position]
        for index in range(weight.numel()):
            values = []
            for sign in (1, -1):
                start = _tiny_start()
                start[name].view(-1)[index] += sign * step
                leaves = {key: value.requires_grad_() for key, value in start.items()}
                values.append(_outer_loss(leaves).item())
            assert ours.view(-1)[index].item() == pytest.approx(
                (values[0] - values[1]) / (2 * step), rel=1e-6, abs=1e-9
            )


def test_first_order_is_another_gradient_of_the_same_loss() -> None:
    """It takes the gradient of the query loss at the adapted weights, as if they were the start."""
    start = {name: weight.requires_grad_() for name, weight in _tiny_start().items()}
    stacked = {name: weight.expand(3, *weight.shape) for name, weight in start.items()}
    adapted = {
        name: weight.detach().requires_grad_()
        for name, weight in adapt(_tiny(_rows(1)), stacked, LABELS, 5, 0.3, second_order=False).items()
    }
    loss = F.cross_entropy(_tiny(_rows(2))(adapted).flatten(0, 1), LABELS.repeat(3))
    expected = [grad.sum(0) for grad in torch.autograd.grad(loss, list(adapted.values()))]
    for ours, theirs, second in zip(_meta_gradient(False), expected, _meta_gradient(True), strict=True):
        torch.testing.assert_close(ours, theirs)
        assert not torch.allclose(ours, second, rtol=1e-2)


def test_five_inner_steps_are_those_of_a_loop_over_episodes() -> None:
    start = {name: weight.requires_grad_() for name, weight in _tiny_start().items()}
    stacked = {name: weight.expand(3, *weight.shape) for name, weight in start.items()}
    ours = adapt(_tiny(_rows(1)), stacked, LABELS, 5, 0.3, second_order=False)
    for episode in range(3):
        a, b = (weight.detach().clone().requires_grad_() for weight in start.values())
        optimiser = torch.optim.SGD([a, b], lr=0.3)
        for _ in range(5):
            optimiser.zero_grad()
            F.cross_entropy(torch.tanh(_rows(1)[episode] @ a) @ b, LABELS).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        torch.testing.assert_close(ours["a"][episode], a)
        torch.testing.assert_close(ours["b"][episode], b)


@pytest.mark.parametrize(
    "changes",
    [{}, {"gin_mlp_layers": 1}, {"pooling": "sum"}, {"conv": "gcn"}, {"norm": "episode"}, {"first_order": True}],
)
def test_a_batch_is_its_episodes_one_at_a_time(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    method = _in_double(_method(episodes, **changes), episodes)
    batch = _batch(episodes)
    monkeypatch.setattr(maml_method, "NODES_AT_ONCE_CPU", 100)
    assert 1 < len(method._chunks(batch)) < 6
    single = [EpisodeBatch(graphs[None], batch.shots) for graphs in batch.graphs]
    scores = method.predict(batch)
    torch.testing.assert_close(scores, torch.cat([method.predict(one) for one in single]), rtol=1e-8, atol=1e-9)
    loss = method.loss(batch)
    alone = [method.loss(one) for one in single]
    torch.testing.assert_close(loss.total, torch.stack([one.total for one in alone]).mean())
    torch.testing.assert_close(loss.accuracy, torch.stack([one.accuracy for one in alone]).mean())
    weights = list(method.parameters())
    mean = torch.stack([one.total for one in alone]).mean()
    for ours, theirs in zip(torch.autograd.grad(loss.total, weights), torch.autograd.grad(mean, weights), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-9)


def _off_the_kinks(method: Maml) -> Maml:
    """Other biases of the norms than zero: a graph whose nodes are alike would be where ReLU has its kink.

    There the last digit of a sum decides about a gradient, and it is another one on another processor.
    """
    for name, parameter in method.named_parameters():
        if ".norms." in name and name.endswith("bias"):
            parameter.data.uniform_(0.1, 0.5, generator=torch.Generator().manual_seed(0))
    return method


@pytest.mark.parametrize("changes", [{}, {"gin_mlp_layers": 1}, {"pooling": "sum", "num_convs": 3}])
def test_scores_loss_and_gradients_are_those_of_plain_pyg(episodes: Episodes, changes: dict[str, Any]) -> None:
    method = _off_the_kinks(_in_double(_method(episodes, **changes), episodes))
    settings = method.settings
    plain = PlainClassifier(episodes.num_features, settings, episodes.way).double()
    copy_weights(method.network, plain)
    batch = _batch(episodes, 4)
    data = {graph: episodes.graphs.to_data(graph, episodes.features) for graph in batch.graphs.flatten().tolist()}
    for one in data.values():
        one.x = one.x.double()
    scores = torch.stack(
        [
            maml_scores(
                plain, episodes, data, EpisodeBatch(graphs[None], batch.shots), settings.inner_lr, settings.inner_steps
            )
            for graphs in batch.graphs
        ]
    )
    torch.testing.assert_close(method.predict(batch), scores.detach(), rtol=1e-8, atol=1e-9)
    loss = F.cross_entropy(scores.flatten(0, 1), batch.labels.flatten())
    ours = method.loss(batch).total
    torch.testing.assert_close(ours, loss)
    ours.backward()  # type: ignore[no-untyped-call]
    loss.backward()  # type: ignore[no-untyped-call]
    assert_same_gradients(method.network, plain, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("norm", ["graph", "episode"])
def test_a_query_does_not_depend_on_the_others_unless_the_method_says_so(episodes: Episodes, norm: str) -> None:
    method = _method(episodes, norm=norm).eval()
    batch, way = _batch(episodes), episodes.way
    scores = method.predict(batch).view(len(batch.graphs), way, -1, way)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots))
    difference = (alone.view(len(batch.graphs), way, 1, way) - scores[:, :, :1]).abs().max()
    assert method.transductive == (norm == "episode")
    assert (difference > 1e-3) == method.transductive


def test_predicting_needs_no_gradients_around_and_changes_nothing(episodes: Episodes) -> None:
    method = _method(episodes, dropout=0.3).eval()
    before = {name: value.clone() for name, value in method.state_dict().items()}
    batch = _batch(episodes)
    with torch.no_grad():
        scores, again = method.predict(batch), method.predict(batch)
    assert torch.equal(scores, again)
    assert not scores.requires_grad
    assert all(torch.equal(before[name], value) for name, value in method.state_dict().items())
    assert all(parameter.grad is None for parameter in method.parameters())


def test_neither_predicting_nor_training_records_a_graph(episodes: Episodes) -> None:
    method = _method(episodes)
    recorded: list[Tensor] = []

    def record(x: Tensor) -> Tensor:
        recorded.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(record, lambda x: x):
        method.loss(_batch(episodes))
        method.eval().predict(_batch(episodes))
        assert recorded == []
        _method(episodes, conv="gcn").loss(_batch(episodes))  # by autograd: the hook works
    assert recorded


def test_test_steps_are_those_of_prediction(episodes: Episodes) -> None:
    batch = _batch(episodes)
    five, one = _method(episodes, test_steps=5).eval(), _method(episodes, test_steps=1).eval()
    other = _method(episodes, inner_steps=1).eval()
    assert not torch.allclose(five.predict(batch), one.predict(batch))
    assert torch.equal(five.predict(batch), other.predict(batch))


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.5}, {"first_order": True}, {"pooling": "mean_std"}])
def test_every_weight_gets_a_gradient(episodes: Episodes, changes: dict[str, Any]) -> None:
    method = _method(episodes, **changes)
    method.loss(_batch(episodes)).total.backward()  # type: ignore[no-untyped-call]
    without = [n for n, p in method.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert without == []


@pytest.mark.usefixtures("outside_any_repository")
def test_it_learns_and_novel_graphs_replaced_by_noise_change_no_weight(tmp_path: Path, episodes: Episodes) -> None:
    loop = TrainSettings(max_epochs=3, batch_size=16, monitor="accuracy", episodes_per_epoch=32, accelerator="cpu")
    experiment = Training("maml", replace(SMALL, lr=1e-2), loop)
    clean, report = fit(experiment, episodes, 0, tmp_path / "clean", tmp_path / "clean_curves")
    noisy, _ = fit(experiment, with_novel_noise(episodes), 0, tmp_path / "noisy", tmp_path / "noisy_curves")
    assert isinstance(clean, Maml)
    assert isinstance(noisy, Maml)
    for name, value in clean.state_dict().items():
        assert torch.equal(value, noisy.state_dict()[name])
    assert report.best is not None
    assert report.best > 0.6


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lr", -1.0),
        ("inner_lr", 0.0),
        ("inner_steps", 0),
        ("test_steps", 0),
        ("conv", "sage"),
        ("conv", "gat"),
        ("norm", "batch"),
        ("first_order", 1),
    ],
)
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=key):
        replace(SMALL, **{key: value})
