"""`fsgc evaluate`: a trained method on the stored test episodes, without DVC."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("model_file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("-d", "--dataset", help="Test on another dataset than it was trained on; the features must fit.")
@click.option("-k", "--shots", type=click.IntRange(1), help="K to test with; default: that of the training, or 5.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Where to write; default: beside the model file.")
@click.option("--method", help="Allow the code in FILE.PY:CLASS, if the model was trained with it.")
def evaluate(model_file: Path, dataset: str | None, shots: int | None, out: Path | None, method: str | None) -> None:
    """Score all stored test episodes with the model in MODEL_FILE, as written by 'fsgc train'.

    Writes everything known of the result (record.json), a row per episode (episodes.parquet) and the scores
    (scores.zarr); for x.pt into x.results, with -d or -k into a directory named after both.

    \b
    Example:
      fsgc evaluate pn.pt -k 10
    """  # noqa: D301
    from fsgc.api import experiment_of, open_experiment
    from fsgc.evaluation.results import RECORD, write_json
    from fsgc.evaluation.summary import result_line
    from fsgc.methods.registry import method_entry
    from fsgc.recipes import recipe
    from fsgc.steps import evaluate as step
    from fsgc.training.checkpoint import restore
    from fsgc.training.inputs import check_inputs
    from fsgc.training.seen_classes import check_unseen
    from fsgc.workspace import Workspace

    if out:
        refuse_file(out)
    if method:
        method_entry(method)
    workspace = Workspace.find()
    experiment = experiment_of(model_file, dataset, shots)
    keys, restored = experiment.keys, restore(model_file)
    if not (shots or restored.origin.shots):
        click.echo(f"this model was trained for no K in particular; tested with {keys.shots} (-k)", err=True)
    episodes = open_experiment(experiment, workspace, any_settings=True)
    unlike = check_inputs(restored.origin, restored.shape, restored.inputs, episodes)
    for warning in (unlike, check_unseen(model_file, episodes.split, episodes.graphs)):
        if warning:
            click.echo(f"Warning: {warning}", err=True)
    named = "" if dataset is None and shots is None else f".{keys.dataset}-{keys.shots}shot"
    target = out or model_file.with_suffix(f"{named}.results")
    refuse_file(target)
    made_by = {"evaluate": recipe("evaluate", experiment)}  # by what the model was made, its own report tells
    record = step.run(workspace, experiment, model_file, target, made_by)
    # A model file knows its features and hyperparameters, but not the loop, the preset and the split of its training.
    known = {name: record["settings"][name] for name in ("features", "method")}
    record = {name: value for name, value in record.items() if name != "preset"} | {"settings": known}
    write_json(target / RECORD, record)
    click.echo(f"{result_line(record)}\nwritten to {target}")


def refuse_file(target: Path) -> None:
    """Refuse a directory of results that cannot be one, before anything is computed for it."""
    nearest = next(path for path in (target, *target.absolute().parents) if path.exists() or path.is_symlink())
    if not nearest.is_dir():
        raise click.UsageError(f"{nearest} is a file, and results are a directory; name another one with -o")
