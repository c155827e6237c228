from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.registry import METHODS
from fsgc.methods.smf_gin import method as method_module
from fsgc.methods.smf_gin.episode_loss_kernel import is_compiled_for
from fsgc.methods.smf_gin.method import SmfGin, SmfGinLocalSettings, SmfGinSettings
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.settings import from_mapping
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit
from tests.noise import with_novel_noise
from tests.oracles.embedder import assert_same_gradients
from tests.oracles.gin import DataCache
from tests.oracles.smf_gin import PlainSmfGin
from tests.renumbered import with_nodes_in_another_order
from tests.resuming import curves_after_resuming

SMALL = {
    "smf_gin": SmfGinSettings(width=8, convs=3),
    "smf_gin_local": SmfGinLocalSettings(width=8, convs=3),
}
ROWS = tuple(SMALL)


def make(episodes: Episodes, name: str, **changes: Any) -> SmfGin:
    torch.manual_seed(0)
    method = METHODS[name].make(TaskShape.of(episodes), replace(SMALL[name], **changes))
    assert isinstance(method, SmfGin)
    method.attach(episodes)
    if torch.get_default_dtype() == torch.float64:
        tensors = method.graphs
        store, x = tensors._origin
        assert not isinstance(x, torch.Tensor)
        method._graphs = GraphTensors(store, torch.from_numpy(x.rows()).double())
    return method


def settled(method: SmfGin, episodes: Episodes) -> SmfGin:
    """Let batch norm see some graphs, centre on base graphs, then evaluate."""
    for batch in list(episodes.batches("train", 8))[:3]:
        method.loss(batch)
    method.eval()
    method.on_validation_epoch_start()
    return method


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("name", ROWS)
def test_the_compiled_loss_drops_and_gives_what_the_one_in_pytorch_does(
    episodes: Episodes, monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    method, batch = make(episodes, name, width=16), next(iter(episodes.batches("train", size)))
    if not is_compiled_for(torch.zeros(1, 3 * 16), 3):
        pytest.skip("fsgc was installed without a compiler, or the processor has no AVX2")
    found = []
    for compiled in (True, False):
        if not compiled:
            monkeypatch.setattr(method_module, "is_compiled_for", lambda *_: False)
        torch.manual_seed(1)
        loss = method.loss(batch)
        grads = torch.autograd.grad(loss.total, list(method.parameters()))
        found.append([loss.total.detach(), loss.accuracy, *grads])
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ROWS)
def test_loss_and_gradients_are_those_of_a_plain_loop_on_pyg(episodes: Episodes, name: str) -> None:
    method = make(episodes, name, dropout=0.0)
    plain, data = PlainSmfGin(method), DataCache(episodes)
    for batch in list(episodes.batches("train", 1))[:3]:
        method.zero_grad()
        plain.zero_grad()
        scores = plain.scores(data(batch.graphs), episodes.way, batch.shots)
        loss = F.cross_entropy(scores, batch.labels[0])
        ours = method.loss(batch)
        torch.testing.assert_close(ours.total, loss, rtol=1e-9, atol=1e-10)
        ours.total.backward()  # type: ignore[no-untyped-call]
        loss.backward()  # type: ignore[no-untyped-call]
        assert_same_gradients(method, plain, rtol=1e-7, atol=1e-9)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ROWS)
def test_scores_are_those_of_cl2n_by_its_formula(episodes: Episodes, name: str) -> None:
    method = settled(make(episodes, name), episodes)
    plain, data = PlainSmfGin(method).eval(), DataCache(episodes)
    is_base = np.isin(episodes.graphs.y, episodes.split.base)
    is_base[episodes.split.held_out] = False
    centre = plain.embed(data(torch.from_numpy(np.flatnonzero(is_base)))).mean(0)
    torch.testing.assert_close(method.centre, centre.detach(), rtol=1e-9, atol=1e-9)
    batch = next(episodes.batches("test", 5))
    scores = method.predict(batch)
    for episode, graphs in enumerate(batch.graphs):
        z = plain.embed(data(graphs)) - centre
        z = (z / (z**2).sum(1, keepdim=True).sqrt()).view(*graphs.shape, -1)
        for c in range(episodes.way):
            for q in range(graphs.shape[1] - batch.shots):
                for other in range(episodes.way):
                    prototype = sum(z[other, k] for k in range(batch.shots)) / batch.shots
                    distance = ((z[c, batch.shots + q] - prototype) ** 2).sum().sqrt()
                    row = c * (graphs.shape[1] - batch.shots) + q
                    torch.testing.assert_close(scores[episode, row, other], -distance, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ROWS)
def test_the_loss_of_a_batch_is_the_mean_of_its_episodes(episodes: Episodes, name: str) -> None:
    """With running statistics, since batch norm in training looks at the graphs of the whole batch."""
    method = settled(make(episodes, name), episodes)
    batch = next(episodes.batches("train", 5))
    alone = [method.loss(EpisodeBatch(graphs[None], batch.shots)).total for graphs in batch.graphs]
    torch.testing.assert_close(method.loss(batch).total, torch.stack(alone).mean())


