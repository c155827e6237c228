from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fsgc.training.inputs import same


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
