"""`fsgc results`: where the results of the experiment of `params.yaml` are."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
def results() -> None:
    """Print where the results of the current experiment are, and what they hold.

    \b
    Example:
      dvc repro && fsgc results
      fsgc results
    """  # noqa: D301  (click reads the \b as "keep these lines")
    import json

    from fsgc.data.graph_store import GraphStore
    from fsgc.episodes.store import EpisodeStore
    from fsgc.errors import StoreError
    from fsgc.evaluation.results import RECORD
    from fsgc.evaluation.summary import result_line
    from fsgc.experiment import Experiment
    from fsgc.recipes import digest, recorded
    from fsgc.workspace import ExperimentWorkspace

    experiment, workspace = Experiment.load(), ExperimentWorkspace(Path("data"))
    keys = experiment.keys
    record = Path("results") / RECORD
    if not record.exists():
        raise StoreError(f"{record} does not exist; run 'dvc repro'")
    try:
        content = json.loads(record.read_bytes())
        line, of = result_line(content), tuple(content[name] for name in ("model", "dataset", "shots"))
        made_by = dict(content["recipes"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"{record} is damaged ({error!r}); run 'dvc checkout', or delete it and 'dvc repro'"
        ) from error
    if of != (keys.model, keys.dataset, keys.shots):
        raise StoreError(f"{record} is of {of[0]} on {of[1]}, {of[2]}-shot, other than params.yaml; run 'dvc repro'")
    changed = [step for step, each in recorded(experiment).items() if made_by.get(step) != digest(each)]
    if changed:
        raise StoreError(f"{record} is of other settings or code ({', '.join(changed)} changed); run 'dvc repro'")
    graphs = GraphStore.load(workspace.graphs(keys.dataset))
    store = EpisodeStore.open(workspace.episodes(keys.dataset, keys.shots, keys.seed))
    settings = store.settings
    click.echo(f"\nResults of the experiment '{keys.model}' on '{keys.dataset}', {keys.shots}-shot, seed {keys.seed}:")
    click.echo(f"  graphs     {workspace.graphs(keys.dataset)}: {len(graphs)} graphs of {len(graphs.classes)} classes")
    click.echo(
        f"  episodes   {store.path}: {store.way}-way, {settings.train_epochs} epochs of {settings.train_per_epoch} "
        f"for training, {settings.val} for validation, {settings.test} for test"
    )
    click.echo("  model      results/model.pt, its curves in results/curves (dvc plots show)")
    click.echo(
        "  outcomes   results/outcomes.bin, results/scores.zarr, one row per test episode in results/episodes.parquet"
    )
    click.echo(f"  metrics    metrics.json (dvc metrics show), everything in {record}")
    click.echo(line)
