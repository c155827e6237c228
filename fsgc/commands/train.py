"""`fsgc train`: train a method on a dataset, without DVC."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsgc.settings import PARAMS_FILE

if TYPE_CHECKING:
    from fsgc.experiment import Keys
    from fsgc.workspace import Workspace

_log = logging.getLogger(__name__)


@click.command()
@click.argument("model")
@click.argument("dataset")
@click.option(
    "-k", "--shots", default=5, show_default=True, type=click.IntRange(1), help="K, labelled graphs per class."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of split, episodes and weights.")
@click.option(
    "-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The model file to write."
)
@click.option("--force", is_flag=True, help="Overwrite the model file and its report if they exist.")
@click.option("--preset", help="Another preset than that of the settings file: paper or authors.")
@click.option(
    "--features", help="Other node features than that of the settings file, such as degree_onehot+label_onehot."
)
@click.option(
    "--params",
    default=PARAMS_FILE,
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The settings; without the file, the defaults.",
)
def train(
    model: str, dataset: str, shots: int, seed: int, out: Path, force: bool, preset: str | None, features: str | None,
    params: Path,
) -> None:  # fmt: skip
    """Train the method MODEL on the stored episodes of DATASET; data that is not there yet is made first.

    A run that was killed resumes from its last epoch. While one runs, others of the same method, dataset, shots and
    seed are refused, whatever their settings: they would share its checkpoints. With another FSGC_DATA they may run. A
    report, the curves and the classes that the model has seen go beside the model file, as .json, .curves and
    .classes.json.

    \b
    Example:
      fsgc train pn letter_high -k 10 -o pn.pt && fsgc evaluate pn.pt
    """  # noqa: D301
    from fsgc.api import open_experiment
    from fsgc.data.catalog import dataset as catalog_entry
    from fsgc.data.own import source_of
    from fsgc.errors import SettingsError, StoreError
    from fsgc.experiment import Experiment
    from fsgc.files import remove
    from fsgc.methods.registry import method_entry
    from fsgc.params_check import check_params
    from fsgc.recipes import digest, recipe
    from fsgc.settings import load_params
    from fsgc.steps import train as step
    from fsgc.training.model_file import read_report, report_path
    from fsgc.training.seen_classes import seen_path, write_seen
    from fsgc.workspace import Workspace

    report, curves, seen = report_path(out), out.with_suffix(".curves"), seen_path(out)
    if out in (report, curves, seen):
        raise SettingsError(f"{out} is where its report or its curves go; choose another name with -o, such as x.pt")
    source = source_of(catalog_entry(dataset))
    for path in (out, report, curves, seen):
        if source is not None and source.resolve().is_relative_to(path.resolve()):
            raise SettingsError(f"{path} would overwrite the graphs of {dataset!r}; choose another name with -o")
        if path.exists() and path != curves and not force:  # a killed run leaves its curves, and resumes
            raise StoreError(f"{path} exists; choose another name with -o, or overwrite it with --force")
    keys = {"model": model, "dataset": dataset, "shots": shots, "seed": seed}
    keys |= {name: value for name, value in (("preset", preset), ("features", features)) if value is not None}
    values = load_params(params) if params.exists() or params != PARAMS_FILE else {}
    experiment = Experiment.from_params(values, **keys)
    check_params(values, method_entry(model))
    workspace = Workspace.find()
    with _alone(workspace, experiment.keys):
        episodes = open_experiment(experiment, workspace)
        made_by = digest(recipe("train", experiment))
        remove(seen)  # of the model that is overwritten
        click.echo(step.run(workspace, experiment, out, curves, made_by))
    if read_report(out).epochs:
        write_seen(out, episodes.split, episodes.graphs)
    click.echo(f"written to {out}")


@contextmanager
def _alone(workspace: Workspace, keys: Keys) -> Iterator[None]:
    """Keep out other trainings with the same directory of checkpoints; the system frees the lock of a killed one.

    The lock file stays: removed, it could be locked by one process while another makes and locks a new one.
    """
    from filelock import FileLock, Timeout

    from fsgc.errors import StoreError
    from fsgc.methods.registry import method_entry
    from fsgc.workspace import DATA_VARIABLE

    path = workspace.training_lock(keys, method_entry(keys.model).method().trained_for)
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"another 'fsgc train' of {path.stem} is running on {workspace.root.absolute()}, and would lose its "
            f"checkpoints to this one; wait for it to end, or set {DATA_VARIABLE} to another directory for this one"
        ) from None
    except (OSError, NotImplementedError) as error:  # a data root to read only, or a file system without locks
        _log.warning("%s cannot be locked (%s): leave other trainings of it until this one has ended", path, error)
    try:
        yield
    finally:
        lock.release()
