"""Loading datasets, splits and episodes by name; what is not stored, or was made by another recipe, is made first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fsgc.data.build import READERS
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.download import is_downloaded
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split, SplitSettings
from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.errors import SettingsError
from fsgc.experiment import Experiment, Keys
from fsgc.recipes import recipe
from fsgc.settings import from_mapping
from fsgc.steps import download, episodes, graphs, prepare, split
from fsgc.steps.open import open_data, open_episodes
from fsgc.steps.prepare import store_of
from fsgc.store_notes import was_made_by, write_note
from fsgc.training.checkpoint import restore
from fsgc.training.settings import Training, TrainSettings
from fsgc.workspace import Workspace

log = logging.getLogger(__name__)
DATA_ONLY = "wl"  # steps before `prepare` do not look at the method; any will do


def load_graphs(dataset: str) -> GraphStore:
    """The graphs of a dataset of the catalog; downloaded and stored first if they are not there yet."""
    workspace, experiment = Workspace.find(), _data_experiment(dataset)
    ensure_graphs(workspace, experiment)
    return GraphStore.load(workspace.graphs(dataset))


def load_split(dataset: str, seed: int = 0, settings: SplitSettings | None = None) -> Split:
    """The classes and graphs of a dataset that serve training, validation and test."""
    workspace, experiment = Workspace.find(), _data_experiment(dataset, seed=seed, split=settings)
    ensure_split(workspace, experiment, any_settings=settings is None)
    return Split.load(workspace.split(dataset, seed))


def load_episodes(
    dataset: str,
    shots: int,
    seed: int = 0,
    settings: EpisodeSettings | None = None,
    features: Sequence[str] | None = None,
) -> Episodes:
    """The stored episodes of a dataset, with its graphs; drawn first if they are not there yet.

    Args:
        dataset: a key of the catalog.
        shots: K.
        seed: of the split and of the training and validation episodes; the test episodes do not depend on it.
        settings: how many episodes; `None` takes what is stored, or the defaults. Episodes stored under other settings
            are drawn anew; drawing more leaves the first ones as they were.
        features: node features, `None` for the catalog's; see `fsgc.data.features`.
    """
    workspace = Workspace.find()
    experiment = _data_experiment(dataset, shots=shots, seed=seed, episodes=settings, features=features)
    ensure_episodes(workspace, experiment, any_settings=settings is None)
    return open_data(workspace, experiment)


def open_experiment(experiment: Experiment, workspace: Workspace | None = None, any_settings: bool = False) -> Episodes:
    """The episodes of an experiment with what its method wants prepared; whatever is missing is made first."""
    workspace = workspace or Workspace.find()
    ensure_stores(workspace, experiment, any_settings)
    return open_episodes(workspace, experiment)


def ensure_stores(workspace: Workspace, experiment: Experiment, any_settings: bool = False) -> None:
    """Have everything that an experiment reads: graphs, split, episodes, and what its method wants prepared."""
    ensure_episodes(workspace, experiment, any_settings)
    store = store_of(workspace, experiment)
    if store is not None:
        _ensure("prepare", store.parent, workspace, experiment, prepare.run)


def experiment_of(model_file: Path, dataset: str | None = None, shots: int | None = None) -> Experiment:
    """The experiment that a model file is the result of, or the same on another dataset or with other shots."""
    from fsgc.preparation import preparation_of

    restored = restore(model_file)
    origin, settings = restored.origin, restored.settings
    named: dict[str, Any] = {"model": origin.model, "seed": origin.seed}
    named |= {"dataset": dataset or origin.dataset, "shots": shots or origin.shots or Keys.shots}
    plain = Experiment.from_params({}, **named)
    return replace(
        plain,
        features=origin.features,
        given=Training(origin.model, settings, TrainSettings()),
        given_preparation=preparation_of(restored.method),
    )


def read_graphs(reader: str, directory: str | Path, **options: Any) -> GraphStore:
    """Read graphs of your own in one of the known formats.

    Args:
        reader: `gsm`, `tu` or `as_maml`.
        directory: where the files are.
        options: what the reader wants to know, e.g. `prefix="MUTAG"` for `tu` or `file="mine.txt"` for `gsm`.
    """
    known = [name for name in READERS if name not in ("triangles_gen", "r52", "own")]
    if reader not in known:
        raise SettingsError(f"reader must be one of {', '.join(known)}, got {reader!r}", key="reader")
    try:
        return READERS[reader](Path(directory), options)
    except KeyError as error:
        raise SettingsError(f"the reader {reader!r} needs the option {error}") from error


def ensure_graphs(workspace: Workspace, experiment: Experiment) -> None:
    """Have the graph store of an experiment's dataset."""
    entry = catalog_entry(experiment.keys.dataset)
    path = workspace.graphs(entry.key)
    if not _is_made("graphs", path, workspace, experiment):
        if not is_downloaded(entry, workspace.raw(entry.key)):
            log.info("downloading %s", entry.title)
            download.run(workspace, experiment)
        _ensure("graphs", path, workspace, experiment, _make_graphs)


