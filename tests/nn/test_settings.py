from __future__ import annotations

import math
import re
from typing import Any

import pytest

from fsgc.errors import SettingsError
from fsgc.nn.settings import EmbedderSettings


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("conv", "sage", "'gin', 'gat' or 'gcn'"),
        ("conv", None, "'gin', 'gat' or 'gcn'"),
        ("norm", "layer", "'graph', 'batch', 'episode' or 'none'"),
        ("pooling", "max", "'mean', 'sum' or 'mean_std'"),
        ("activation", "gelu", "'none' or 'relu'"),
        ("width", 0, "at least 1"),
        ("width", -3, "at least 1"),
        ("width", 10**6, "at most 16384"),
        ("width", 64.5, "a whole number"),
        ("num_convs", 0, "at least 1"),
        ("gin_mlp_layers", 0, "at least 1"),
        ("gin_mlp_layers", True, "a whole number"),
        ("dropout", 1.0, "below 1"),
        ("dropout", -0.1, "at least 0"),
        ("dropout", math.nan, "below 1"),
        ("dropout", "much", "a number"),
        ("learnable_eps", "yes", "true or false"),
    ],
)
def test_bad_values_are_refused_by_name(key: str, value: Any, allowed: str) -> None:
    with pytest.raises(SettingsError, match=f"^{key} must be {allowed}, got {re.escape(repr(value))}$"):
        EmbedderSettings(**{key: value})


def test_mean_std_needs_an_even_width() -> None:
    with pytest.raises(SettingsError, match="width must be even with pooling mean_std, got 7"):
        EmbedderSettings(width=7, pooling="mean_std")
    assert EmbedderSettings(width=8, pooling="mean_std").width == 8
