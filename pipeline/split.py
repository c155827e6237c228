"""Stage `split`: which classes and graphs serve training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, make_split
from fsgc.settings import section
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, seed_option, stage


@dataclass(frozen=True)
class SplitSettings:
    """The section `split` of `params.yaml`."""

    held_out_share: float


@click.command()
@dataset_option
@seed_option
@data_option
@stage
def main(dataset: str, seed: int, workspace: Workspace) -> None:
    """Split a dataset as table 5 of the paper does."""
    settings = section("split", SplitSettings)
    y = GraphStore.load(workspace.graphs(dataset)).y
    split = make_split(catalog_entry(dataset), y, seed, settings.held_out_share)
    split.save(workspace.split(dataset, seed))
    for part in PARTS:
        pools = split.pools(y, part)
        click.echo(f"{part}: {len(pools)} classes, {sum(map(len, pools.values()))} graphs")


if __name__ == "__main__":
    main()
