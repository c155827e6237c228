"""The settings of an embedder, checked when they are made."""

from __future__ import annotations

from typing import Literal

from fsgc.errors import SettingsError
from fsgc.settings import Layers, Share, Width, settings

Conv = Literal["gin", "gat", "gcn"]
Norm = Literal["graph", "batch", "episode", "none"]
Pooling = Literal["mean", "sum", "mean_std"]
Activation = Literal["none", "relu"]


@settings
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

    width: Width = 64
    num_convs: Layers = 2
    conv: Conv = "gin"
    gin_mlp_layers: Layers = 2
    norm: Norm = "graph"
    pooling: Pooling = "mean"
    dropout: Share = 0.0
    learnable_eps: bool = True
    activation: Activation = "none"

    def __post_init__(self) -> None:
        if self.pooling == "mean_std" and self.width % 2:
            raise SettingsError(f"width must be even with pooling mean_std, got {self.width}", key="width")
