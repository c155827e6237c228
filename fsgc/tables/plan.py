"""The plan: which stages of `tables/dvc.yaml` the cells need, and what each of them reads.

The stages of a DVC loop all name the same dependencies, so what differs between cells is in the items of the loop:
which split, which episodes, which prepared store, which model. What several cells share is one item. The plan is
written to `tables/plan.yaml` and committed; it follows from `tables/params.yaml` and the registry alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fsgc.errors import SettingsError
from fsgc.experiment import Experiment
from fsgc.files import replacing
from fsgc.methods.registry import method_entry
from fsgc.recipes import as_json, recipe
from fsgc.settings import PARAMS_FILE, load_params
from fsgc.tables.grid import TABLES, CellKey, Grid
from fsgc.workspace import model_name, named

PLAN_FILE = TABLES / "plan.yaml"
NOTHING = "recipes/nothing.json"  # stands where a method wants nothing prepared
_HEAD = "# Written by `fsgc tables plan` from tables/params.yaml; do not edit.\n"


@dataclass(frozen=True)
class Work:
    """What computes one cell.

    Attributes:
        cell: the cell.
        experiment: its settings.
        model: the name of its model, which other cells may share.
        prepared: the name of its prepared store; empty if the method wants none.
    """

    cell: CellKey
    experiment: Experiment
    model: str
    prepared: str

    @property
    def split(self) -> str:
        """The name of its split."""
        return f"{self.cell.dataset}-seed{self.cell.seed}"

    @property
    def episodes(self) -> str:
        """The name of its episodes."""
        return f"{self.cell.dataset}-{self.cell.shots}shot-seed{self.cell.seed}"

    def item(self) -> dict[str, Any]:
        """What a stage of the loop needs to know."""
        cell = self.cell
        return {
            "dataset": cell.dataset,
            "shots": cell.shots,
            "model": cell.model,
            "seed": cell.seed,
            "features": cell.features,
            "split": self.split,
            "episodes": self.episodes,
            "prepared": f"data/prepared/{self.prepared}" if self.prepared else NOTHING,
            "trained": self.model,
        }


def work_of(cell: CellKey, params: Mapping[str, Any]) -> Work:
    """What computes a cell under the given settings."""
    experiment = cell.experiment(params)
    method = method_entry(cell.model).method()
    prepared = named(experiment.keys, method.preparation.scope) if method.preparation else ""
    return Work(cell, experiment, model_name(experiment.keys, method.trained_for), prepared)


def plan_of(works: list[Work]) -> dict[str, Any]:
    """The items of every loop, by name."""
    plan: dict[str, Any] = {"datasets": [], "splits": {}, "episodes": {}, "prepared": {}, "models": {}, "cells": {}}
    for work in works:
        item, cell = work.item(), work.cell
        if cell.dataset not in plan["datasets"]:
            plan["datasets"].append(cell.dataset)
        plan["splits"][work.split] = {name: item[name] for name in ("dataset", "seed")}
        plan["episodes"][work.episodes] = {name: item[name] for name in ("dataset", "shots", "seed", "split")}
        if work.prepared:
            plan["prepared"].setdefault(
                work.prepared, {name: item[name] for name in ("dataset", "shots", "model", "seed")}
            )
        plan["models"].setdefault(work.model, item)
        plan["cells"][cell.name] = item
    return plan


def load_works(project: Path = Path()) -> list[Work]:
    """All cells of the grid with what computes each."""
    params = load_params(project / PARAMS_FILE)
    return [work_of(cell, params) for cell in Grid.load(project).cells]


def write_plan(works: list[Work], project: Path = Path()) -> bool:
    """Write `tables/plan.yaml`; whether that changed it."""
    path, text = project / PLAN_FILE, _HEAD + yaml.safe_dump(plan_of(works), sort_keys=False)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return True


def write_recipes(works: list[Work], project: Path = Path()) -> int:
    """Write the recipe of every stage below `tables/recipes`, and return how many there are.

    The plan must be that of the lists: with an old one, a stage would find no recipe.
    """
    plan = yaml.safe_load((project / PLAN_FILE).read_text(encoding="utf-8"))
    if plan != plan_of(works):
        raise SettingsError(f"{PLAN_FILE} is not the plan of tables/params.yaml; write it anew with 'fsgc tables plan'")
    recipes: dict[str, str] = {"nothing": as_json({"nothing": True})}
    for work in works:
        for step, name in stages_of(work).items():
            if f"{step}-{name}" not in recipes:
                recipes[f"{step}-{name}"] = as_json(recipe(step, work.experiment))
    with replacing(project / TABLES / "recipes") as partial:
        partial.mkdir()
        for name, text in recipes.items():
            (partial / f"{name}.json").write_text(text, encoding="utf-8")
    return len(recipes) - 1


def stages_of(work: Work) -> dict[str, str]:
    """Step -> the name of its item, for every stage that a cell needs."""
    cell = work.cell
    stages = {"download": cell.dataset, "graphs": cell.dataset, "split": work.split, "episodes": work.episodes}
    if work.prepared:
        stages["prepare"] = work.prepared
    return stages | {"train": work.model, "evaluate": cell.name}
