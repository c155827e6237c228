from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import confusion_matrix

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.report.cells import Cell, State
from fsgc.report.confusion import confusion, count_classes
from fsgc.tables.grid import CellKey
from fsgc.workspace import Workspace
from fsgc.zarr_io import write_arrays
from tests.graphs import random_store


def test_counts_are_sklearns() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 3 * 4, 3)).astype(np.float32)
    classes = np.stack([rng.permutation([7, 2, 9, 11, 30])[:3] for _ in range(40)])
    found = count_classes(scores, classes)
    truth = np.concatenate([np.repeat(row, 4) for row in classes])
    predicted = np.concatenate([row[s.argmax(1)] for row, s in zip(classes, scores, strict=True)])
    assert found.classes == (2, 7, 9, 11, 30)
    np.testing.assert_array_equal(found.counts, confusion_matrix(truth, predicted, labels=found.classes))


def test_classes_come_from_the_stored_episodes(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    graphs = random_store(1, graphs=240, classes=6)
    graphs.y[:] += 1
    graphs.save(workspace.graphs("enzymes"))
    split = make_split(dataset("enzymes"), graphs.y)
    path = workspace.episodes("enzymes", 3, 0)
    settings = EpisodeSettings(queries=4, train_epochs=1, train_per_epoch=2, val=2, test=30)
    draw_episodes(path, graphs, split, way=2, shots=3, seed=0, settings=settings)
    cell = Cell(CellKey("enzymes", 3, "pn", 0), tmp_path, State.DONE)
    assert confusion(cell, workspace) is None, "there are no scores"
    # Every query is taken for class 4, wherever that class is in its episode.
    test = EpisodeStore.open(path).test
    is_four = (graphs.y[test[:, :, 0]] == 4).astype(np.float32)
    scores = np.repeat(is_four[:, None], 2 * 4, axis=1)
    write_arrays(tmp_path / "scores.zarr", {"scores": scores}, {"kind": "fsgc.scores"})
    found = confusion(cell, workspace)
    assert found is not None
    assert found.classes == (2, 4)
    assert found.counts.tolist() == [[0, 30 * 4], [0, 30 * 4]]
    assert confusion(cell, Workspace(tmp_path / "elsewhere")) is None
    write_arrays(tmp_path / "scores.zarr", {"scores": scores[:, :6]}, {"kind": "fsgc.scores"})
    assert confusion(cell, workspace) is None, "scores of other episodes"
    write_arrays(tmp_path / "scores.zarr", {"scores": scores}, {"kind": "fsgc.scores"})
    random_store(2, graphs=240, classes=6).save(workspace.graphs("enzymes"))
    assert confusion(cell, workspace) is None, "episodes of other graphs"
