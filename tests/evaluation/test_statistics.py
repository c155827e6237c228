from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score

from fsgc.evaluation.statistics import confusion_matrices, episode_table


@given(st.integers(2, 5), st.integers(1, 6), st.integers(1, 20), st.integers(0, 2**32))
def test_metrics_agree_with_sklearn(way: int, queries: int, episodes: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(episodes, way * queries, way))
    table, matrices = episode_table(scores, way), confusion_matrices(scores, way)
    truth = np.repeat(np.arange(way), queries)
    for episode in range(episodes):
        predicted = scores[episode].argmax(axis=1)
        np.testing.assert_array_equal(matrices[episode], confusion_matrix(truth, predicted, labels=np.arange(way)))
        row = table.row(episode, named=True)
        assert row["episode"] == episode
        assert row["accuracy"] == pytest.approx(accuracy_score(truth, predicted))
        assert row["accuracy"] == pytest.approx(balanced_accuracy_score(truth, predicted))
        expected = f1_score(truth, predicted, average="macro", labels=np.arange(way), zero_division=0)
        assert row["macro_f1"] == pytest.approx(expected)
