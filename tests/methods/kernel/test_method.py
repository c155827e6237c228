"""Kernel methods against GraKeL refitted in every episode and sklearn's `SVC`, as the authors compute them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from fsgc.data.graph_store import GraphStore
from fsgc.data.readers.gsm import read_gsm
from fsgc.data.triangles import generate_triangles
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.contract import TaskShape
from fsgc.methods.kernel.compute import compute_gram
from fsgc.methods.kernel.gram import GramStore
from fsgc.methods.kernel.method import KernelMethod, SvcSettings
from fsgc.methods.kernel.settings import KERNELS, KernelSettings
from tests.methods.kernel.oracle import dense_store, grakel_graphs, kernel_of, refit, svc_predictions, without_first

SHAPE = TaskShape(num_features=1, way=3, base_classes=7)
SHOTS, QUERIES = 5, 5


def _method(graphs: GraphStore, kernel: str, novel: list[int], **settings: Any) -> KernelMethod:
    method = KernelMethod(SHAPE, SvcSettings(), kernel=kernel)
    method.attach_gram(compute_gram(graphs, novel, kernel, KernelSettings(**settings)))
    return method


def _episodes(graphs: GraphStore, novel: list[int], count: int) -> EpisodeBatch:
    rng = np.random.default_rng(0)
    pools = [np.flatnonzero(graphs.y == c) for c in novel]
    drawn = [[rng.permutation(pool)[: SHOTS + QUERIES] for pool in pools] for _ in range(count)]
    return EpisodeBatch(torch.from_numpy(np.array(drawn)), SHOTS)


def _by_refit(
    graphs: GraphStore, labels: npt.NDArray[np.int64], kernel: str, episodes: EpisodeBatch
) -> Iterator[tuple[Any, npt.NDArray[np.int64]]]:
    """GraKeL's kernel after each episode, and the predictions."""
    given = grakel_graphs(graphs, labels)
    for support, query in zip(episodes.support.flatten(1).tolist(), episodes.query.flatten(1).tolist(), strict=True):
        fitted = kernel_of(kernel)
        matrices = refit(fitted, [given[g] for g in support], [given[g] for g in query])
        yield fitted, svc_predictions(*matrices, way=episodes.graphs.shape[1])


@pytest.mark.parametrize("kernel", ["wl", "sp"])
@pytest.mark.parametrize("data", ["triangles", "random"])
def test_predictions_are_those_of_a_refit_in_every_episode(kernel: str, data: str) -> None:
    """Generated TRIANGLES by degree; random labelled graphs, some with isolated nodes or several components."""
    graphs = generate_triangles(30, seed=1) if data == "triangles" else dense_store(0, 90)
    novel, name = ([2, 5, 10], "degree") if data == "triangles" else ([0, 1, 2], "label")
    episodes = _episodes(graphs, novel, 25)
    labels = graphs.degree if name == "degree" else graphs.node_label.astype(np.int64)
    expected = [predictions for _, predictions in _by_refit(graphs, labels, kernel, episodes)]
    scores = _method(graphs, kernel, novel, node_labels=name).predict(episodes)
    assert scores.shape == (25, 3 * QUERIES, 3)
    np.testing.assert_array_equal(scores.argmax(-1).numpy(), expected)


def test_graphlet_predictions_are_those_of_a_refit_but_for_who_is_first() -> None:
    """Exactly those of GraKeL's counts with no graph the first of its class; GraKeL's own are others here and there."""
    graphs, novel = dense_store(0, 90), [0, 1, 2]
    episodes = _episodes(graphs, novel, 25)
    found = list(_by_refit(graphs, graphs.degree, "graphlet", episodes))
    predictions = _method(graphs, "graphlet", novel).predict(episodes).argmax(-1).numpy()
    expected = [svc_predictions(*without_first(fitted), way=3) for fitted, _ in found]
    np.testing.assert_array_equal(predictions, expected)
    assert (predictions != np.array([own for _, own in found])).any()


