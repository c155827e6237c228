"""Stage `evaluate`: a trained method on the stored test episodes."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.episodes.batches import Episodes
from fsgc.evaluation.results import evaluate
from fsgc.evaluation.summary import result_line
from fsgc.training.checkpoint import TrainedModel
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, seed_option, shots_option, stage


@click.command()
@dataset_option
@shots_option
@seed_option
@data_option
@click.option("--model-file", default="results/model.pt", show_default=True, type=click.Path(path_type=Path))
@click.option("--out", default="results", show_default=True, type=click.Path(path_type=Path))
@click.option("--metrics", default="metrics.json", show_default=True, type=click.Path(path_type=Path))
@stage
def main(dataset: str, shots: int, seed: int, workspace: Workspace, model_file: Path, out: Path, metrics: Path) -> None:
    """Score all test episodes of a dataset; the only place where novel classes are looked at."""
    episodes = Episodes.open(workspace, dataset, shots, seed, catalog_entry(dataset).features)
    model = TrainedModel.load(model_file, episodes)
    result = evaluate(model, episodes, metrics, out / "episodes.parquet", out / "scores.zarr")
    click.echo(result_line(result))


if __name__ == "__main__":
    main()
