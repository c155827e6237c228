"""`fsgc tables check`: whether recorded cells come out the same on this machine."""

from __future__ import annotations

import click

from fsgc.commands.console import print_table
from fsgc.commands.run_tables import chosen_works, only_option


@click.command()
@only_option
@click.option("--most", default=5, show_default=True, type=click.IntRange(1), help="At most so many cells.")
def check(only: tuple[str, ...], most: int) -> None:
    """Compute recorded cells again, from the raw files on, and compare them with what is recorded.

    Compared are which queries are answered correctly, and how often each class is taken for each other one. Nothing
    that is stored is used but raw files, and nothing is changed. On the machine that computed a cell, all of that is
    the same; on another, sums in another order may turn a few answers.

    \b
    Example:
      fsgc tables check --only 'enzymes-5shot-pn-seed0'
    """  # noqa: D301
    from tqdm import tqdm

    from fsgc.tables.check import check as check_cells
    from fsgc.tables.status import State, status_of

    works = [work for work in chosen_works(only) if status_of(work).state is State.CURRENT]
    if not works:
        raise click.ClickException("none of these cells is current; 'fsgc tables status' tells which are")
    if len(works) > most:
        click.echo(f"{len(works)} cells are recorded, the first {most} of them are computed again (--most)", err=True)
    rows, differing = [], 0
    for each in tqdm(check_cells(works[:most]), total=len(works[:most]), unit="cell", disable=None):
        if each.found is None:
            verdict, now = each.reason, "—"
        else:
            now = f"{100 * each.found:.2f}"
            changed = f"{each.changed} of {each.queries} queries differ" if each.changed else "other wrong answers"
            verdict = "the same" if each.same else changed
        differing += not each.same
        rows.append([each.cell.name, f"{100 * each.recorded:.2f}", now, verdict])
    print_table("Cells computed again", ["cell", "recorded", "now", "answers"], rows, ("recorded", "now"))
    if differing:
        raise click.ClickException(f"{differing} of {len(rows)} cells did not come out the same")
