"""Stage `evaluate`: the trained method on the stored test episodes."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.evaluation.results import RECORD, headline, write_json
from fsgc.evaluation.summary import result_line
from fsgc.experiment import Experiment
from fsgc.recipes import recorded
from fsgc.steps import evaluate
from fsgc.workspace import Workspace
from pipeline.stage import stage


@click.option(
    "--model-dir", default="results", show_default=True, type=click.Path(path_type=Path), help="Of the model."
)
@click.option("--out", default="results", show_default=True, type=click.Path(path_type=Path), help="Where to write.")
@click.option("--record-name", default=RECORD, show_default=True, help="The file with everything known of the result.")
@click.option("--metrics", type=click.Path(path_type=Path), help="Also write the headline figures to this file.")
@stage
def main(
    workspace: Workspace, experiment: Experiment, model_dir: Path, out: Path, record_name: str, metrics: Path | None
) -> None:
    """Run the step `evaluate`, the only one that looks at novel classes."""
    record = evaluate.run(workspace, experiment, model_dir / "model.pt", out, recorded(experiment), record_name)
    if metrics is not None:
        write_json(metrics, headline(record))
    click.echo(result_line(record))


if __name__ == "__main__":
    main()
