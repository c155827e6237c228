from __future__ import annotations

from typing import Any

import pytest

from fsgc.errors import SettingsError
from fsgc.nn.settings import EmbedderSettings


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("conv", "sage", "gin, gat, gcn"),
        ("conv", None, "gin, gat, gcn"),
        ("norm", "layer", "graph, batch, episode, none"),
        ("pooling", "max", "mean, sum, mean_std"),
        ("activation", "gelu", "none, relu"),
        ("width", 0, "at least 1"),
        ("width", -3, "at least 1"),
        ("width", 64.0, "whole number"),
        ("num_convs", 0, "at least 1"),
        ("gin_mlp_layers", 0, "at least 1"),
        ("gin_mlp_layers", True, "whole number"),
        ("dropout", 1.0, "from 0 up to"),
        ("dropout", -0.1, "from 0 up to"),
        ("dropout", "much", "from 0 up to"),
        ("learnable_eps", "yes", "true or false"),
    ],
)
def test_bad_values_are_refused_by_name(key: str, value: Any, allowed: str) -> None:
    with pytest.raises(SettingsError, match=f"^{key}: .*{allowed}"):
        EmbedderSettings(**{key: value})


def test_mean_std_needs_an_even_width() -> None:
    with pytest.raises(SettingsError, match="width: 7 is odd"):
        EmbedderSettings(width=7, pooling="mean_std")
    assert EmbedderSettings(width=8, pooling="mean_std").width == 8
