"""Stage `train`: the method fitted on stored episodes."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.experiment import Experiment
from fsgc.recipes import digest, recipe
from fsgc.steps import train
from fsgc.workspace import Workspace
from pipeline.stage import stage


@click.option("--out", default="results", show_default=True, type=click.Path(path_type=Path), help="Where to write.")
@stage
def main(workspace: Workspace, experiment: Experiment, out: Path) -> None:
    """Run the step `train`; a run that was killed resumes from its last epoch."""
    made_by = digest(recipe("train", experiment))
    click.echo(train.run(workspace, experiment, out / "model.pt", out / "curves", made_by))


if __name__ == "__main__":
    main()
