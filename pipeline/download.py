"""Stage `download`: the raw files of a dataset, verified."""

from __future__ import annotations

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.download import download
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, stage


@click.command()
@dataset_option
@data_option
@stage
def main(dataset: str, workspace: Workspace) -> None:
    """Obtain the raw files of a dataset from FSGC_MIRROR or their public addresses."""
    download(catalog_entry(dataset), workspace.raw(dataset), workspace.partial(dataset))
    click.echo(f"raw files in {workspace.raw(dataset)}")


if __name__ == "__main__":
    main()
