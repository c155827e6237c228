"""Stage `train`: a method trained on stored episodes."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.episodes.batches import Episodes
from fsgc.files import remove
from fsgc.settings import load_params
from fsgc.training.checkpoint import TrainedModel
from fsgc.training.fit import fit
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
    method, report = fit(experiment, episodes, seed, state, curves)
    features = episodes.feature_names
    TrainedModel(model, dataset, shots, seed, features, experiment.method, report, method).save(out)
    remove(state)
    click.echo(
        f"{model} on {dataset}, {shots}-shot: {report.epochs} epochs in {report.seconds:.0f} s; "
        f"validation {experiment.train.monitor} {report.best:.4f} in epoch {report.best_epoch}"
    )


if __name__ == "__main__":
    main()
