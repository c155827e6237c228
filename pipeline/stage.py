"""What the stages share: their options and how their errors reach the user."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fsgc.errors import FsgcError
from fsgc.experiment import Experiment
from fsgc.settings import PARAMS_FILE
from fsgc.workspace import ExperimentWorkspace, Workspace

DATA = Path("data")


def stage(function: Callable[..., None]) -> click.Command:
    """A command of the pipeline: without options the experiment of `params.yaml`, with them a cell of the tables.

    The function is given the workspace and the experiment. An error of ours is printed as one sentence, with exit code
    1; anything else is a bug and shows its traceback.
    """

    @functools.wraps(function)
    def guarded(params: Path, tables: Path | None, keys: dict[str, Any], **more: Any) -> None:
        logging.captureWarnings(True)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        given = {name: value for name, value in keys.items() if value is not None}
        try:
            workspace = Workspace(tables) if tables else ExperimentWorkspace(DATA)
            function(workspace, Experiment.load(params, **given), **more)
        except FsgcError as error:
            raise click.ClickException(str(error)) from error

    @functools.wraps(guarded)
    def collected(dataset: str, model: str, shots: int, seed: int, features: str, **more: Any) -> None:
        keys = {"dataset": dataset, "model": model, "shots": shots, "seed": seed, "features": features}
        guarded(keys=keys, **more)

    command: Callable[..., None] = collected
    for option in (
        click.option("--features", help="Node features, other than in the params file."),
        click.option("--seed", type=int, help="The seed, other than in the params file."),
        click.option("--shots", type=int, help="K, other than in the params file."),
        click.option("--model", help="A method, other than in the params file."),
        click.option("--dataset", help="A dataset, other than in the params file."),
        click.option("--tables", type=click.Path(path_type=Path), help="A data root with paths named by content."),
        click.option("--params", default=PARAMS_FILE, show_default=True, type=click.Path(path_type=Path)),
    ):
        command = option(command)
    return click.command()(command)
