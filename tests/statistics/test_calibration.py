from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy import special
from sklearn.calibration import calibration_curve

from fsgc.statistics.calibration import calibration, confidences, pooled, reliability, score_scale


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


def test_curves_together_are_the_curve_of_all_predictions() -> None:
    rng = np.random.default_rng(0)
    confidence = [rng.uniform(low, high, 200) for low, high in ((0.1, 0.6), (0.4, 1.0), (0.9, 1.0))]
    correct = [rng.uniform(size=200) < each for each in confidence]
    expected = reliability(np.concatenate(confidence), np.concatenate(correct))
    together = pooled([reliability(*each) for each in zip(confidence, correct, strict=True)])
    np.testing.assert_array_equal(together.count, expected.count)
    np.testing.assert_allclose(together.confidence, expected.confidence, rtol=1e-12)
    np.testing.assert_allclose(together.accuracy, expected.accuracy, rtol=1e-12)


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


@pytest.mark.parametrize("factor", [0.05, 1.0, 30.0])
def test_scores_that_were_stretched_are_put_right(factor: float) -> None:
    """Classes are drawn from the softmax of scores, which are then multiplied with a factor: the scale undoes it."""
    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=(20_000, 4))
    y = (special.softmax(scores, axis=1).cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert factor * score_scale(factor * scores, y) == pytest.approx(1, abs=0.04)


def test_probabilities_are_on_average_what_is_right() -> None:
    rng = np.random.default_rng(1)
    scores, y = 5 * rng.normal(size=(40, 3)), rng.integers(3, size=40)
    scores[np.arange(40), y] += 6
    right = int((scores.argmax(axis=1) == y).sum())
    assert 20 < right < 40
    mean = special.softmax(score_scale(scores, y) * scores, axis=1).max(axis=1).mean()
    assert mean == pytest.approx((right + 1) / 42, abs=1e-5)
    assert score_scale(100 * scores, y) == pytest.approx(score_scale(scores, y) / 100, rel=1e-4)
    wrong = special.softmax(score_scale(scores, scores.argmin(axis=1)) * scores, axis=1)
    np.testing.assert_allclose(wrong, 1 / 3, atol=0.01)  # none is right: nothing better can be said


def test_a_few_examples_all_right_do_not_make_it_sure() -> None:
    y = np.array([0, 1, 0, 1, 0, 1])
    for size in (0.1, 1.0, 100.0):
        scores = size * np.eye(2)[y]
        probability = special.softmax(score_scale(scores, y) * scores, axis=1).max(axis=1)
        np.testing.assert_allclose(probability, 7 / 8, atol=1e-3)
    assert score_scale(np.zeros((4, 2)), np.array([0, 1, 0, 1])) == 1.0
