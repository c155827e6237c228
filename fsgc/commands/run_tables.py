"""`fsgc tables run`: compute the cells of the tables, several at once."""

from __future__ import annotations

import fnmatch
import signal
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fsgc.tables.grid import CellKey
    from fsgc.tables.runner import Outcome


@click.command()
@click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1), help="Cells at once.")
@click.option("--threads", type=click.IntRange(1), help="Threads of each; default: the cores, shared equally.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Cells whose names fit, such as 'triangles-5shot-*'.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the cells and do nothing.")
def run(jobs: int, threads: int | None, only: tuple[str, ...], list_only: bool) -> None:
    """Compute the cells that tables/params.yaml lists and that are not computed yet.

    Every cell is a stage of tables/dvc.yaml: what is done is never done again, a changed method recomputes its own row.
    A cell that fails leaves its reason in tables/cells, stops no other and is tried again by the next run; a run that
    was killed goes on where it stood.
    """
    from tqdm import tqdm

    from fsgc.tables.grid import Grid
    from fsgc.tables.runner import Runner

    cells = [
        cell
        for cell in Grid.load().cells()
        if not only or any(fnmatch.fnmatchcase(cell.name, pattern) for pattern in only)
    ]
    if not cells:
        raise click.ClickException(f"no cell of tables/params.yaml fits {' or '.join(only)}; 'fsgc tables run --list'")
    if list_only:
        click.echo("\n".join(cell.name for cell in cells))
        return
    # Asked to end, it ends as if interrupted: with it end the processes it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runner = Runner(jobs, threads)
    runner.prepare(cells)
    running: list[str] = []
    failures: list[Outcome] = []
    with tqdm(total=len(cells), unit="cell", disable=None, dynamic_ncols=True) as bar:

        def show() -> None:
            bar.set_postfix_str(f"{len(failures)} failed, running {', '.join(running) or 'none'}")

        def started(cell: CellKey) -> None:
            running.append(cell.name)
            show()

        def ended(outcome: Outcome) -> None:
            running.remove(outcome.cell.name)
            bar.update()
            if outcome.reason is not None:
                failures.append(outcome)
            left = len(cells) - bar.n - len(running) if not bar.disable else ""
            bar.write(f"{outcome.line()}{f' ({left} left)' if left else ''}")
            show()

        runner.run(cells, started, ended)
    if failures:
        raise click.ClickException(f"{len(failures)} of {len(cells)} cells failed; the next run tries them again")
