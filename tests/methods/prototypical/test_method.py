from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.methods.registry import METHODS
from tests.oracles.embedder import assert_same_gradients, copy_weights, largest_gradient
from tests.oracles.prototypical import PlainPN, nested
from tests.renumbered import with_nodes_in_another_order

SMALL = PrototypicalSettings(width=8, lr=1e-2)


def _method(episodes: Episodes, name: str = "pn", **changes: Any) -> PrototypicalNetwork:
    torch.manual_seed(0)
    method = METHODS[name].make(TaskShape.of(episodes), replace(SMALL, **changes))
    assert isinstance(method, PrototypicalNetwork)
    method.attach(episodes)
    return method


def _batch(episodes: Episodes, count: int = 6) -> EpisodeBatch:
    return next(episodes.batches("test", count))


VARIANTS = [name for name in METHODS if name.startswith("pn")]
ALL = list(itertools.product(VARIANTS, ("graph", "batch", "episode")))


@pytest.mark.parametrize(("name", "norm"), ALL)
def test_the_order_of_episodes_and_classes_changes_nothing_but_the_order(
    episodes: Episodes, name: str, norm: str
) -> None:
    method = _method(episodes, name, norm=norm, gamma0=0.3).eval()
    batch = _batch(episodes)
    scores = method.predict(batch)
    turned = EpisodeBatch(batch.graphs.flip(0), batch.shots)
    torch.testing.assert_close(method.predict(turned), scores.flip(0), rtol=1e-4, atol=1e-4)
    swapped = EpisodeBatch(batch.graphs.flip(1), batch.shots)
    way, queries = episodes.way, episodes.store.queries("test")
    by_class = scores.view(len(scores), way, queries, way).flip(1).flip(3).flatten(1, 2)
    torch.testing.assert_close(method.predict(swapped), by_class, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "norm"), ALL)
def test_a_query_does_not_depend_on_the_others_unless_the_method_says_so(
    episodes: Episodes, name: str, norm: str
) -> None:
    method = _method(episodes, name, norm=norm, gamma0=0.3).eval()
    batch = _batch(episodes)
    way = episodes.way
    scores = method.predict(batch).view(len(batch.graphs), way, -1, way)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots))
    difference = (alone.view(len(batch.graphs), way, 1, way) - scores[:, :, :1]).abs().max()
    assert method.transductive == (norm == "episode")
    assert (difference > 1e-3) == method.transductive


def test_a_graph_with_its_nodes_in_another_order_scores_the_same(episodes: Episodes) -> None:
    other = with_nodes_in_another_order(episodes)
    batch = _batch(episodes)
    torch.testing.assert_close(
        _method(other, "pn_tae").eval().predict(batch), _method(episodes, "pn_tae").eval().predict(batch),
        rtol=1e-4, atol=1e-4,
    )  # fmt: skip


def test_tae_with_zero_scalars_is_pn(episodes: Episodes) -> None:
    plain, adaptive = _method(episodes, "pn").eval(), _method(episodes, "pn_tae", gamma0=0.0, beta0=0.0).eval()
    adaptive.embedder.load_state_dict(plain.embedder.state_dict())
    batch = _batch(episodes)
    torch.testing.assert_close(adaptive.predict(batch), plain.predict(batch), rtol=1e-4, atol=1e-4)


def test_tae_with_scalars_is_not(episodes: Episodes) -> None:
    plain, adaptive = _method(episodes, "pn").eval(), _method(episodes, "pn_tae", gamma0=0.5).eval()
    adaptive.embedder.load_state_dict(plain.embedder.state_dict())
    assert (adaptive.predict(_batch(episodes)) - plain.predict(_batch(episodes))).abs().max() > 1e-3


@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize(("name", "task_adaptive"), [("pn", False), ("pn_tae", True)])
@pytest.mark.parametrize("layers", [1, 2])
def test_scores_loss_and_gradients_are_those_of_plain_pyg(
    episodes: Episodes, pooling: str, name: str, task_adaptive: bool, layers: int
) -> None:
    method = _method(episodes, name, pooling=pooling, gin_mlp_layers=layers, gamma0=0.3)
    with torch.no_grad():
        for parameter in method.embedder.parameters():
            # Away from the start, where a graph of one node sits on the kink of ReLU and rounding decides its gradient.
            parameter.add_(0.1 * torch.randn_like(parameter))
    plain = PlainPN(episodes.num_features, method.settings, task_adaptive, mixup=False)
    copy_weights(method, plain)
    batch = _batch(episodes, 3)
    loss, scores = plain(nested(episodes, {}, batch.support), nested(episodes, {}, batch.query))
    ours = method.loss(batch)
    size = float(scores.detach().abs().max())
    torch.testing.assert_close(method.predict(batch), scores, rtol=1e-5, atol=1e-5 * size)
    torch.testing.assert_close(ours.total, loss, rtol=1e-5, atol=1e-5)
    ours.total.backward()  # type: ignore[no-untyped-call]
    loss.backward()
    assert_same_gradients(method, plain, rtol=1e-4, atol=1e-5 * largest_gradient(plain))


def test_one_tiny_episode_worked_out_by_hand() -> None:
    """Embeddings 0 and 2 make the prototype 1 of class 0, embeddings 4 and 6 the prototype 5 of class 1."""
    method = PrototypicalNetwork(TaskShape(1, 2, 3), replace(SMALL, scale=0.5))
    z = torch.tensor([[[[0.0], [2.0], [2.0]], [[4.0], [6.0], [4.0]]]])  # [1, 2, 2+1, 1]
    # Query 2: distances² 1 and 9; query 4: 9 and 1; times -0.5.
    torch.testing.assert_close(method._scores(z, 2), torch.tensor([[[-0.5, -4.5], [-4.5, -0.5]]]))


def test_the_loss_is_cross_entropy_and_the_weighted_penalties(episodes: Episodes) -> None:
    method = _method(episodes, "pn_tae_mu", lambda_reg=0.7, lambda_mixup=0.3)
    batch = _batch(episodes)
    torch.manual_seed(5)
    loss = method.loss(batch)
    assert set(loss.parts) == {"cross_entropy", "regulariser", "mixup"}
    torch.testing.assert_close(loss.total, sum(loss.parts.values()))
    assert method.conditioner is not None
    torch.testing.assert_close(loss.parts["regulariser"], 0.7 * method.conditioner.penalty())
    scores = method.predict(batch)  # without dropout training and prediction see the same scores
    assert loss.accuracy == (scores.argmax(-1) == batch.labels).float().mean()
    log_probability = scores.log_softmax(-1).gather(-1, batch.labels.unsqueeze(-1))
    torch.testing.assert_close(loss.parts["cross_entropy"], -log_probability.mean())
    squared = _method(episodes, "pn_tae", lambda_reg=0.7, square_lambda_reg=True).loss(batch)
    torch.testing.assert_close(squared.parts["regulariser"], 0.49 * method.conditioner.penalty())


@pytest.mark.parametrize("name", VARIANTS)
def test_every_weight_gets_a_gradient(episodes: Episodes, name: str) -> None:
    method = _method(episodes, name, gamma0=0.1)
    method.loss(_batch(episodes)).total.backward()  # type: ignore[no-untyped-call]
    without = [n for n, p in method.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert without == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lr", -1.0),
        ("lr", 0.0),
        ("scale", 0.0),
        ("lambda_reg", -0.1),
        ("width", 0),
        ("norm", "layer"),
        ("dropout", 1.0),
    ],
)
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=key):
        replace(SMALL, **{key: value})
