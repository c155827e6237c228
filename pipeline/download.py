"""Stage `download`: the raw files of the dataset, verified."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.steps import download
from fsgc.workspace import Workspace
from pipeline.stage import stage


@stage
def main(workspace: Workspace, experiment: Experiment) -> None:
    """Run the step `download`."""
    click.echo(download.run(workspace, experiment))


if __name__ == "__main__":
    main()
