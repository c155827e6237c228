from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import Outcomes
from fsgc.evaluation.panels import outcome_panel
from fsgc.statistics.panel import Panel, Seeds
from tests.methods.conftest import make_episodes


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Outcomes]:
    episodes = make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")
    rng = np.random.default_rng(0)
    return [Outcomes.of(rng.normal(size=(50, 8, 2)), episodes) for _ in range(4)]


def test_files_give_the_panel_of_their_arrays(tmp_path: Path, runs: list[Outcomes]) -> None:
    for number, run in enumerate(runs):
        run.save(tmp_path / f"{number}.bin")
    loaded = [Outcomes.load(tmp_path / f"{number}.bin") for number in range(4)]
    panel = outcome_panel({"pn": loaded[:3], "wl": loaded[3:]}, deterministic=["wl"])
    arrays = {"pn": np.stack([run.correct for run in runs[:3]]), "wl": runs[3].correct[None]}
    expected = Panel(arrays, runs[0].draw(), ["wl"])
    assert panel.compare("pn", "wl") == expected.compare("pn", "wl")
    assert panel.intervals("pn") == expected.intervals("pn")
    assert panel.intervals("wl").seeds_from is Seeds.NONE


def test_outcomes_of_other_episodes_are_refused(runs: list[Outcomes]) -> None:
    other = replace(runs[1], test_episodes="0" * 64)
    with pytest.raises(StoreError, match="pn and wl were tested on different episodes"):
        outcome_panel({"pn": runs[:1], "wl": [other]})
