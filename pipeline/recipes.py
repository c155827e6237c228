"""Stage `recipes`: the whole experiment checked, and what every step of it depends on, in a file each."""

from __future__ import annotations

import click

from fsgc.experiment import Experiment
from fsgc.files import replacing
from fsgc.methods.registry import method_entry
from fsgc.params_check import check_params
from fsgc.recipes import STEPS, as_json, recipe
from fsgc.workspace import Workspace
from pipeline.stage import DATA, stage


@stage
def main(_workspace: Workspace, experiment: Experiment) -> None:
    """Check model, dataset, shots and all keys of params.yaml before any other stage runs."""
    check_params(experiment.params, method_entry(experiment.keys.model))
    with replacing(DATA / "recipes") as partial:
        partial.mkdir()
        for step in STEPS:
            (partial / f"{step}.json").write_text(as_json(recipe(step, experiment)), encoding="utf-8")
    keys = experiment.keys
    click.echo(f"{keys.model} on {keys.dataset}, {keys.shots}-shot, seed {keys.seed}: settings checked")


if __name__ == "__main__":
    main()
