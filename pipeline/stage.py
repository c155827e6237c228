"""What the stages share: their options and how their errors reach the user."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fsgc.errors import FsgcError
from fsgc.workspace import Workspace

dataset_option = click.option("--dataset", required=True, metavar="KEY", help="A dataset of the catalog.")
shots_option = click.option("--shots", required=True, type=int, help="K, the supports of a class.")
model_option = click.option("--model", required=True, metavar="NAME", help="A method of `fsgc models`.")
seed_option = click.option("--seed", default=0, show_default=True, help="Of the split and the training episodes.")
data_option = click.option(
    "--data",
    "workspace",
    default="data",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    callback=lambda _context, _parameter, value: Workspace(value),
    help="The data root.",
)


def stage(function: Callable[..., None]) -> Callable[..., None]:
    """Print an error of ours as one sentence and exit with 1; anything else is a bug and shows its traceback."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        logging.captureWarnings(True)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        try:
            function(*args, **kwargs)
        except FsgcError as error:
            raise click.ClickException(str(error)) from error

    return guarded
