"""Stage `recipes` of the tables: all cells checked, and what every stage depends on, in a file each."""

from __future__ import annotations

import click

from fsgc.errors import FsgcError
from fsgc.params_check import check_params
from fsgc.settings import load_params
from fsgc.tables.plan import load_works, write_recipes


@click.command()
def main() -> None:
    """Check the lists and settings of all cells, and write the recipe of every stage."""
    try:
        check_params(load_params())
        works = load_works()
        count = write_recipes(works)
    except FsgcError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{count} recipes for {len(works)} cells")


if __name__ == "__main__":
    main()
