"""Stage `split`: which classes and graphs serve training, validation and test."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.steps import split
from fsgc.workspace import Workspace
from pipeline.stage import stage


@stage
def main(workspace: Workspace, experiment: Experiment) -> None:
    """Run the step `split`."""
    click.echo(split.run(workspace, experiment))


if __name__ == "__main__":
    main()
