"""A fitted discriminant: chosen views with all they must know, a metric and a shrinkage, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.store import LabelKinds
from fsgc.methods.discriminant.graph_data import Fitted, GraphData
from fsgc.methods.discriminant.head import episode_head
from fsgc.methods.discriminant.metric import WithinClasses
from fsgc.methods.discriminant.scaling import Scaling
from fsgc.methods.discriminant.search import Choice, Part
from fsgc.methods.discriminant.views import view

_MOST_GRAPHS = 5000
"""Graphs between which all inner products are held at a time."""
_EPISODES = 500


@dataclass(frozen=True, eq=False)
class FittedPart:
    """A view that knows what it must, with its scaling and weight."""

    part: Part
    fitted: Fitted
    scaling: Scaling

    @classmethod
    def fit(cls, part: Part, data: GraphData, known: Ints) -> FittedPart:
        """From the graphs `known`."""
        looking = view(part.view)
        fitted = looking.fit(data, known)
        return cls(part, fitted, Scaling.fit(part.scaling, looking.rows(data, fitted), known))

    def rows(self, data: GraphData) -> Floats:
        """The scaled rows of any graphs, `[G, d]`."""
        return self.part.weight * self.scaling.apply(view(self.part.view).rows(data, self.fitted))

    def state(self) -> dict[str, Any]:
        """Everything as tensors, numbers and names."""
        return {
            "view": self.part.view,
            "scaling": self.part.scaling,
            "weight": self.part.weight,
            "fitted": {name: torch.from_numpy(np.array(value)) for name, value in self.fitted.items()},
            "shift": torch.from_numpy(self.scaling.shift),
            "scale": torch.from_numpy(self.scaling.scale),
            "total": self.scaling.total,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FittedPart:
        """The inverse of `state`."""
        return cls(
            Part(state["view"], state["scaling"], state["weight"]),
            {name: value.numpy() for name, value in state["fitted"].items()},
            Scaling(state["scaling"], state["shift"].numpy(), state["scale"].numpy(), state["total"]),
        )


@dataclass(frozen=True, eq=False)
class FittedDiscriminant:
    """What turns graphs into vectors, and episodes of them into scores.

    Attributes:
        parts: the views.
        transform: `[d, d]`, the metric: rows of all views side by side are multiplied with it.
        tau: the shrinkage of the head.
        kinds: what node labels are taken for.
    """

    parts: tuple[FittedPart, ...]
    transform: Floats
    tau: float
    kinds: LabelKinds

    @classmethod
    def fit(cls, choice: Choice, data: GraphData, y: npt.NDArray[np.integer[Any]], known: Ints) -> FittedDiscriminant:
        """Fit all views and the metric of a choice on the graphs `known`."""
        parts = tuple(FittedPart.fit(part, data, known) for part in choice.parts)
        rows = np.concatenate([part.rows(data)[known] for part in parts], axis=1)
        transform = WithinClasses.of(rows, y[known]).transform(choice.metric)
        return cls(parts, transform, choice.tau, data.descriptors.kinds)

    def vectors(self, data: GraphData) -> Tensor:
        """The vectors by which graphs are told apart, float64 `[G, d]`."""
        rows = np.concatenate([part.rows(data) for part in self.parts], axis=1)
        return torch.from_numpy(rows @ self.transform)

    def state(self) -> dict[str, Any]:
        """Everything as tensors, numbers and names."""
        return {
            "parts": [part.state() for part in self.parts],
            "transform": torch.from_numpy(self.transform),
            "tau": self.tau,
            "labels": list(self.kinds.labels),
            "words": self.kinds.words,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> FittedDiscriminant:
        """The inverse of `state`."""
        return cls(
            tuple(map(FittedPart.from_state, state["parts"])),
            state["transform"].numpy(),
            state["tau"],
            LabelKinds(tuple(state["labels"]), state["words"]),
        )


def episode_scores(vectors: Tensor, graphs: Tensor, shots: int, tau: float) -> Tensor:
    """Scores of episodes, `[B, N·Q, N]`.

    Args:
        vectors: `[G, d]`, of all graphs.
        graphs: int64 `[B, N, K+Q]`, the episodes.
        shots: K.
        tau: the shrinkage.
    """
    distinct, place = torch.unique(graphs, return_inverse=True)
    if len(distinct) > _MOST_GRAPHS and len(graphs) > 1:
        halves = torch.split(graphs, -(-len(graphs) // 2))
        return torch.cat([episode_scores(vectors, half, shots, tau) for half in halves])
    own = vectors[distinct]
    gram = own @ own.mT
    return torch.cat([episode_head(gram, some, shots).scores(tau) for some in torch.split(place, _EPISODES)])
