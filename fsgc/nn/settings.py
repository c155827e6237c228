"""The settings of an embedder, checked when they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fsgc.errors import SettingsError

CONVS = ("gin", "gat", "gcn")
NORMS = ("graph", "batch", "episode", "none")
POOLINGS = ("mean", "sum", "mean_std")
ACTIVATIONS = ("none", "relu")


def check_choice(key: str, value: Any, allowed: Sequence[str]) -> str:
    """Return `value` if it is allowed, else refuse it by name."""
    if value not in allowed:
        raise SettingsError(f"{key}: {value!r} is unknown; allowed are {', '.join(allowed)}")
    return str(value)


def check_count(key: str, value: Any, least: int = 1) -> int:
    """Return `value` if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingsError(f"{key}: {value!r} does not fit; it must be a whole number of at least {least}")
    return value


def check_fraction(key: str, value: Any) -> float:
    """Return `value` if it is a number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise SettingsError(f"{key}: {value!r} does not fit; it must be a number from 0 up to, not including, 1")
    return float(value)


def check_flag(key: str, value: Any) -> bool:
    """Return `value` if it is true or false."""
    if not isinstance(value, bool):
        raise SettingsError(f"{key}: {value!r} does not fit; it must be true or false")
    return value


@dataclass(frozen=True)
class EmbedderSettings:
    """What an `Embedder` is made of; the defaults are the paper's.

    Attributes:
        width: `d`, the width of every layer and of the graph embedding.
        num_convs: convolutions, `L`.
        conv: `gin`, `gat` or `gcn`.
        gin_mlp_layers: linear layers in each GIN convolution's MLP; 1 makes the convolution linear.
        norm: between the layers of the GIN MLP: `graph` (each graph by itself), `batch` (running statistics
            in evaluation), `episode` (all nodes of a group of graphs together, as the authors' code), `none`.
        pooling: nodes to graph: `mean`, `sum`, `mean_std`.
        dropout: share dropped after each convolution and its FiLM, where the authors' code has it.
        learnable_eps: whether GIN's ε is learned (the paper) or stays 0 (the authors' code).
        activation: between convolutions: `none` (paper and authors' code) or `relu`.
    """

    width: int = 64
    num_convs: int = 2
    conv: str = "gin"
    gin_mlp_layers: int = 2
    norm: str = "graph"
    pooling: str = "mean"
    dropout: float = 0.0
    learnable_eps: bool = True
    activation: str = "none"

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("num_convs", self.num_convs)
        check_choice("conv", self.conv, CONVS)
        check_count("gin_mlp_layers", self.gin_mlp_layers)
        check_choice("norm", self.norm, NORMS)
        check_choice("pooling", self.pooling, POOLINGS)
        check_fraction("dropout", self.dropout)
        check_flag("learnable_eps", self.learnable_eps)
        check_choice("activation", self.activation, ACTIVATIONS)
        if self.pooling == "mean_std" and self.width % 2:
            raise SettingsError(f"width: {self.width} is odd; with pooling mean_std it must be even")
