"""Where tables come from: protocol, seeds, versions, commit; and the commands that make a cell."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fsgc.data.catalog import load_catalog
from fsgc.report.scores import Score
from fsgc.tables.grid import CellKey

PACKAGES = ("fsgc", "torch", "torch-geometric", "pytorch-lightning", "numpy", "scipy", "scikit-learn", "polars")
RUN_ALL = "fsgc tables run"
PIPELINE = "tables/dvc.yaml"


def dataset_title(key: str) -> str:
    """A dataset's name in tables; one that has left the catalog keeps its key."""
    entry = load_catalog().get(key)
    return entry.title if entry else key


def cell_command(key: CellKey) -> str:
    """What computes a cell, and everything it needs, in the pipeline."""
    return f"dvc repro {PIPELINE}:evaluate@{key.dataset}-{key.shots}-{key.model}-{key.seed}"


def plain_commands(key: CellKey) -> str:
    """What computes a cell without DVC."""
    train = f"fsgc train {key.model} {key.dataset} -k {key.shots} --seed {key.seed} -o {key.name}.pt"
    return f"{train} && fsgc evaluate {key.name}.pt"


def protocol_notes(scores: Sequence[Score]) -> list[str]:
    """The protocol, the Q used and the seeds of the figures of a table."""
    if not scores:
        return []
    counts = sorted({score.protocol.episodes for score in scores})
    classes = {dataset_title(score.dataset): score.protocol.way for score in scores}
    queries: dict[str, dict[int, set[int]]] = {}
    for score in scores:
        queries.setdefault(dataset_title(score.dataset), {}).setdefault(score.shots, set()).add(score.protocol.queries)
    used = "; ".join(
        f"{title} " + ", ".join(f"{'/'.join(map(str, sorted(q)))} ({k}-shot)" for k, q in sorted(by_shots.items()))
        for title, by_shots in queries.items()
    )
    seeds = sorted({seed for score in scores for seed in score.seeds})
    several = [score for score in scores if len(score.seeds) > 1]
    return [
        f"Protocol: {' or '.join(map(str, counts))} stored test episodes on the novel classes, "
        "the same for every model and seed; " + ", ".join(f"{title} {way}-way" for title, way in classes.items()) + ".",
        f"Q, test queries per class: {used}.",
        f"Training seeds: {', '.join(map(str, seeds))}"
        + (
            f"; {len(several)} of {len(scores)} figures are means over several seeds."
            if several
            else "; every figure is of one seed, and its interval tells nothing of other seeds."
        ),
    ]


def origin_notes(scores: Sequence[Score], directory: Path | None = None) -> list[str]:
    """Versions and commit: of the cells where their metrics tell, and of what wrote the tables."""
    notes = []
    told = {
        ", ".join(f"{name} {value}" for name, value in versions.items())
        for score in scores
        for cell in score.cells
        if isinstance(versions := cell.metrics.get("versions"), dict)
    }
    if told:
        notes.append(f"Computed with {'; '.join(sorted(told))}.")
    return [*notes, f"Written with {current_versions()}; commit {current_commit(directory)}."]


def current_versions() -> str:
    """Python and the packages that figures depend on, as installed here."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def current_commit(directory: Path | None = None) -> str:
    """The commit of the project the tables are written in, and whether tracked files have changed since."""
    git = shutil.which("git")
    if git is None:
        return "unknown (no git)"

    def run(*arguments: str) -> str | None:
        done = subprocess.run([git, *arguments], cwd=directory, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip() if done.returncode == 0 else None

    commit = run("rev-parse", "--short=12", "HEAD")
    if commit is None:
        return "unknown (no git repository)"
    return f"{commit}, with uncommitted changes" if run("status", "--porcelain", "--untracked-files=no") else commit
