"""A project with cells of untrained models, written by the code that writes real ones, and all they were made from."""

from __future__ import annotations

from pathlib import Path

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.episodes.store import draw_episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.recipes import recorded
from fsgc.settings import load_params
from fsgc.steps import evaluate
from fsgc.steps.open import open_episodes
from fsgc.tables.grid import CellKey
from fsgc.tables.plan import work_of
from fsgc.tables.status import METRICS
from fsgc.training.checkpoint import ModelInputs, Origin, TrainedModel
from fsgc.training.report import FitReport
from fsgc.training.run import make_method
from fsgc.workspace import Workspace
from tests.graphs import random_store

MODELS = ("pn", "pn_tae", "pn_tae_mu")
PARAMS = """
episodes: {queries: 4, train_epochs: 1, train_per_epoch: 2, val: 2, test: 120}
embedder: {default: {width: 8}}
"""
LISTS = f"small: {{datasets: [enzymes], shots: [3], models: [{', '.join(MODELS)}, wl], seeds: [0]}}\n"


def write_project(project: Path) -> Path:
    """Write a project whose cells of `MODELS` are computed and that of WL is not; the directory of its cells."""
    tables = project / "tables"
    tables.mkdir(parents=True)
    (project / "params.yaml").write_text(PARAMS)
    (tables / "params.yaml").write_text(LISTS)
    _store_enzymes(project)
    for model in MODELS:
        _write_cell(project, model)
    return tables / "cells"


def _store_enzymes(project: Path) -> None:
    """Random graphs with the classes of ENZYMES, their split, and 2-way 3-shot episodes."""
    workspace = Workspace(project / "tables" / "data")
    experiment = CellKey("enzymes", 3, "pn", 0).experiment(load_params(project / "params.yaml"))
    graphs = random_store(1, graphs=240, classes=6)
    graphs.y[:] += 1
    split = make_split(dataset("enzymes"), graphs.y)
    graphs.save(workspace.graphs("enzymes"))
    split.save(workspace.split("enzymes", 0))
    store = workspace.episodes("enzymes", 3, 0)
    draw_episodes(store, graphs, split, way=2, shots=3, seed=0, settings=experiment.episodes)


def _write_cell(project: Path, model: str) -> None:
    """Evaluate an untrained model into a cell."""
    tables = project / "tables"
    workspace = Workspace(tables / "data")
    work = work_of(CellKey("enzymes", 3, model, 0), load_params(project / "params.yaml"))
    episodes = open_episodes(workspace, work.experiment)
    shape = TaskShape.of(episodes)
    method = make_method(work.experiment.training, shape, seed=0)
    assert isinstance(method, LearnedMethod)
    method.eval()
    origin = Origin(model, "enzymes", 3, 0, episodes.feature_names)
    report = FitReport(epochs=3, best_epoch=2, best=0.5, seconds=10.0, peak_memory=1000, parameters=99)
    file = tables / "models" / work.model / "model.pt"
    TrainedModel(origin, work.experiment.training.method, report, method, shape, ModelInputs.of(episodes)).save(file)
    out = tables / "cells" / work.cell.name
    evaluate.run(workspace, work.experiment, file, out, recorded(work.experiment), METRICS)
