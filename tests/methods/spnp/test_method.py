from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.methods.registry import METHODS
from fsgc.methods.spnp.method import PrototypicalNeuralProcess, SpnpSettings
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.settings import EmbedderSettings
from fsgc.settings import from_mapping
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit
from tests.noise import with_novel_noise
from tests.oracles.embedder import PlainEmbedder, assert_same_gradients, copy_weights
from tests.oracles.gin import DataCache
from tests.resuming import curves_after_resuming

SMALL = SpnpSettings(width=8, lr=1e-2, scale=2.0)
OFF = {"latent_path": False, "deterministic_path": False, "self_attention": False}


def make(episodes: Episodes, stirred: bool = True, **changes: Any) -> PrototypicalNeuralProcess:
    """A method, its weights moved away from the start, where decoder and attention are the identity."""
    torch.manual_seed(0)
    method = METHODS["spnp"].make(TaskShape.of(episodes), replace(SMALL, **changes))
    assert isinstance(method, PrototypicalNeuralProcess)
    method.attach(episodes)
    if stirred:
        with torch.no_grad():
            for parameter in method.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    if torch.get_default_dtype() == torch.float64:
        method._graphs = GraphTensors(episodes.graphs, torch.from_numpy(episodes.features.rows()).double())
    return method


class PlainProcess:
    """One episode after the other, one graph after the other; the embedder is that of plain PyG."""

    def __init__(self, method: PrototypicalNeuralProcess, episodes: Episodes) -> None:
        self.method, self.data = method, DataCache(episodes)
        self.embedder = PlainEmbedder(episodes.num_features, method.settings)
        copy_weights(method.embedder, self.embedder)

    def encoded(self, encoder: Any, h: Tensor, codes: list[Tensor], first: int) -> list[Tensor]:
        """`MLP(h ‖ code)` of the first graphs of every class."""
        return [
            encoder.out(torch.relu(encoder.of_graph(row) + encoder.of_code(code)))
            for rows, code in zip(h, codes, strict=True)
            for row in rows[:first]
        ]

    def latent(self, h: Tensor, codes: list[Tensor], first: int) -> torch.distributions.Normal:
        path = self.method.latent
        assert path is not None
        mean = torch.stack(self.encoded(path.encoder, h, codes, first)).mean(0)
        return torch.distributions.Normal(path.mean(mean), 0.1 + 0.9 * torch.sigmoid(path.deviation(mean)))

    def logits(self, h: Tensor, codes: list[Tensor], shots: int, z: Tensor) -> Tensor:
        method = self.method
        assert method.decoder is not None
        assert method.attention is not None
        r = torch.stack(self.encoded(method.deterministic, h, codes, shots)).mean(0)
        u = []
        for rows in h:
            path = method.decoder.of_paths(torch.cat([z, r]))
            u.append(
                torch.stack([row + method.decoder.out(torch.relu(method.decoder.of_graph(row) + path)) for row in rows])
            )
        prototypes = [method.attention(rows[:shots]).mean(0) for rows in u]
        queries = [row for rows in u for row in rows[shots:]]
        return torch.stack(
            [torch.stack([-self.method.scale * ((q - p) ** 2).sum() for p in prototypes]) for q in queries]
        )

    def embed(self, graphs: Tensor) -> Tensor:
        return self.embedder(Batch.from_data_list(self.data(graphs))).view(*graphs.shape, -1)

    def loss(self, graphs: Tensor, shots: int, noise: Tensor) -> Tensor:
        """The negative evidence bound of one episode per query."""
        h = self.embed(graphs)
        codes = [rows[:shots].mean(0) for rows in h]
        posterior, prior = self.latent(h, codes, graphs.shape[1]), self.latent(h, codes, shots)
        logits = self.logits(h, codes, shots, posterior.loc + posterior.scale * noise)
        labels = torch.arange(len(graphs)).repeat_interleave(graphs.shape[1] - shots)
        divergence = torch.distributions.kl_divergence(posterior, prior).sum()
        return (F.cross_entropy(logits, labels, reduction="sum") + divergence) / len(labels)

    def probabilities(self, graphs: Tensor, shots: int, noise: Tensor) -> Tensor:
        h = self.embed(graphs)
        codes = [rows[:shots].mean(0) for rows in h]
        prior = self.latent(h, codes, shots)
        drawn = [self.logits(h, codes, shots, prior.loc + prior.scale * e).softmax(-1) for e in noise]
        return torch.stack(drawn).mean(0)


