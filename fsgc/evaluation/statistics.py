"""Accuracy and macro F1 of every episode, and their summary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Z95 = 1.959963984540054  # the 0.975 quantile of the normal distribution


def confusion_matrices(scores: npt.NDArray[np.floating[Any]], way: int) -> npt.NDArray[np.int64]:
    """Count true class (row) against predicted class (column) for scores `[E, N·Q, N]`: `[E, N, N]`."""
    episodes, queries = scores.shape[:2]
    truth = np.repeat(np.arange(way), queries // way)
    cell = truth * way + scores.argmax(axis=2)
    cell += np.arange(episodes)[:, None] * way * way
    return np.bincount(cell.reshape(-1), minlength=episodes * way * way).reshape(episodes, way, way)


def episode_table(scores: npt.NDArray[np.floating[Any]], way: int) -> pl.DataFrame:
    """One row per episode: accuracy (every class has as many queries, so macro is micro) and macro F1."""
    matrix = confusion_matrices(scores, way)
    correct = np.diagonal(matrix, axis1=1, axis2=2)
    # F1 = 2 TP / (true + predicted); every class occurs, so the denominator is never zero.
    f1 = 2 * correct / (matrix.sum(axis=1) + matrix.sum(axis=2))
    return pl.DataFrame(
        {
            "episode": np.arange(len(matrix), dtype=np.int32),
            "accuracy": correct.sum(axis=1) / matrix.sum(axis=(1, 2)),
            "macro_f1": f1.mean(axis=1),
        }
    )


@dataclass(frozen=True)
class Summary:
    """Mean over episodes, standard deviation between them, and half the 95 % interval of the mean."""

    mean: float
    std: float
    ci95: float

    @classmethod
    def of(cls, values: npt.NDArray[np.floating[Any]]) -> Summary:
        """Summarise one value per episode."""
        std = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        return cls(float(values.mean()), std, Z95 * std / math.sqrt(len(values)))
