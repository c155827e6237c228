"""`fsgc tables efficiency`: what is measured is what was done, and only where nothing else runs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.experiment import Experiment
from fsgc.tables import efficiency
from fsgc.tables.efficiency import Measured
from fsgc.tables.stopwatch import _Clock, measure
from fsgc.workspace import Workspace

SMALL = {"episodes": {"queries": 2, "train_epochs": 2, "train_per_epoch": 16, "val": 4, "test": 30}}


class _Batch:
    graphs = (0, 0, 0, 0)


def test_the_clock_leaves_the_warm_up_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clock = _Clock([_Batch()] * 100, budget=20.0)
    for number, _ in enumerate(clock):
        now[0] += 7.0 if number < 2 else 2.0
    assert clock.seconds == [7.0, 7.0, 2.0, 2.0, 2.0, 2.0], "it ends when the time is up"
    assert (clock.per_batch, clock.per_unit) == (2.0, 0.5)
    short = _Clock([_Batch()], budget=1.0)
    for _ in short:
        now[0] += 3.0
    assert (short.per_batch, short.per_unit) == (3.0, 0.75)
    for cost, batches in ((6.0, 1), (4.0, 2)):
        slow = _Clock([_Batch()] * 100, budget=1.0)
        for _ in slow:
            now[0] += cost
        assert (len(slow.seconds), slow.per_batch) == (batches, cost)


@pytest.mark.parametrize(
    ("model", "unit"), [("pn", "episodes"), ("gin", "graphs"), ("as_maml", "episodes"), ("wl", ""), ("untrained", "")]
)
def test_a_method_is_measured_without_being_trained(model: str, unit: str, tmp_path: Path) -> None:
    experiment = Experiment.from_params(SMALL, dataset="triangles_gen", model=model, shots=2, seed=0)
    found = measure(Workspace(tmp_path), experiment, budget=0.05)
    assert (found.dataset, found.shots, found.model, found.unit) == ("triangles_gen", 2, model, unit)
    assert (found.epoch_seconds is None) is (unit == "")
    assert (found.fit_seconds is None) is (unit != "")
    assert found.alone_milliseconds > 0
    assert found.pooled_milliseconds > 0
    assert (found.prepare_seconds > 0) is (model == "wl"), "only a Gram matrix is made once for the dataset"
    assert not (tmp_path / "prepared").exists(), "the Gram matrix was made anew, elsewhere"
    if found.epoch_seconds is not None:
        assert found.train_seconds(3) == pytest.approx(3 * found.epoch_seconds)
        assert found.train_seconds(None) is None
    else:
        assert found.train_seconds(None) == found.fit_seconds


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(efficiency, "load_average", lambda: 3.21)
    words = [
        "tables",
        "efficiency",
        "-d",
        "triangles_gen",
        "-m",
        "untrained",
        "-k",
        "2",
        "-o",
        str(tmp_path / "e.json"),
    ]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "the machine is busy: its load average is 3.21, at most 0.75 is quiet" in result.output
    assert not (tmp_path / "e.json").exists()


def test_each_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSGC_DATA", str(tmp_path / "data"))
    told: list[str] = []
    efficiency.run(["triangles_gen"], ["untrained"], 2, 0.05, tmp_path / "e.json", told.append)
    measured = Measured.load(tmp_path / "e.json")
    assert measured is not None
    assert [timing.model for timing in measured.timings] == ["untrained"]
    assert measured.processor
    assert told[0].startswith("triangles_gen, untrained: ")
