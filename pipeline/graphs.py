"""Stage `graphs`: raw files to one checked graph store."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.steps import graphs
from fsgc.workspace import Workspace
from pipeline.stage import stage


@stage
def main(workspace: Workspace, experiment: Experiment) -> None:
    """Run the step `graphs`."""
    click.echo(graphs.run(workspace, experiment))


if __name__ == "__main__":
    main()
