"""Stage `kernel`: the Gram matrix of a graph kernel over the novel-class graphs; only kernel methods need it."""

from __future__ import annotations

import time

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.methods.kernel.gram import compute_gram, save_empty
from fsgc.methods.kernel.settings import KERNELS, KernelSettings
from fsgc.settings import load_params
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, model_option, stage


@click.command()
@dataset_option
@model_option
@data_option
@stage
def main(dataset: str, model: str, workspace: Workspace) -> None:
    """Compute the Gram matrix of a kernel; for any other model leave an empty store."""
    path = workspace.gram(dataset, model)
    novel, settings = catalog_entry(dataset).novel, KernelSettings.from_params(load_params(), dataset)
    if model not in KERNELS:
        save_empty(path, model)
        click.echo(f"{model} needs no Gram matrix")
        return
    start = time.perf_counter()
    gram = compute_gram(GraphStore.load(workspace.graphs(dataset)), novel, model, settings)
    gram.save(path)
    click.echo(f"{model} between {len(gram.graphs)} graphs in {time.perf_counter() - start:.1f} s, in {path}")


if __name__ == "__main__":
    main()
