"""Printing tables that stay readable in a terminal, a pipe and a log."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

_WIDE = 200  # in a pipe nothing needs to fit a screen


def print_table(title: str, columns: list[str], rows: list[list[str]], right: tuple[str, ...] = ()) -> None:
    """Print a table; the columns named in `right` are set flush right."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else _WIDE
    # What is printed may come from a file, such as a molecule's name with [nH] in it: none of it is markup.
    Console(width=width, highlight=False, soft_wrap=False, markup=False, emoji=False).print(table)
