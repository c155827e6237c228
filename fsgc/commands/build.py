"""`fsgc build`: raw files, graphs, split and episodes of datasets, without DVC."""

from __future__ import annotations

import click

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.catalog import load_catalog
from fsgc.errors import SettingsError


@click.command()
@click.argument("keys", nargs=-1, metavar="KEY...")
@click.option("--all", "everything", is_flag=True, help="All datasets of the benchmark, without variants.")
@click.option("-k", "--shots", multiple=True, type=int, default=(5,), show_default=True, help="K; may be repeated.")
@click.option("--seed", default=0, show_default=True, help="Of the split and the training episodes.")
def build(keys: tuple[str, ...], everything: bool, shots: tuple[int, ...], seed: int) -> None:
    """Download the datasets KEY..., store their graphs and draw their episodes; what is stored already is kept.

    Raw files come from their public addresses, or from a mirror: set FSGC_MIRROR to a directory or an address that has
    them. The stores go below data/ of the project, or below FSGC_DATA.

    \b
    Example:
      fsgc build coil_del enzymes -k 5 -k 10
    """  # noqa: D301  (click reads the \b as "keep these lines")
    # Imported here: PyTorch takes seconds to load, and `fsgc --help` should not wait for it.
    from fsgc.api import load_episodes

    benchmark = (key for key, entry in load_catalog().items() if not entry.variant_of and entry.reader != "own")
    names = list(benchmark if everything else keys)
    if not names:
        raise SettingsError("name at least one dataset, or --all; 'fsgc datasets' lists them")
    for key in names:
        catalog_entry(key)  # a misspelt name is refused before any work
    for key in names:
        for count in shots:
            episodes = load_episodes(key, count, seed)
            click.echo(f"{key}: {len(episodes.graphs)} graphs, {episodes.way}-way {count}-shot: {episodes.store.path}")
