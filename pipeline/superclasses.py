"""Stage `superclasses`: base classes clustered by the spectra of their graphs; only GSM needs it."""

from __future__ import annotations

import click

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.methods.gsm.clustering import find_superclasses
from fsgc.methods.gsm.superclass_settings import SuperClassSettings
from fsgc.methods.gsm.superclasses import save_empty
from fsgc.settings import section
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, model_option, seed_option, stage


@click.command()
@dataset_option
@model_option
@seed_option
@data_option
@stage
def main(dataset: str, model: str, seed: int, workspace: Workspace) -> None:
    """Cluster the base classes of a dataset for GSM; for any other model leave an empty store."""
    settings = section("superclasses", SuperClassSettings)
    path = workspace.superclasses(dataset, model, seed)
    if model != "gsm":
        save_empty(path)
        click.echo(f"{model} needs no super-classes")
        return
    graphs, split = GraphStore.load(workspace.graphs(dataset)), Split.load(workspace.split(dataset, seed))
    found = find_superclasses(graphs, split, settings.order)
    found.save(path)
    click.echo(f"{len(found.classes)} base classes clustered, in {path}")


if __name__ == "__main__":
    main()
