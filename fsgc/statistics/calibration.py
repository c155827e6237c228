"""Whether a method is as often right as its scores say (Guo et al., On calibration of modern neural networks, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import softmax

from fsgc.statistics.confusion import Scores
from fsgc.statistics.intervals import Floats

BINS = 15
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of confidence; empty bins are left out.

    Attributes:
        confidence: the mean confidence in each bin, `[B]`.
        accuracy: the share of correct predictions in each bin, `[B]`.
        count: how many predictions are in each bin, `[B]`.
    """

    confidence: Floats
    accuracy: Floats
    count: npt.NDArray[np.int64]

    @property
    def expected_error(self) -> float:
        """ECE, the average distance of accuracy and confidence over all predictions."""
        return float(np.abs(self.accuracy - self.confidence) @ self.count / self.count.sum())

    @property
    def largest_error(self) -> float:
        """MCE, the largest distance of accuracy and confidence of any bin."""
        return float(np.abs(self.accuracy - self.confidence).max())


def confidences(scores: Scores) -> tuple[Floats, Bools]:
    """The probability of the predicted class, by the softmax of scores `[E, N·Q, N]`, and whether it is the true one.

    Both are `[E·N·Q]`. Scores that are not logits, such as an SVM's, have a softmax too, but it promises nothing.
    """
    way = scores.shape[2]
    logits = scores.reshape(-1, way).astype(np.float64)
    highest = logits.max(axis=1)
    # The predicted class has the highest score, so its probability is 1 / Σ exp(score − highest).
    confidence = 1 / np.exp(logits - highest[:, None]).sum(axis=1)
    truth = np.tile(np.repeat(np.arange(way), scores.shape[1] // way), len(scores))
    return confidence, logits.argmax(axis=1) == truth


def reliability(
    confidence: npt.NDArray[np.floating[Any]],
    correct: Bools,
    bins: int = BINS,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> Reliability:
    """The reliability curve of predictions with given confidence, both `[n]`.

    Args:
        confidence: between 0 and 1.
        correct: whether each prediction was right.
        bins: how many.
        strategy: bins of equal width, or with equally many predictions; a bin includes its upper edge.
    """
    shares = np.linspace(0, 1, bins + 1)
    edges = shares if strategy == "uniform" else np.quantile(confidence, shares)
    place = np.searchsorted(edges[1:-1], confidence)
    count = np.bincount(place, minlength=bins)
    filled = count > 0
    mean, right = (
        np.bincount(place, values, minlength=bins)[filled] / count[filled] for values in (confidence, correct)
    )
    return Reliability(mean, right, count[filled])


def pooled(curves: Sequence[Reliability], bins: int = BINS) -> Reliability:
    """The curve of all predictions together, from curves with bins of equal width, of which some may be empty."""
    confidence = np.concatenate([curve.confidence for curve in curves])
    accuracy = np.concatenate([curve.accuracy for curve in curves])
    count = np.concatenate([curve.count for curve in curves])
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], confidence)
    total = np.bincount(place, count, minlength=bins).astype(np.int64)
    filled = total > 0
    mean, right = (
        np.bincount(place, values * count, minlength=bins)[filled] / total[filled] for values in (confidence, accuracy)
    )
    return Reliability(mean, right, total[filled])


def calibration(scores: Scores, bins: int = BINS) -> Reliability:
    """The reliability curve of scores `[E, N·Q, N]`, in bins of equal width."""
    return reliability(*confidences(scores), bins)


def score_scale(scores: Floats, y: npt.NDArray[np.integer[Any]]) -> float:
    """The number by which to multiply scores `[n, C]` of examples of known classes `[n]` to calibrate their softmax.

    The mean probability of the predictions becomes the share that is right, with one right and one wrong prediction
    added (Laplace's rule of succession), so that a few examples that are all right do not make it certain. Temperature
    scaling (Guo et al. 2017) maximises the likelihood instead, which a few examples of large margin decide.
    """
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = float(np.abs(centred).max(initial=0))
    if size == 0:
        return 1.0
    right = int((scores.argmax(axis=1) == y).sum())
    wanted = (right + 1) / (len(scores) + 2)

    def beyond(log_scale: float) -> float:
        return float(softmax(np.exp(log_scale) * centred / size, axis=1).max(axis=1).mean()) - wanted

    # Scores of size 1 are multiplied with e^-7, where all classes are alike, to e^12; the mean only grows between them.
    low, high = -7.0, 12.0
    root = low if beyond(low) >= 0 else high if beyond(high) <= 0 else brentq(beyond, low, high, xtol=1e-6)
    return float(np.exp(root) / size)
