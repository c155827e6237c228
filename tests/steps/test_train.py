"""Where a training keeps its checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fsgc.experiment import Experiment
from fsgc.methods.contract import Run
from fsgc.steps import train
from fsgc.training.settings import Training
from fsgc.workspace import Workspace


class _BegunError(Exception):
    """The training would begin now."""


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the trainings of a test keep their checkpoints; they end before they begin."""
    states: list[Path] = []

    def begin(_training: Training, run: Run) -> None:
        states.append(run.state)
        raise _BegunError

    monkeypatch.setattr(train, "open_episodes", lambda *_: None)
    monkeypatch.setattr(train, "fit_model", begin)
    return states


def _begin(root: Path, model: str, params: dict[str, Any], **keys: Any) -> None:
    experiment = Experiment.from_params(params, dataset="enzymes", model=model, **keys)
    with pytest.raises(_BegunError):
        train.run(Workspace(root), experiment, root / "model.pt", root / "curves", "identity")


def test_epochs_trained_with_another_prepared_store_are_not_resumed(tmp_path: Path, states: list[Path]) -> None:
    for params in ({}, {}, {"superclasses": {"default": {"order": 1}}}, {"split": {"held_out_share": 0.3}}):
        _begin(tmp_path, "gsm", params)
    first, again, others, split = states
    assert first == again
    assert len({first, others, split}) == 3


def test_the_same_method_with_other_node_features_has_a_state_of_its_own(tmp_path: Path, states: list[Path]) -> None:
    for features in ("dataset", "structural"):
        _begin(tmp_path, "pn", {}, features=features)
    assert [state.relative_to(tmp_path).as_posix() for state in states] == [
        ".training/enzymes-5shot-pn-seed0",
        ".training/enzymes-5shot-pn-seed0-structural",
    ]