def _make_graphs(workspace: Workspace, experiment: Experiment) -> str:
    """Make the graph store; nothing made of an older one is then taken for made of it."""
    key = experiment.keys.dataset
    # A split knows graphs by their places alone, so one of other graphs would pass. The note of the graphs goes, too:
    # a process that ends before it writes another would leave the new graphs with the old recipe.
    for note in (workspace.note(workspace.graphs(key)), *workspace.notes_after_graphs(key)):
        note.unlink(missing_ok=True)
    return graphs.run(workspace, experiment)


def ensure_split(workspace: Workspace, experiment: Experiment, any_settings: bool = False) -> None:
    """Have the split of an experiment."""
    ensure_graphs(workspace, experiment)
    keys = experiment.keys
    path = workspace.split(keys.dataset, keys.seed)
    if not _is_made("split", path, workspace, experiment, any_settings):
        # What was made of an older split has classes where they no longer belong. Without their notes these stores are
        # made again, also if this process ends before they are.
        for note in workspace.notes_after_split(keys.dataset, keys.seed):
            note.unlink(missing_ok=True)
    _ensure("split", path, workspace, experiment, split.run, any_settings)


def ensure_episodes(workspace: Workspace, experiment: Experiment, any_settings: bool = False) -> None:
    """Have the episode store of an experiment."""
    ensure_split(workspace, experiment, any_settings)
    keys = experiment.keys
    path = workspace.episodes(keys.dataset, keys.shots, keys.seed)
    _ensure("episodes", path, workspace, experiment, episodes.run, any_settings)


def _ensure(
    step: str,
    path: Path,
    workspace: Workspace,
    experiment: Experiment,
    make: Callable[[Workspace, Experiment], str],
    any_settings: bool = False,
) -> None:
    """Run a step unless its store was made by the same recipe, or with `any_settings` by one of other settings."""
    if _is_made(step, path, workspace, experiment, any_settings):
        return
    note = workspace.note(path)
    note.unlink(missing_ok=True)  # a process that ends before it writes another leaves a store that has none
    log.info(make(workspace, experiment))
    write_note(note, path, recipe(step, experiment))


def _is_made(step: str, path: Path, workspace: Workspace, experiment: Experiment, any_settings: bool = False) -> bool:
    return was_made_by(workspace.note(path), path, recipe(step, experiment), any_settings)


def stores_not_made(workspace: Workspace, experiment: Experiment) -> dict[str, Path]:
    """Step -> its store, for every store an experiment reads that is missing or was made by another recipe."""
    keys, prepared = experiment.keys, store_of(workspace, experiment)
    stores = {
        "graphs": workspace.graphs(keys.dataset),
        "split": workspace.split(keys.dataset, keys.seed),
        "episodes": workspace.episodes(keys.dataset, keys.shots, keys.seed),
        **({"prepare": prepared.parent} if prepared else {}),
    }
    return {step: path for step, path in stores.items() if not _is_made(step, path, workspace, experiment)}


def _data_experiment(
    dataset: str,
    shots: int = 5,
    seed: int = 0,
    split: SplitSettings | None = None,
    episodes: EpisodeSettings | None = None,
    features: Sequence[str] | None = None,
) -> Experiment:
    """An experiment as far as data goes."""
    named = {"dataset": dataset, "model": DATA_ONLY, "shots": shots, "seed": seed}
    return Experiment(
        keys=from_mapping("", Keys, named, {name: name for name in named}),
        features=tuple(features or catalog_entry(dataset).features),
        split=split or SplitSettings(),
        episodes=episodes or EpisodeSettings(),
    )
