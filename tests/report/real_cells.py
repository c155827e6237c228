"""Cells of untrained models, written by the code that writes real ones, with their episodes stored beside them."""

from __future__ import annotations

from pathlib import Path

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import draw_episodes
from fsgc.evaluation.results import evaluate
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.tables.grid import CellKey
from fsgc.training.checkpoint import TrainedModel
from fsgc.training.report import FitReport
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from fsgc.workspace import Workspace
from tests.graphs import random_store

SETTINGS = PrototypicalSettings(width=8)


def store_enzymes(workspace: Workspace) -> Episodes:
    """Random graphs with the classes of ENZYMES, their split, and 2-way 3-shot episodes with 4 queries."""
    graphs = random_store(1, graphs=240, classes=6)
    graphs.y[:] += 1
    split = make_split(dataset("enzymes"), graphs.y)
    graphs.save(workspace.graphs("enzymes"))
    split.save(workspace.split("enzymes", 0))
    settings = EpisodeSettings(queries=4, train_epochs=1, train_per_epoch=2, val=2, test=120)
    draw_episodes(workspace.episodes("enzymes", 3, 0), graphs, split, way=2, shots=3, seed=0, settings=settings)
    return Episodes.open(workspace, "enzymes", 3, 0, dataset("enzymes").features)


def write_real_cell(root: Path, episodes: Episodes, model: str) -> Path:
    """Evaluate an untrained model into a cell."""
    path = root / CellKey("enzymes", 3, model, 0).name
    method = make_method(Training(model, SETTINGS, TrainSettings()), episodes, seed=0)
    assert isinstance(method, LearnedMethod)
    method.eval()
    trained = TrainedModel(
        model=model,
        dataset="enzymes",
        shots=3,
        seed=0,
        features=episodes.feature_names,
        settings=SETTINGS,
        report=FitReport(3, 2, 0.5, 10.0, 1000, 99),
        method=method,
        shape=TaskShape.of(episodes),
    )
    trained.save(path / "model.pt")
    evaluate(trained, episodes, path / "metrics.json", path / "episodes.parquet", path / "scores.zarr")
    return path
