from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import Outcomes
from fsgc.evaluation.panels import named_intervals, outcome_panel
from fsgc.statistics.jackknife import graph_covariance
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


def test_the_intervals_of_one_model_by_name(runs: list[Outcomes]) -> None:
    found = named_intervals(runs[0])
    assert set(found) == {"episodes", "graphs"}, "two novel classes in two-way episodes"
    half = stats.norm.ppf(0.975) * stats.sem(runs[0].accuracy)
    assert found["episodes"] == pytest.approx([runs[0].accuracy.mean() - half, runs[0].accuracy.mean() + half])
    variance = graph_covariance(runs[0].correct[None], runs[0].draw()).variance(np.ones((1, 1)))
    quantile = stats.t.ppf(0.975, variance.freedom)
    assert np.diff(found["graphs"])[0] == pytest.approx(2 * quantile * variance.value**0.5)
