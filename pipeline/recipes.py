"""Stage `recipes` of the tables: what every step depends on, in a file each."""

from __future__ import annotations

from pathlib import Path

import click

from fsgc.tables.grid import Grid
from fsgc.tables.recipes import write_recipes
from pipeline.stage import stage


@click.command()
@click.option("--out", default="tables/recipes", show_default=True, type=click.Path(path_type=Path))
@stage
def main(out: Path) -> None:
    """Check the lists and settings of all cells, and write the recipe of every step."""
    grid = Grid.load()
    count = write_recipes(grid, Path(), out)
    click.echo(f"{count} recipes for {len(grid.cells())} cells in {out}")


if __name__ == "__main__":
    main()
