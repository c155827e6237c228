from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from fsgc.cli import main
from fsgc.commands.evaluate import refuse_file, same


def test_a_file_in_the_place_of_the_results_is_told_before_anything_is_computed(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for out in ("notes", "notes/deeper/still", "dangling"):
        result = CliRunner().invoke(main, ["evaluate", str(tmp_path / "x.pt"), "-o", str(tmp_path / out)])
        assert result.exit_code == 2
        assert f"{tmp_path / out.split('/')[0]} is a file, and results are a directory" in result.output
    assert (tmp_path / "notes").read_text() == "mine"
    refuse_file(tmp_path)
    refuse_file(tmp_path / "new" / "newer")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": np.arange(3), "b": ["x", None]}, {"a": np.arange(3), "b": ("x", None)}, True),
        ({"a": np.arange(3)}, {"a": np.arange(4)}, False),
        ({"a": torch.zeros(2, 3)}, {"a": torch.zeros(3)}, False),
        ({"a": np.arange(3)}, {"a": np.array([0, 1, 5])}, False),
        ({"a": np.arange(3)}, {"a": None}, False),
        ({"a": 1}, {"b": 1}, False),
        (["x"], ["x", "y"], False),
        (["x"], "x", False),
        (0.5, 0.5, True),
    ],
)
def test_inputs_of_models_are_compared_number_by_number(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal
