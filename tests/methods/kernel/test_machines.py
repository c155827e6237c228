from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from fsgc.methods.kernel import machines
from fsgc.methods.kernel.machines import EpisodeKernels, decision_values
from fsgc.methods.kernel.method import scores_of
from tests.methods.kernel.oracle import svc_predictions


def _kernels(seed: int, way: int, episodes: int = 30, shots: int = 4, queries: int = 6) -> EpisodeKernels:
    """Small counts for features, many of them equal, so that votes and decision values tie."""
    rng = np.random.default_rng(seed)
    supports = rng.poisson(1.0, size=(episodes, way, shots, 3)) + np.eye(way, 3)[:, None].astype(int)
    asked = rng.poisson(1.0, size=(episodes, way, queries, 3)) + np.eye(way, 3)[:, None].astype(int)
    support, query = (part.reshape(episodes, -1, 3).astype(float) for part in (supports, asked))
    support[0], query[0] = 0, 0
    return EpisodeKernels(support @ support.swapaxes(1, 2), query @ support.swapaxes(1, 2), way)


@pytest.mark.parametrize("way", [2, 3, 4, 5])
def test_the_largest_score_is_what_sklearn_predicts(way: int) -> None:
    kernels = _kernels(way, way)
    values, stopped = decision_values(kernels, 1.0, 1_000_000)
    assert stopped == 0
    scores = scores_of(values, way)
    expected = [svc_predictions(*pair, way) for pair in zip(kernels.support, kernels.query, strict=True)]
    np.testing.assert_array_equal(scores.argmax(axis=-1), expected)
    np.testing.assert_array_equal(scores.astype(np.float32).argmax(axis=-1), expected)


def test_a_cycle_of_votes_goes_to_the_first_class() -> None:
    """0 beats 1, 1 beats 2, 2 beats 0, the last two with more confidence."""
    scores = scores_of(np.array([[[0.1, -5.0, 5.0]]]), 3)
    assert scores.argmax(axis=-1).tolist() == [[0]]
    assert (scores[0, 0, 2] > scores[0, 0, 1]) == (5.0 - 5.0 > 5.0 - 0.1)


def test_of_no_preference_the_second_class_has_the_vote() -> None:
    """As in LIBSVM, which asks whether the value is above zero."""
    assert scores_of(np.zeros((1, 1, 1)), 2).argmax(axis=-1).tolist() == [[1]]


def test_two_cores_decide_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = _kernels(1, 3, episodes=120)
    alone, _ = decision_values(kernels, 1.0, 1_000_000)
    monkeypatch.setattr(machines, "_PARALLEL", 0)
    np.testing.assert_array_equal(decision_values(kernels, 1.0, 1_000_000)[0], alone)


@pytest.mark.parametrize("way", [2, 3])
def test_where_libsvm_does_not_arrive_the_optimum_is_taken(way: int) -> None:
    """One step is never enough; LIBSVM with a small tolerance gets to the same values."""
    rng = np.random.default_rng(2)
    support, query = (rng.normal(size=(20, n * way, 5)) + np.repeat(np.eye(way, 5), n, axis=0) for n in (4, 10))
    kernels = EpisodeKernels(support @ support.swapaxes(1, 2), query @ support.swapaxes(1, 2), way)
    values, stopped = decision_values(kernels, 10.0, 1)
    assert stopped == 20 * way * (way - 1) // 2
    y = np.repeat(np.arange(way), 4)
    for own, between, across in zip(values, kernels.support, kernels.query, strict=True):
        machine = SVC(C=10.0, kernel="precomputed", decision_function_shape="ovo", tol=1e-9).fit(between, y)
        expected = machine.decision_function(across).reshape(own.shape) * (-1 if way == 2 else 1)
        np.testing.assert_allclose(own, expected, atol=1e-3)
        np.testing.assert_array_equal(scores_of(own[None], way)[0].argmax(axis=-1), machine.predict(across))
