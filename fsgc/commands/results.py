"""`fsgc results`: where the results of the experiment of `params.yaml` are."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.data.build import statistics_of
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS
from fsgc.episodes.store import EpisodeStore
from fsgc.settings import load_params
from fsgc.workspace import Workspace


@click.command()
def results() -> None:
    """Print where the results of the current experiment are, and what they hold."""
    params, workspace = load_params(), Workspace(Path("data"))
    key, shots, seed = params["dataset"], params["shots"], params["seed"]
    graphs_path, episodes_path = workspace.graphs(key), workspace.episodes(key, shots, seed)
    figures = statistics_of(GraphStore.load(graphs_path))
    store = EpisodeStore.open(episodes_path)
    counts = {part: len(store.part(part)) for part in PARTS}
    click.echo(f"\nResults of the experiment '{key}', {shots}-shot, seed {seed}:")
    click.echo(f"  raw files  {workspace.raw(key)}")
    click.echo(
        f"  graphs     {graphs_path}: {figures.graphs} graphs, {figures.classes} classes, "
        f"{figures.nodes:.2f} nodes, {figures.edges:.2f} edges on average"
    )
    click.echo(f"  split      {workspace.split(key, seed)}")
    click.echo(
        f"  episodes   {episodes_path}: {store.way}-way {shots}-shot, "
        f"{store.settings.train_epochs} epochs of {counts['train']} for training, {counts['val']} for validation, "
        f"{counts['test']} for test"
    )
    click.echo(f"Use them in Python: fsgc.load_episodes({key!r}, shots={shots}, seed={seed})")