@pytest.mark.real
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_real_triangles(kernel: str, mirror: Path) -> None:
    """Graphs of up to ten nodes: GraKeL takes seconds an episode for the graphlets of larger ones."""
    graphs, novel = read_gsm(mirror / "gsm", {"file": "TRIANGLES.txt"}), [2, 5, 10]
    graphs = graphs.select(np.flatnonzero(np.isin(graphs.y, novel) & (graphs.num_nodes <= 10)))
    episodes = _episodes(graphs, novel, 20)
    found = list(_by_refit(graphs, graphs.degree, kernel, episodes))
    predictions = _method(graphs, kernel, novel).predict(episodes).argmax(-1).numpy()
    if kernel == "graphlet":
        expected = [svc_predictions(*without_first(fitted), way=3) for fitted, _ in found]
    else:
        expected = [own for _, own in found]
    np.testing.assert_array_equal(predictions, expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_query_does_not_depend_on_the_others_nor_an_episode_on_its_neighbours(kernel: str) -> None:
    graphs = dense_store(1, 60)
    episodes = _episodes(graphs, [0, 1, 2], 8)
    method = _method(graphs, kernel, [0, 1, 2], node_labels="label")
    scores = method.predict(episodes).view(8, 3, QUERIES, 3)
    alone = method.predict(EpisodeBatch(episodes.graphs[3:4, :, : SHOTS + 1], SHOTS))
    assert not method.transductive
    torch.testing.assert_close(alone.view(1, 3, 1, 3), scores[3:4, :, :1])
    turned = method.predict(EpisodeBatch(episodes.graphs.flip(0), SHOTS)).view(8, 3, QUERIES, 3)
    torch.testing.assert_close(turned.flip(0), scores)


@pytest.mark.usefixtures("outside_any_repository")
def test_the_stored_matrix_is_read_when_it_is_needed(tmp_path: Path, episodes: Episodes) -> None:
    stored = replace(episodes, prepared=tmp_path / "store.zarr")
    method = KernelMethod(SHAPE, SvcSettings(), kernel="wl")
    with pytest.raises(StoreError, match="come without a Gram matrix; use attach_gram"):
        method.attach(episodes)
    method.attach(stored)
    batch = next(stored.batches("test", 4))
    with pytest.raises(StoreError, match=r"store\.zarr does not exist"):
        method.predict(batch)
    gram = compute_gram(episodes.graphs, episodes.split.novel, "wl", KernelSettings())
    gram.save(tmp_path / "store.zarr")
    assert method.predict(batch).shape == (4, 2 * stored.store.queries("test"), 2)
    other = KernelMethod(SHAPE, SvcSettings(), kernel="sp")
    other.attach(stored)
    with pytest.raises(StoreError, match="is of the kernel 'wl', not of 'sp'"):
        other.predict(batch)
    GramStore(gram.gram, gram.graphs, {**gram.attributes, "graphs": "other"}).save(tmp_path / "store.zarr")
    again = KernelMethod(SHAPE, SvcSettings(), kernel="wl")
    again.attach(stored)
    with pytest.raises(StoreError, match="of other graphs than those stored now"):
        again.predict(batch)


def test_machines_that_do_not_arrive_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    graphs = dense_store(1, 60)
    method = KernelMethod(SHAPE, SvcSettings(max_iter=1), kernel="wl")
    method.attach_gram(compute_gram(graphs, [0, 1, 2], "wl", KernelSettings(node_labels="label")))
    with caplog.at_level("INFO"):
        scores = method.predict(_episodes(graphs, [0, 1, 2], 2))
    assert torch.isfinite(scores).all()
    assert "6 machines needed more than 1 steps" in caplog.text


def test_bad_settings_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="c must be above 0, got 0"):
        SvcSettings(c=0)
    with pytest.raises(SettingsError, match="max_iter must be at least 1, got 0"):
        SvcSettings(max_iter=0)
    with pytest.raises(RuntimeError, match="attach"):
        _ = KernelMethod(SHAPE, SvcSettings()).gram
