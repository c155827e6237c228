"""Stage `graphs`: raw files to one checked graph store."""

from __future__ import annotations

import click

from fsgc.data.build import build_graphs
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, stage


@click.command()
@dataset_option
@data_option
@stage
def main(dataset: str, workspace: Workspace) -> None:
    """Read the raw files of a dataset and store its graphs."""
    graphs = build_graphs(catalog_entry(dataset), workspace.raw(dataset))
    graphs.save(workspace.graphs(dataset))
    click.echo(f"{len(graphs)} graphs of {len(graphs.classes)} classes in {workspace.graphs(dataset)}")


if __name__ == "__main__":
    main()
