"""Step `episodes`: all training, validation and test episodes, drawn once."""

from __future__ import annotations

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, Split
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.experiment import Experiment
from fsgc.workspace import Workspace


def run(workspace: Workspace, experiment: Experiment) -> str:
    """Draw the episodes and store them as graph indices."""
    keys = experiment.keys
    graphs = GraphStore.load(workspace.graphs(keys.dataset))
    split = Split.load(workspace.split(keys.dataset, keys.seed))
    path = workspace.episodes(keys.dataset, keys.shots, keys.seed)
    draw_episodes(path, graphs, split, catalog_entry(keys.dataset).way, keys.shots, keys.seed, experiment.episodes)
    store = EpisodeStore.open(path)
    queries = ", ".join(f"{part} {store.queries(part)}" for part in PARTS)
    return f"{store.way}-way {store.shots}-shot episodes in {path}; queries per class: {queries}"
