from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.kernel.method import KernelMethod, SvcSettings
from fsgc.methods.prototypical.method import PrototypicalNetwork
from fsgc.report.cells import Cell, find_cells
from fsgc.report.figures.embeddings import Placed, class_similarity_figure, tsne_figure
from fsgc.report.figures.latent_space import Embedded, class_separation, embed_episodes, place
from fsgc.report.figures.style import svg_bytes
from fsgc.report.project import Project
from fsgc.tables.grid import CellKey
from fsgc.training.checkpoint import TrainedModel


@pytest.fixture(scope="module")
def episodes(real_root: Path) -> Episodes:
    return Project(real_root).episodes(CellKey("enzymes", 3, "pn", 0))


@pytest.fixture(scope="module")
def cells(real_root: Path) -> dict[str, Cell]:
    return {cell.key.model: cell for cell in find_cells(real_root) if isinstance(cell, Cell)}


@pytest.mark.parametrize("model", ["pn", "pn_tae"])
def test_embeddings_are_those_that_the_scores_come_from(model: str, episodes: Episodes, cells: dict[str, Cell]) -> None:
    found = embed_episodes(cells[model], episodes, [3, 0])
    assert found is not None
    assert found.points.shape == (2, 2, 7, 8)
    assert found.has_prototypes
    method = TrainedModel.load(cells[model].model / "model.pt", episodes).method
    assert isinstance(method, PrototypicalNetwork)
    for row, episode in enumerate((3, 0)):
        prototypes = found.points[row, :, :3].mean(1)
        distances = cdist(found.points[row, :, 3:].reshape(8, 8), prototypes, "sqeuclidean")
        scores = -method.scale.item() * distances
        batch = EpisodeBatch(torch.from_numpy(episodes.store.test[[episode]].astype(np.int64)), 3)
        np.testing.assert_allclose(scores, method.predict(batch)[0].detach().numpy(), rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(found.classes[row], episodes.graphs.y[episodes.store.test[episode, :, 0]])


def test_a_method_without_embeddings_has_none(
    episodes: Episodes, cells: dict[str, Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = TrainedModel.load(cells["pn"].model / "model.pt", episodes)
    kernel = KernelMethod(TaskShape.of(episodes), SvcSettings())
    object.__setattr__(loaded, "method", kernel)
    monkeypatch.setattr(TrainedModel, "load", lambda *_: loaded)
    assert embed_episodes(cells["pn"], episodes, [0]) is None


def test_episodes_that_are_not_stored_are_refused(episodes: Episodes, cells: dict[str, Cell]) -> None:
    with pytest.raises(SettingsError, match="episode 120 is not stored: there are 0 to 119"):
        embed_episodes(cells["pn"], episodes, [0, 120])


def test_a_row_an_episode_a_column_a_model(episodes: Episodes, cells: dict[str, Cell]) -> None:
    numbers = [0, 5]
    found = {model: embed_episodes(cells[model], episodes, numbers) for model in ("pn", "pn_tae_mu")}
    shown = {model: place(points, numbers) for model, points in found.items() if points is not None}
    figure = tsne_figure(shown)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["pn, episode 0", "pn_tae_mu, episode 0", "pn, episode 5", "pn_tae_mu, episode 5"]
    for axis in figure.axes:
        # Of each of two classes: 4 queries, 3 supports, 1 prototype.
        assert [len(np.asarray(collection.get_offsets())) for collection in axis.collections] == [4, 3, 1, 4, 3, 1]
    assert svg_bytes(figure) == svg_bytes(tsne_figure(shown)), "the same points at the same places"


def test_places_in_the_plane_are_of_the_same_episodes() -> None:
    points = [[[(0.0, 1.0), (2.0, 3.0)]] * 2]
    assert Placed([4], [[1, 2]], 1, points, None).prototypes is None
    for numbers, classes, stars in (
        ([4, 5], [[1, 2]], None),
        ([4], [[1, 2, 3]], None),
        ([4], [[1, 2]], [[(0.0, 0.0)]]),
    ):
        with pytest.raises(ValueError, match="not of the same episodes"):
            Placed(numbers, classes, 1, points, stars)


def test_class_separation_by_hand() -> None:
    # Three classes on a line with representatives 0, 4 and 8; each graph is 1 away from its own, so the spread is 1.
    points = np.array([[[[-1], [1]], [[3], [5]]], [[[7], [9]], [[99], [99]]]], dtype=np.float32)
    embedded = Embedded(points, np.array([[5, 6], [7, 5]]), shots=1, has_prototypes=True)
    found = class_separation(embedded, samples=2)
    assert found == pytest.approx({5: (16 + 64) / 2, 6: (16 + 16) / 2, 7: (64 + 16) / 2})


def test_class_separation_does_not_depend_on_the_scale() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2, 7, 3)).astype(np.float32)
    classes = np.tile([4, 9], (20, 1))
    one, other = (class_separation(Embedded(factor * points, classes, 3, True)) for factor in (1, 1000))
    assert one == pytest.approx(other, rel=1e-5)


def test_the_difference_of_class_distances_has_a_sign() -> None:
    figure = class_similarity_figure({"COIL-DEL": ({80: 1.0, 81: 2.0}, {80: 3.0, 81: 1.5})})
    (axis,) = figure.axes
    assert [bar.get_height() for bar in axis.patches] == [2.0, -0.5]  # type: ignore[attr-defined]
    first, second = (bar.get_facecolor() for bar in axis.patches)
    assert first != second
