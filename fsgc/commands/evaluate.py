"""`fsgc evaluate`: a trained method on the stored test episodes, without DVC."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("model_file", type=click.Path(path_type=Path))
@click.option("-d", "--dataset", help="Test on another dataset than it was trained on; the features must fit.")
@click.option("-k", "--shots", type=int, help="Test with another number of shots than it was trained with.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Where to write; default: beside the model file.")
def evaluate(model_file: Path, dataset: str | None, shots: int | None, out: Path | None) -> None:
    """Score all 5000 stored test episodes with the model in MODEL_FILE, as written by 'fsgc train'.

    Writes metrics.json, a row per episode (episodes.parquet) and the scores (scores.zarr).
    """
    from fsgc.api import load_episodes
    from fsgc.evaluation.results import evaluate as run
    from fsgc.evaluation.summary import result_line
    from fsgc.training.checkpoint import TrainedModel, peek

    origin = peek(model_file)
    episodes = load_episodes(dataset or origin["dataset"], shots or origin["shots"], origin["seed"])
    target = out or model_file.with_suffix(".results")
    model = TrainedModel.load(model_file, episodes)
    metrics = run(model, episodes, target / "metrics.json", target / "episodes.parquet", target / "scores.zarr")
    click.echo(f"{result_line(metrics)}\nwritten to {target}")
