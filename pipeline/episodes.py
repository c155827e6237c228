"""Stage `episodes`: all training, validation and test episodes, drawn once."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.steps import episodes
from fsgc.workspace import Workspace
from pipeline.stage import stage


@stage
def main(workspace: Workspace, experiment: Experiment) -> None:
    """Run the step `episodes`."""
    click.echo(episodes.run(workspace, experiment))


if __name__ == "__main__":
    main()
