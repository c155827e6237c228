"""Whether a trained model gets the inputs it was trained with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.methods.contract import TaskShape
from fsgc.training.checkpoint import ModelInputs, Origin


def check_inputs(origin: Origin, shape: TaskShape, inputs: ModelInputs, episodes: Episodes) -> str:
    """Refuse episodes with other node features than a model takes.

    Returns:
        What to warn of, where the features are the same but stand for something else; empty if there is nothing.
    """
    if origin.features != episodes.feature_names or shape.num_features != episodes.num_features:
        raise StoreError(
            f"the model takes {shape.num_features} features ({' '.join(origin.features)}), the episodes have "
            f"{episodes.num_features} ({' '.join(episodes.feature_names)})"
        )
    if same(inputs.state(), ModelInputs.of(episodes).state()):
        return ""
    return f"node features of {episodes.split.dataset} have other labels, degrees or scales than in training"


def same(one: Any, other: Any) -> bool:
    """Whether two nested structures hold equal values; arrays and tensors are compared number by number."""
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    if getattr(one, "shape", None) != getattr(other, "shape", None):
        return False  # to compare arrays of different shapes is an error
    equal = one == other
    return bool(equal.all() if hasattr(equal, "all") else equal)
