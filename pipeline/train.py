"""Stage `train`: a method trained on stored episodes."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.episodes.batches import Episodes
from fsgc.settings import load_params
from fsgc.training.run import train_model, training_line
from fsgc.training.settings import Experiment
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, model_option, seed_option, shots_option, stage


@click.command()
@dataset_option
@shots_option
@model_option
@seed_option
@data_option
@click.option("--out", default="results/model.pt", show_default=True, type=click.Path(path_type=Path))
@click.option("--curves", default="results/curves", show_default=True, type=click.Path(path_type=Path))
@stage
def main(dataset: str, shots: int, model: str, seed: int, workspace: Workspace, out: Path, curves: Path) -> None:
    """Train a method; a run that was killed goes on from its last epoch."""
    experiment = Experiment.from_params(load_params(), model, dataset)
    episodes = Episodes.open(workspace, dataset, shots, seed, catalog_entry(dataset).features)
    state = workspace.training(dataset, shots, model, seed)
    trained = train_model(experiment, episodes, seed, state, out, curves)
    click.echo(training_line(trained, experiment))


if __name__ == "__main__":
    main()