@pytest.mark.usefixtures("double")
def test_loss_gradients_and_probabilities_are_those_of_a_plain_loop(episodes: Episodes) -> None:
    method = make(episodes)
    plain = PlainProcess(method, episodes)
    batch = next(episodes.batches("train", 3))
    torch.manual_seed(5)
    noise = torch.randn(3, SMALL.width)
    torch.manual_seed(5)
    ours = method.loss(batch)
    theirs = torch.stack(
        [plain.loss(graphs, batch.shots, one) for graphs, one in zip(batch.graphs, noise, strict=True)]
    ).mean()
    torch.testing.assert_close(ours.total, theirs, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(ours.total, ours.parts["cross_entropy"] + ours.parts["divergence"])
    ours.total.backward()  # type: ignore[no-untyped-call]
    mine = {name: p.grad for name, p in method.named_parameters() if p.grad is not None}
    assert set(mine) == {name for name, _ in method.named_parameters()}
    method.zero_grad(set_to_none=True)
    theirs.backward()  # type: ignore[no-untyped-call]
    for name, parameter in method.named_parameters():
        if parameter.grad is not None:  # the process; the embedder's weights have copies there
            torch.testing.assert_close(mine[name], parameter.grad, rtol=1e-7, atol=1e-9)
    for name, parameter in method.embedder.named_parameters():
        parameter.grad = mine[f"embedder.{name}"]
    assert_same_gradients(method.embedder, plain.embedder, rtol=1e-7, atol=1e-9)
    method.eval()
    scores = method.predict(batch)
    for row, graphs in zip(scores, batch.graphs, strict=True):
        expected = plain.probabilities(graphs, batch.shots, method._test_noise(scores))
        torch.testing.assert_close(row.exp(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("stirred", "changes"), [(True, OFF), (False, {})])
def test_without_its_paths_and_at_its_start_it_is_pn(
    episodes: Episodes, stirred: bool, changes: dict[str, bool]
) -> None:
    method = make(episodes, stirred, **changes).eval()
    shared = {name: getattr(SMALL, name) for name in asdict(EmbedderSettings())}
    pn = PrototypicalNetwork(TaskShape.of(episodes), PrototypicalSettings(**shared))
    pn.attach(episodes)
    pn.eval()
    pn.embedder.load_state_dict(method.embedder.state_dict())
    pn.scale.data.copy_(method.scale.data)
    batch = next(episodes.batches("test", 6))
    torch.testing.assert_close(method.predict(batch), pn.predict(batch).log_softmax(-1), rtol=1e-4, atol=1e-4)
    assert torch.equal(method.predict(batch).argmax(-1), pn.predict(batch).argmax(-1))
    if changes:
        torch.testing.assert_close(method.loss(batch).total, pn.loss(batch).total)


@pytest.mark.parametrize("shots", [1, 3])
def test_permuted_classes_permute_the_scores(episodes: Episodes, shots: int) -> None:
    method, way = make(episodes).eval(), episodes.way
    batch = EpisodeBatch(next(episodes.batches("test", 6)).graphs, shots)
    scores = method.predict(batch)
    assert torch.isfinite(scores).all()
    swapped = method.predict(EpisodeBatch(batch.graphs.flip(1), shots))
    expected = scores.view(6, way, -1, way).flip(1).flip(3).flatten(1, 2)
    torch.testing.assert_close(swapped, expected, rtol=1e-4, atol=1e-4)
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), shots))
    torch.testing.assert_close(turned, scores.flip(0), rtol=1e-4, atol=1e-4)
    assert torch.isfinite(make(episodes).loss(batch).total)


def test_in_test_neither_labels_of_queries_nor_other_queries_reach_the_encoder(episodes: Episodes) -> None:
    """A query filed under another class, and a query alone, have the scores they had."""
    method, way = make(episodes).eval(), episodes.way
    assert not method.transductive
    batch = next(episodes.batches("test", 6))
    scores = method.predict(batch).view(6, way, -1, way)
    supports, queries = batch.support, batch.query
    wrong = method.predict(EpisodeBatch(torch.cat([supports, queries.flip(1)], 2), batch.shots))
    torch.testing.assert_close(wrong.view(6, way, -1, way), scores.flip(1), rtol=1e-4, atol=1e-4)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots))
    torch.testing.assert_close(alone.view(6, way, 1, way), scores[:, :, :1], rtol=1e-4, atol=1e-4)


def test_in_training_labels_of_queries_do(episodes: Episodes) -> None:
    method = make(episodes)
    batch = next(episodes.batches("train", 6))
    wrong = EpisodeBatch(torch.cat([batch.support, batch.query.flip(1)], 2), batch.shots)
    first, second = (method.loss(one).parts["divergence"] for one in (batch, wrong))
    assert not torch.isclose(first, second)


def test_test_draws_touch_no_global_random_state_and_repeat(episodes: Episodes) -> None:
    method = make(episodes).eval()
    batch = next(episodes.batches("test", 3))
    state = torch.get_rng_state()
    scores = method.predict(batch)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(method.predict(batch), scores)
    torch.testing.assert_close(scores.exp().sum(-1), torch.ones(scores.shape[:2]))
    assert method.embed(batch).shape == (*batch.graphs.shape, SMALL.width)


@pytest.mark.usefixtures("outside_any_repository")
def test_novel_graphs_replaced_by_noise_change_no_weight(tmp_path: Path, episodes: Episodes) -> None:
    loop = TrainSettings(max_epochs=3, batch_size=8, accelerator="cpu")
    weights = []
    for which, data in (("clean", episodes), ("noisy", with_novel_noise(episodes))):
        method, _ = fit(Training("spnp", SMALL, loop), data, 0, tmp_path / which, tmp_path / f"{which}_curves")
        assert isinstance(method, PrototypicalNeuralProcess)
        weights.append(method.state_dict())
    assert all(torch.equal(value, weights[1][key]) for key, value in weights[0].items())
    losses = np.genfromtxt(tmp_path / "clean_curves" / "plots" / "metrics" / "loss.tsv", names=True)["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.usefixtures("outside_any_repository")
def test_a_training_that_died_ends_like_an_undisturbed_one(tmp_path: Path, episodes: Episodes) -> None:
    loop = TrainSettings(max_epochs=2, batch_size=16, accelerator="cpu")
    curves = curves_after_resuming(Training("spnp", SMALL, loop), episodes, tmp_path)
    assert {"cross_entropy", "divergence", "loss", "val_loss"} <= curves


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lr", 0.0), ("scale", -1.0), ("kl_weight", -0.1), ("test_samples", 0), ("latent_path", 1),
        ("deterministic_path", "yes"), ("self_attention", None), ("norm", "episode"), ("width", 0),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"spnp\.{key} must "):
        from_mapping("spnp", SpnpSettings, {key: value})
