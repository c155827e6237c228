"""`fsgc results`: where the results of the experiment of `params.yaml` are."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.store import EpisodeStore
from fsgc.errors import StoreError
from fsgc.evaluation.summary import result_line
from fsgc.settings import load_params
from fsgc.workspace import Workspace

METRICS = Path("metrics.json")


@click.command()
def results() -> None:
    """Print where the results of the current experiment are, and what they hold.

    \b
    Example:
      dvc repro && fsgc results
      fsgc results
    """  # noqa: D301  (click reads the \b as "keep these lines")
    params, workspace = load_params(), Workspace(Path("data"))
    key, shots, seed = params["dataset"], params["shots"], params["seed"]
    graphs = GraphStore.load(workspace.graphs(key))
    store = EpisodeStore.open(workspace.episodes(key, shots, seed))
    settings = store.settings
    if not METRICS.exists():
        raise StoreError(f"{METRICS} does not exist; run 'dvc repro'")
    click.echo(f"\nResults of the experiment '{params['model']}' on '{key}', {shots}-shot, seed {seed}:")
    click.echo(f"  graphs     {workspace.graphs(key)}: {len(graphs)} graphs of {len(graphs.classes)} classes")
    click.echo(
        f"  episodes   {store.path}: {store.way}-way, {settings.train_epochs} epochs of {settings.train_per_epoch} "
        f"for training, {settings.val} for validation, {settings.test} for test"
    )
    click.echo("  model      results/model.pt, its curves in results/curves (dvc plots show)")
    click.echo("  scores     results/scores.zarr, a row per test episode in results/episodes.parquet")
    click.echo(f"  metrics    {METRICS} (dvc metrics show)")
    click.echo(result_line(json.loads(METRICS.read_text(encoding="utf-8"))))