@pytest.mark.parametrize("name", ROWS)
def test_dropout_is_on_the_read_outs_and_in_training_only(episodes: Episodes, name: str) -> None:
    method = make(episodes, name, dropout=0.5)
    graphs = torch.arange(40)
    first, second = (method._embed_distinct(graphs) for _ in range(2))
    assert not torch.allclose(first, second)
    method.eval()
    assert torch.equal(method._embed_distinct(graphs), method._embed_distinct(graphs))


@pytest.mark.parametrize("name", ROWS)
def test_an_episode_depends_neither_on_its_batch_nor_a_query_on_the_others(episodes: Episodes, name: str) -> None:
    method = settled(make(episodes, name), episodes)
    batch, way = next(episodes.batches("test", 6)), episodes.way
    scores = method.predict(batch)
    turned = method.predict(EpisodeBatch(batch.graphs.flip(0), batch.shots))
    torch.testing.assert_close(turned, scores.flip(0), rtol=1e-4, atol=1e-4)
    swapped = method.predict(EpisodeBatch(batch.graphs.flip(1), batch.shots))
    by_class = scores.view(6, way, -1, way).flip(1).flip(3).flatten(1, 2)
    torch.testing.assert_close(swapped, by_class, rtol=1e-4, atol=1e-4)
    alone = method.predict(EpisodeBatch(batch.graphs[:, :, : batch.shots + 1], batch.shots))
    torch.testing.assert_close(alone.view(6, way, 1, way), scores.view(6, way, -1, way)[:, :, :1], rtol=1e-4, atol=1e-4)
    assert not method.transductive


@pytest.mark.parametrize("name", ROWS)
def test_the_order_of_nodes_counts_in_the_local_row_only(episodes: Episodes, name: str) -> None:
    other = with_nodes_in_another_order(episodes)
    methods = [settled(make(of, name, dropout=0.0), of) for of in (episodes, other)]
    batch = next(episodes.batches("test", 6))
    first, second = (method.predict(batch) for method in methods)
    same = bool(torch.allclose(first, second, rtol=1e-4, atol=1e-4))
    assert same == (name == "smf_gin")
    assert ("order of its nodes" in METHODS[name].about) == (name == "smf_gin_local")


def test_a_graph_of_one_node_and_one_without_edges_have_a_local_embedding(episodes: Episodes) -> None:
    plain = PlainSmfGin(make(episodes, "smf_gin_local").eval()).eval()
    for nodes in (1, 2):
        x = torch.ones(nodes, episodes.num_features)
        graph = Data(x=x, edge_index=torch.zeros(2, 0, dtype=torch.int64))
        whole = torch.cat(plain.gin([graph]), 1)
        torch.testing.assert_close(plain.embed([graph]), whole)


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("name", ROWS)
def test_novel_graphs_replaced_by_noise_change_nothing_that_is_kept(
    tmp_path: Path, episodes: Episodes, name: str
) -> None:
    loop = TrainSettings(max_epochs=3, batch_size=4, accelerator="cpu", monitor="accuracy")
    experiment = Training(name, replace(SMALL[name], lr=1e-2, dropout=0.0), loop)
    kept = []
    for which, data in (("clean", episodes), ("noisy", with_novel_noise(episodes))):
        method, _ = fit(experiment, data, 0, tmp_path / which, tmp_path / f"{which}_curves")
        assert isinstance(method, SmfGin)
        kept.append({key: value.clone() for key, value in method.state_dict().items()})
        method.on_validation_epoch_start()
        torch.testing.assert_close(method.centre, kept[-1]["centre"])
    assert all(torch.equal(value, kept[1][key]) for key, value in kept[0].items())
    assert kept[0]["centre"].abs().max() > 0
    losses = np.genfromtxt(tmp_path / "clean_curves" / "plots" / "metrics" / "loss.tsv", names=True)["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize("name", ROWS)
def test_a_training_that_died_ends_like_an_undisturbed_one(tmp_path: Path, episodes: Episodes, name: str) -> None:
    loop = TrainSettings(max_epochs=4, batch_size=16, accelerator="cpu", monitor="accuracy")
    curves = curves_after_resuming(Training(name, SMALL[name], loop), episodes, tmp_path)
    assert {"cross_entropy", "loss", "val_loss", "val_accuracy", "episodes_per_second"} <= curves


def test_the_learning_rate_falls_at_half_and_three_quarters() -> None:
    from fsgc.methods.smf_gin.method import _lr_share

    shares = [_lr_share(epoch, 8) for epoch in range(8)]
    assert shares == pytest.approx([1] * 4 + [0.1] * 2 + [0.01] * 2)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    ("key", "value"), [("lr", 0.0), ("width", 0), ("convs", 0), ("gin_mlp_layers", 0), ("dropout", 1.0)]
)
def test_bad_settings_are_refused_by_name(name: str, key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=rf"{name}\.{key} must "):
        from_mapping(name, type(SMALL[name]), {key: value})


def test_a_bad_weight_of_the_halves_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"smf_gin_local\.local_weight must "):
        from_mapping("smf_gin_local", SmfGinLocalSettings, {"local_weight": -0.1})
