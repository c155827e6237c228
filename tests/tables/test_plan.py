from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fsgc.errors import SettingsError
from fsgc.recipes import as_json, recipe
from fsgc.tables.grid import CellKey
from fsgc.tables.plan import PLAN_FILE, Work, load_works, plan_of, stages_of, work_of, write_plan, write_recipes

ROOT = Path(__file__).parents[2]
LISTS = {
    "datasets": ["triangles_gen", "enzymes"],
    "shots": [5, 10],
    "models": ["pn", "gin", "wl", "gsm"],
    "seeds": [0, 1],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "params.yaml").write_text("preset: paper\n")
    (tmp_path / "tables" / "params.yaml").write_text(yaml.safe_dump({"paper": LISTS}))
    return tmp_path


def test_what_cells_share_is_one_item(project: Path) -> None:
    plan = plan_of(load_works(project))
    assert plan["datasets"] == ["triangles_gen", "enzymes"]
    counts = {name: len(items) for name, items in plan.items()}
    assert counts == {
        "datasets": 2,
        "splits": 2 * 2,
        "episodes": 2 * 2 * 2,
        "prepared": 2 * (1 + 2),  # wl once, gsm for each seed
        "models": 2 * (2 * 2 + 2 + 1 + 2),  # pn for shots and seeds, gin and gsm for seeds, wl once
        "cells": 2 * 2 * (2 + 2 + 1 + 2),
    }
    assert {name for name in plan["models"] if name.startswith("enzymes-")} == {
        *(f"enzymes-{shots}shot-pn-seed{seed}" for shots in (5, 10) for seed in (0, 1)),
        *(f"enzymes-{model}-seed{seed}" for model in ("gin", "gsm") for seed in (0, 1)),
        "enzymes-wl",
    }
    for shots in (5, 10):
        assert plan["cells"][f"enzymes-{shots}shot-gin-seed1"]["trained"] == "enzymes-gin-seed1"


def test_other_features_are_another_model_of_the_same_episodes() -> None:
    plain, other = (work_of(CellKey("enzymes", 5, "gin", 0, features), {}) for features in ("dataset", "degree"))
    assert (plain.model, other.model) == ("enzymes-gin-seed0", "enzymes-gin-seed0-degree")
    assert plain.episodes == other.episodes
    assert other.experiment.features == ("degree",)


def test_every_item_that_is_named_is_there(project: Path) -> None:
    plan = plan_of(load_works(project))
    for item in plan["episodes"].values():
        assert item["split"] in plan["splits"]
    for item in (*plan["models"].values(), *plan["cells"].values()):
        assert item["dataset"] in plan["datasets"]
        assert item["split"] in plan["splits"]
        assert item["episodes"] in plan["episodes"]
        assert item["trained"] in plan["models"]
        kind, _, name = item["prepared"].rpartition("/")
        assert name in plan["prepared"] if kind == "data/prepared" else item["prepared"] == "recipes/nothing.json"


def test_the_plan_is_written_when_it_changes(project: Path) -> None:
    works = load_works(project)
    assert write_plan(works, project)
    assert yaml.safe_load((project / PLAN_FILE).read_text()) == plan_of(works)
    assert not write_plan(works, project)
    assert write_plan(works[1:], project)


def test_the_plan_in_git_is_that_of_the_lists() -> None:
    assert yaml.safe_load((ROOT / PLAN_FILE).read_text()) == plan_of(load_works(ROOT))


def _deps(stage: dict[str, Any], key: str, item: Any) -> list[str]:
    """The recipes that a stage of `tables/dvc.yaml` names, resolved as DVC does it."""
    values = {"key": key, "item": item if isinstance(item, str) else ""}
    if isinstance(item, dict):
        values |= {f"item.{name}": str(value) for name, value in item.items()}
    deps = [re.sub(r"\$\{([^}]+)\}", lambda match: values[match[1]], dep) for dep in stage["deps"]]
    return [dep for dep in deps if dep.startswith("recipes/")]


def test_every_recipe_that_a_stage_depends_on_is_written(project: Path) -> None:
    works = load_works(project)
    write_plan(works, project)
    count = write_recipes(works, project)
    written = {f"recipes/{path.name}" for path in (project / "tables" / "recipes").iterdir()}
    plan, named = plan_of(works), set()
    for step, stage in yaml.safe_load((ROOT / "tables" / "dvc.yaml").read_text())["stages"].items():
        if step == "recipes":
            continue
        items = plan[re.fullmatch(r"\$\{(\w+)\}", stage["foreach"])[1]]  # type: ignore[index]
        pairs = items.items() if isinstance(items, dict) else zip(items, items, strict=True)
        for key, item in pairs:
            named |= set(_deps(stage["do"], key, item))
    assert named == written
    assert len(written) == count + 1


def test_a_recipe_is_that_of_the_cells_step(project: Path) -> None:
    works = load_works(project)
    write_plan(works, project)
    write_recipes(works, project)
    for work in works[::5]:
        for step, name in stages_of(work).items():
            text = (project / "tables" / "recipes" / f"{step}-{name}.json").read_text()
            assert text == as_json(recipe(step, work.experiment))


def test_cells_that_share_a_stage_agree_on_its_recipe() -> None:
    """Otherwise which of them came first would decide."""
    seen: dict[tuple[str, str], tuple[Work, str]] = {}
    for work in load_works(ROOT):
        for step, name in stages_of(work).items():
            text = json.dumps(recipe(step, work.experiment), sort_keys=True)
            first, expected = seen.setdefault((step, name), (work, text))
            assert text == expected, (step, first.cell, work.cell)


def test_an_old_plan_is_refused(project: Path) -> None:
    works = load_works(project)
    write_plan(works[1:], project)
    with pytest.raises(
        SettingsError, match=r"plan\.yaml is not the plan of tables/params\.yaml; write it anew with 'fsgc"
    ):
        write_recipes(works, project)
    assert not (project / "tables" / "recipes").exists()
