"""`fsgc tables run`, `plan` and `status`: compute the cells of the tables, several at once."""

from __future__ import annotations

import fnmatch
import signal
from typing import TYPE_CHECKING

import click

from fsgc.commands.console import print_table

if TYPE_CHECKING:
    from fsgc.tables.grid import CellKey
    from fsgc.tables.plan import Work
    from fsgc.tables.runner import Outcome, Runner

SHOWN = 4  # cells that are named as running; a cluster runs hundreds

only_option = click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only cells whose names fit, such as 'triangles-5shot-*'.",
)


def chosen_works(only: tuple[str, ...]) -> list[Work]:
    """The cells of the grid whose names fit a pattern, or all."""
    from fsgc.tables.plan import load_works

    works = load_works()
    fitting = [work for work in works if not only or any(fnmatch.fnmatchcase(work.cell.name, each) for each in only)]
    if not fitting:
        raise click.ClickException(f"no cell of tables/params.yaml fits {' or '.join(only)}; 'fsgc tables run --list'")
    return fitting


@click.command()
def plan() -> None:
    """Write tables/plan.yaml, the stages that the cells of tables/params.yaml need.

    \b
    Example:
      fsgc tables plan && cd tables && dvc repro evaluate@triangles-5shot-pn-seed0
    """  # noqa: D301
    from fsgc.tables.plan import PLAN_FILE, load_works, write_plan

    works = load_works()
    changed = write_plan(works)
    click.echo(f"{len(works)} cells; {PLAN_FILE} {'written' if changed else 'is up to date'}")


@click.command()
@only_option
@click.option("-v", "--verbose", is_flag=True, help="A line for every cell, also for those that are current.")
def status(only: tuple[str, ...], verbose: bool) -> None:
    """Tell which cells are current, stale (and why), missing or failed, and how long the rest will take.

    \b
    Example:
      fsgc tables status --only 'triangles-*'
    """  # noqa: D301
    from collections import Counter

    from fsgc.harmless import EDITS
    from fsgc.tables.status import State, minutes_left, recorded_times, status_of

    works = chosen_works(only)
    found = [status_of(work) for work in works]
    shown = [each for each in found if verbose or each.state not in (State.CURRENT, State.MISSING)]
    if shown:
        rows = [[each.cell.name, each.state, "; ".join(each.reasons)] for each in shown]
        print_table("Cells", ["cell", "state", "why"], rows)
    counts = Counter(each.state for each in found)
    click.echo(", ".join(f"{counts[state]} {state}" for state in State if counts[state]))
    models = {work.cell: work.model for work in works}
    left = minutes_left([*found, *recorded_times(models.keys())], models)
    if left:
        click.echo(f"about {left:.0f} minutes of one core are left, by what the cells most like them took")
    reasons = dict.fromkeys(edit.why for edit in EDITS)
    for why in reasons:
        modules = ", ".join(edit.module for edit in EDITS if edit.why == why)
        click.echo(f"counted as before an edit: {modules}: {why}", err=True)


@click.command()
@click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1), help="Models at once.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="Threads of each.")
@only_option
@click.option("--list", "list_only", is_flag=True, help="Print the names of the cells and do nothing.")
@click.option("--ray", "address", is_flag=False, flag_value="auto", metavar="[ADDRESS]", help="On a Ray cluster.")
@click.option("--gpus", default=0.0, show_default=True, type=click.FloatRange(0), help="GPUs of each task, with --ray.")
@click.option("--retries", default=3, show_default=True, type=click.IntRange(0), help="If a node dies, with --ray.")
@click.option("--shared", default="", metavar="DIR", help="A directory of all machines, for checkpoints, with --ray.")
def run(
    jobs: int, threads: int, only: tuple[str, ...], list_only: bool, address: str | None, gpus: float, retries: int,
    shared: str,
) -> None:  # fmt: skip
    """Compute the cells that tables/params.yaml lists and that are not current.

    What is done is never done again; a changed method recomputes its own rows. A cell that fails leaves its reason in
    tables/failed, stops no other and is tried again by the next run. A run that was killed resumes where it was. The
    cells of the first --only come first, then those of the second, …

    \b
    Example:
      fsgc tables run -j 2 --only 'enzymes-*'
      fsgc tables run --ray auto --threads 2
    """  # noqa: D301
    from fsgc.settings import load_params
    from fsgc.tables.lock import unrecorded
    from fsgc.tables.plan import load_works, write_plan
    from fsgc.tables.runner import Runner, starting_order
    from fsgc.tables.status import State, expected_seconds, recorded_times, status_of

    works = chosen_works(only)
    if list_only:
        click.echo("\n".join(work.cell.name for work in works))
        return
    statuses = [status_of(work) for work in works]
    states = {each.cell: each.state for each in statuses}
    missing = (work for work in works if states[work.cell] is not State.CURRENT)
    todo = starting_order(missing, expected_seconds([*statuses, *recorded_times(states.keys())]), only)
    forgotten = unrecorded(work for work in works if states[work.cell] is State.CURRENT)
    click.echo(f"{len(works)} cells, {len(works) - len(todo)} of them current", err=True)
    if not todo and not forgotten:
        return
    # Asked to end, it ends as if interrupted: with it end the processes it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    write_plan(load_works())
    if address is None:
        runner = Runner(jobs, threads)
    else:
        from fsgc.cluster.runner import RayRunner

        runner = RayRunner(load_params(), address, threads, gpus, retries, shared)
    runner.prepare([*todo, *forgotten])
    if forgotten:
        click.echo(f"{len(forgotten)} cells were computed by a run that was killed; recorded in DVC now", err=True)
        runner.record(forgotten)
    failures = _run_with_bar(runner, todo)
    if failures:
        raise click.ClickException(f"{failures} of {len(todo)} cells failed; the next run tries them again")


def _run_with_bar(runner: Runner, todo: list[Work]) -> int:
    """Compute cells, showing how far it has come; how many failed."""
    from tqdm import tqdm

    running: list[str] = []
    failures: list[Outcome] = []
    with tqdm(total=len(todo), unit="cell", disable=None, dynamic_ncols=True) as bar:

        def show() -> None:
            others = f" and {len(running) - SHOWN} more" if len(running) > SHOWN else ""
            bar.set_postfix_str(f"{len(failures)} failed, running {', '.join(running[:SHOWN]) or 'none'}{others}")

        def started(cell: CellKey) -> None:
            running.append(cell.name)
            show()

        def ended(outcome: Outcome) -> None:
            running.remove(outcome.cell.name)
            bar.update()
            if outcome.reason is not None:
                failures.append(outcome)
            bar.write(outcome.line())
            show()

        runner.run(todo, started, ended)
    return len(failures)
