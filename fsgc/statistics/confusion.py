"""Counts of true against predicted classes, and the accuracy and macro F1 of every episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fsgc.statistics.intervals import Floats

Scores = npt.NDArray[np.floating[Any]]
Counts = npt.NDArray[np.int64]


def confusion_matrices(scores: Scores, way: int) -> Counts:
    """Count true class (row) against predicted class (column) for scores `[E, N·Q, N]`: `[E, N, N]`."""
    episodes, queries = scores.shape[:2]
    truth = np.repeat(np.arange(way), queries // way)
    cell = truth * way + scores.argmax(axis=2)
    cell += np.arange(episodes)[:, None] * way * way
    return np.bincount(cell.reshape(-1), minlength=episodes * way * way).reshape(episodes, way, way)


def accuracy_and_f1(matrices: Counts) -> tuple[Floats, Floats]:
    """Accuracy and macro F1 of every episode from its confusion matrix `[E, N, N]`; two arrays `[E]`.

    Every class has as many queries, so macro accuracy is micro accuracy.
    """
    correct = np.diagonal(matrices, axis1=1, axis2=2)
    # F1 = 2 TP / (true + predicted); every class occurs, so the denominator is never zero.
    f1 = 2 * correct / (matrices.sum(axis=1) + matrices.sum(axis=2))
    return correct.sum(axis=1) / matrices.sum(axis=(1, 2)), f1.mean(axis=1)


def class_confusion(scores: Scores, places: npt.NDArray[np.integer[Any]], classes: int) -> Counts:
    """Count true (row) against predicted class (column) over all queries of all episodes, `[C, C]`.

    Args:
        scores: `[E, N·Q, N]`, by place in the episode.
        places: which of the C classes is at which place of the episode, `[E, N]`.
        classes: C.
    """
    truth = np.repeat(places, scores.shape[1] // scores.shape[2], axis=1)
    predicted = np.take_along_axis(places, scores.argmax(axis=2), axis=1)
    cell = truth.astype(np.int64) * classes + predicted
    return np.bincount(cell.reshape(-1), minlength=classes**2).reshape(classes, classes)
