"""A project with cells of hardly trained models, written by the code that writes real ones."""

from __future__ import annotations

from pathlib import Path

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.episodes.store import draw_episodes
from fsgc.settings import load_params
from fsgc.tables.grid import CellKey
from fsgc.tables.plan import work_of
from fsgc.tables.worker import compute
from fsgc.workspace import Workspace
from tests.graphs import random_store

MODELS = ("pn", "pn_tae", "pn_tae_mu")
PARAMS = """
episodes: {queries: 4, train_epochs: 1, train_per_epoch: 2, val: 2, test: 120}
train: {default: {max_epochs: 1, accelerator: cpu}}
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
    params = load_params(project / "params.yaml")
    for model in MODELS:
        compute([work_of(CellKey("enzymes", 3, model, 0), params)], project)
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
