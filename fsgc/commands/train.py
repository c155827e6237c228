"""`fsgc train`: train and test a method on a dataset, without DVC."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.settings import PARAMS_FILE, load_params


@click.command()
@click.argument("model")
@click.argument("dataset")
@click.option("-k", "--shots", default=5, show_default=True, help="K, labelled graphs per class.")
@click.option("--seed", default=0, show_default=True, help="Of split, training episodes and weights.")
@click.option("--params", default=PARAMS_FILE, show_default=True, type=click.Path(path_type=Path), help="Settings.")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The model file to write.")
def train(model: str, dataset: str, shots: int, seed: int, params: Path, out: Path) -> None:
    """Train the method MODEL on DATASET and write the weights of its best validation epoch.

    Data that is not stored yet is downloaded and drawn first. A run that was killed goes on from its last epoch when
    the same command is given again. The curves go to a directory beside the model file.
    """
    from fsgc.api import load_episodes
    from fsgc.episodes.store import EpisodeSettings
    from fsgc.methods.registry import method_entry
    from fsgc.settings import section
    from fsgc.training.run import train_model, training_line
    from fsgc.training.settings import Experiment
    from fsgc.workspace import Workspace

    experiment = Experiment.from_params(load_params(params), model, dataset)
    episodes = load_episodes(dataset, shots, seed, section("episodes", EpisodeSettings, params))
    entry = method_entry(model)
    entry.method().prepare(episodes, load_params(params), **entry.options)
    state = Workspace.find().training(dataset, shots, model, seed)
    trained = train_model(experiment, episodes, seed, state, out, out.with_suffix(".curves"))
    click.echo(f"{training_line(trained, experiment)}\nwritten to {out}")
