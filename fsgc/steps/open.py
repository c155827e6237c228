"""Opening the episodes of an experiment, with what was prepared for its method."""

from __future__ import annotations

from dataclasses import replace

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.experiment import Experiment
from fsgc.integrity import REMEDY
from fsgc.steps.prepare import store_of
from fsgc.workspace import Workspace


def open_episodes(workspace: Workspace, experiment: Experiment) -> Episodes:
    """The stored episodes, graphs, split and features of an experiment, and where what was prepared is."""
    return replace(open_data(workspace, experiment), prepared=store_of(workspace, experiment))


def open_data(workspace: Workspace, experiment: Experiment) -> Episodes:
    """The same whatever the method; a store of another experiment in its place is refused."""
    keys = experiment.keys
    episodes = Episodes.open(
        graphs=workspace.graphs(keys.dataset),
        split=workspace.split(keys.dataset, keys.seed),
        store=workspace.episodes(keys.dataset, keys.shots, keys.seed),
        features=experiment.features,
    )
    found, wanted = (episodes.split.dataset, episodes.shots, episodes.split.seed), (keys.dataset, keys.shots, keys.seed)
    if found != wanted:
        raise StoreError(f"{episodes.store.path} holds the episodes of {found}, expected {wanted}; {REMEDY}")
    return episodes
