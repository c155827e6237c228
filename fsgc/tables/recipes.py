"""What a step of the tables depends on, as one small file each.

DVC runs a stage of a matrix again when its dependencies change, but all items of a matrix name the same ones: with the
code of every method among them, a change to one would recompute the rows of all. So a quick stage writes the recipe of
each step first: digests of the code it loads, and the settings it reads. A step depends on its own recipe.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.files import replacing, sha256_of
from fsgc.methods.registry import method_entry
from fsgc.settings import load_params
from fsgc.tables.grid import Grid
from fsgc.tables.imports import needed
from fsgc.training.settings import Experiment

SHARED: Mapping[str, tuple[str, ...]] = {  # stage -> the sections of params.yaml that it reads
    "download": (),
    "graphs": (),
    "split": ("split",),
    "episodes": ("episodes",),
    "kernel": ("kernel",),
    "superclasses": ("superclasses",),
}
WORDS = ("title", "about", "citation", "terms")  # of the catalog: for readers, not for the pipeline
OF_METHODS = ("train", "evaluate")


def write_recipes(grid: Grid, root: Path, out: Path) -> int:
    """Write the recipe of every step below the directory `out`, and return how many there are.

    Args:
        grid: the cells.
        root: the project: `params.yaml` and the code.
        out: the directory to write, whole or not at all.
    """
    with replacing(out) as partial:
        partial.mkdir()
        recipes = dict(_recipes(grid, root))
        for name, recipe in recipes.items():
            text = json.dumps(recipe, indent=1, sort_keys=True) + "\n"
            (partial / f"{name}.json").write_text(text, encoding="utf-8")
    return len(recipes)


def _recipes(grid: Grid, root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    params = load_params(root / "params.yaml")
    for dataset in grid.datasets:
        for stage in SHARED:
            yield f"{stage}-{dataset}", _of_stage(stage, params, dataset, root)
        for model in grid.models:
            for stage in OF_METHODS:
                yield f"{stage}-{dataset}-{model}", _of_method(stage, params, dataset, model, root)


def _of_stage(stage: str, params: Mapping[str, Any], dataset: str, root: Path) -> dict[str, Any]:
    """The code that a stage loads, the settings it reads, and the dataset's entry in the catalog."""
    return {
        "code": _digests(needed([f"pipeline.{stage}"], root), root),
        "settings": {name: params.get(name) for name in SHARED[stage]},
        "dataset": {key: value for key, value in asdict(catalog_entry(dataset)).items() if key not in WORDS},
    }


def _of_method(stage: str, params: Mapping[str, Any], dataset: str, model: str, root: Path) -> dict[str, Any]:
    """The code that training or testing one method loads, and its settings for one dataset."""
    entry = method_entry(model)
    return {
        "code": _digests(needed([f"pipeline.{stage}", entry.module], root), root),
        "settings": asdict(Experiment.from_params(params, model, dataset)),
        "method": [entry.path, dict(entry.options)],
        "features": catalog_entry(dataset).features,
    }


def _digests(paths: list[str], root: Path) -> dict[str, str]:
    # A new method adds a line to the registry; what it says of this one is in the recipe itself.
    return {path: sha256_of(root / path) for path in paths if path != "fsgc/methods/registry.py"}
