"""Where tables come from: protocol, seeds, versions, commit; and the commands that make a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from fsgc.data.catalog import load_catalog
from fsgc.experiment import OWN_FEATURES
from fsgc.provenance import commit
from fsgc.report.results import Result
from fsgc.tables.grid import CellKey

RUN_ALL = "fsgc tables run"
PULL = "Run 'dvc pull' in tables/ if a remote has them, or compute the cells again."


def dataset_title(key: str) -> str:
    """A dataset's name in tables; one that has left the catalog keeps its key."""
    entry = load_catalog().get(key)
    return entry.title if entry else key


def cell_command(key: CellKey) -> str:
    """What computes a cell, and everything it needs, in the pipeline."""
    return f"fsgc tables run --only {key.name}"


def plain_commands(key: CellKey) -> str:
    """What computes a cell without DVC."""
    inputs = "" if key.features == OWN_FEATURES else f" --features {key.features}"
    train = f"fsgc train {key.model} {key.dataset} -k {key.shots} --seed {key.seed}{inputs} -o {key.name}.pt"
    return f"{train} && fsgc evaluate {key.name}.pt"


def protocol_notes(found: Sequence[Result]) -> list[str]:
    """The protocol and the Q used for the accuracies of a table."""
    if not found:
        return []
    counts = sorted({result.protocol.episodes for result in found})
    classes = {dataset_title(result.dataset): result.protocol.way for result in found}
    queries: dict[str, dict[int, set[int]]] = {}
    for result in found:
        queries.setdefault(dataset_title(result.dataset), {}).setdefault(result.shots, set()).add(
            result.protocol.queries
        )
    used = "; ".join(
        f"{title} " + ", ".join(f"{'/'.join(map(str, sorted(q)))} ({k}-shot)" for k, q in sorted(by_shots.items()))
        for title, by_shots in queries.items()
    )
    return [
        f"Protocol: {' or '.join(map(str, counts))} stored test episodes on the novel classes, "
        "the same for every model and seed; " + ", ".join(f"{title} {way}-way" for title, way in classes.items()) + ".",
        f"Q, test queries per class: {used}.",
    ]


def seed_notes(counts: Mapping[str, Sequence[int]]) -> list[str]:
    """How many training seeds the accuracies of each row are means over; rows without accuracies are left out."""
    rows: dict[tuple[int, int], list[str]] = {}
    for title, seeds in counts.items():
        if seeds:
            rows.setdefault((min(seeds), max(seeds)), []).append(title)
    if not rows:
        return []
    if set(rows) == {(1, 1)}:
        return ["Every accuracy is of one training seed."]
    parts = [
        f"{least if least == most else f'{least} to {most}'} ({'; '.join(titles)})"  # titles may have commas
        for (least, most), titles in sorted(rows.items(), key=lambda item: (-item[0][1], -item[0][0]))
    ]
    return [f"Number of training seeds averaged: {', '.join(parts)}."]


def origin_notes(found: Sequence[Result]) -> list[str]:
    """The commits and threads the cells were computed with, where they say, and what wrote the tables."""
    metrics = [cell.metrics for result in found for cell in result.cells]
    commits = sorted({m.commit for m in metrics if m.commit})
    threads = sorted({m.threads for m in metrics if m.threads})
    notes = []
    if commits:
        counted = commit_in_words(commits[0]) if len(commits) == 1 else f"{len(commits)} commits"
        by = f", with {' or '.join(map(str, threads))} thread{'s' * (threads != [1])}" if threads else ""
        notes.append(f"Cells computed at {counted}{by}.")
    return [*notes, f"Written by fsgc {version('fsgc')}, {commit_in_words(commit())}."]


def commit_in_words(recorded: str) -> str:
    """A recorded commit, which ends in `+` if files differed from it."""
    if not recorded:
        return "unknown commit"
    name = recorded.removesuffix("+")
    return f"commit {name}, with uncommitted changes" if name != recorded else f"commit {name}"
