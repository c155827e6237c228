"""The command line: `fsgc …`."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from fsgc.commands.build import build
from fsgc.commands.check_tables import check
from fsgc.commands.datasets import datasets
from fsgc.commands.evaluate import evaluate
from fsgc.commands.figures import figures
from fsgc.commands.models import models
from fsgc.commands.predict import predict
from fsgc.commands.report import report
from fsgc.commands.results import results
from fsgc.commands.run_tables import plan, run, status
from fsgc.commands.tables import tables
from fsgc.commands.train import train
from fsgc.errors import FsgcError


class FriendlyGroup(click.Group):
    """A group whose commands show our own errors as one sentence instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except FsgcError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fsgc")
def main() -> None:
    """Few-shot graph classification: datasets, fixed episodes, comparable methods.

    \b
    fsgc datasets                  what there is, and what is stored here
    fsgc datasets show coil_del    all about one dataset
    fsgc build coil_del -k 5       download, store and draw episodes without DVC
    fsgc models                    the methods
    fsgc train pn coil_del -o pn.pt && fsgc evaluate pn.pt
    fsgc predict discriminant --support labelled/ --query new/ -o predictions.csv
    fsgc tables run -j 2           the cells of the paper's tables
    fsgc tables show               the tables
    fsgc report                    one page with all of it
    dvc repro                      the experiment of params.yaml, every step cached
    """  # noqa: D301  (click reads the \b as "keep these lines")
    logging.captureWarnings(True)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)


for command in (run, plan, status, check):
    tables.add_command(command)
for command in (datasets, build, models, train, evaluate, predict, results, tables, report, figures):
    main.add_command(command)
