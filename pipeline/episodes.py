"""Stage `episodes`: all training, validation and test episodes, drawn once."""

from __future__ import annotations

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, Split
from fsgc.episodes.store import EpisodeSettings, EpisodeStore, draw_episodes
from fsgc.settings import section
from fsgc.workspace import Workspace
from pipeline.stage import data_option, dataset_option, seed_option, shots_option, stage


@click.command()
@dataset_option
@shots_option
@seed_option
@data_option
@stage
def main(dataset: str, shots: int, seed: int, workspace: Workspace) -> None:
    """Draw the episodes of a dataset and store them as graph indices."""
    settings = section("episodes", EpisodeSettings)
    graphs = GraphStore.load(workspace.graphs(dataset))
    split = Split.load(workspace.split(dataset, seed))
    path = workspace.episodes(dataset, shots, seed)
    draw_episodes(path, graphs, split, catalog_entry(dataset).way, shots, seed, settings)
    store = EpisodeStore.open(path)
    queries = ", ".join(f"{part} {store.queries(part)}" for part in PARTS)
    click.echo(f"{store.way}-way {store.shots}-shot episodes in {path}; queries per class: {queries}")


if __name__ == "__main__":
    main()
