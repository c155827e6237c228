"""Stage `prepare`: what the method wants once for the dataset, such as a Gram matrix or super-classes."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.steps import prepare
from fsgc.workspace import Workspace
from pipeline.stage import stage


@stage
def main(workspace: Workspace, experiment: Experiment) -> None:
    """Run the step `prepare`."""
    click.echo(prepare.run(workspace, experiment))


if __name__ == "__main__":
    main()
