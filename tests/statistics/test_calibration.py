from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy import special
from sklearn.calibration import calibration_curve

from fsgc.statistics.calibration import calibration, confidences, reliability


def _scores(
    seed: int, episodes: int = 30, way: int = 3, queries: int = 5
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return 2 * np.random.default_rng(seed).normal(size=(episodes, way * queries, way)).astype(np.float32)


def test_confidences_by_hand() -> None:
    scores = _scores(0)
    confidence, correct = confidences(scores)
    probabilities = special.softmax(scores.astype(np.float64), axis=2)
    place = 0
    for episode in probabilities:
        for query, row in enumerate(episode):
            assert confidence[place] == pytest.approx(row.max(), rel=1e-12)
            assert correct[place] == (row.argmax() == query // 5)
            place += 1
    assert place == len(confidence)


def test_large_scores_do_not_overflow() -> None:
    confidence, _ = confidences(np.full((1, 2, 2), 1e4) * np.array([1, -1]))
    assert confidence.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bins", [1, 5, 15])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_sklearns(bins: int, strategy: Literal["uniform", "quantile"]) -> None:
    confidence, correct = confidences(_scores(1))
    found = reliability(confidence, correct, bins, strategy)
    accuracy, mean = calibration_curve(correct, confidence, n_bins=bins, strategy=strategy)
    np.testing.assert_allclose(found.accuracy, accuracy)
    np.testing.assert_allclose(found.confidence, mean)
    assert found.count.sum() == len(confidence)


def test_errors_by_hand() -> None:
    confidence = np.array([0.55, 0.6, 0.62, 0.9, 0.95, 1.0, 0.2])
    correct = np.array([True, False, False, True, True, False, True])
    found = reliability(confidence, correct, bins=4)
    # Up to 0.25: 1 of 1 at 0.2; up to 0.75: 1 of 3 at 0.59; above: 2 of 3 at 0.95.
    gaps = [abs(1 - 0.2), abs(1 / 3 - 0.59), abs(2 / 3 - 0.95)]
    assert found.expected_error == pytest.approx((gaps[0] + 3 * gaps[1] + 3 * gaps[2]) / 7)
    assert found.largest_error == pytest.approx(max(gaps))
    assert found.count.tolist() == [1, 3, 3]


def test_a_calibrated_method_has_next_to_no_error() -> None:
    """Labels drawn from the very probabilities: what is left is the chance of 60 000 draws."""
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 1, size=60_000)
    assert reliability(confidence, rng.random(60_000) < confidence).expected_error < 0.01
    assert reliability(confidence, rng.random(60_000) < confidence**2).expected_error > 0.1


def test_scores_as_they_are_stored() -> None:
    scores = _scores(2)
    assert calibration(scores).expected_error == reliability(*confidences(scores)).expected_error
