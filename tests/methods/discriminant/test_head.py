"""The head from inner products against its formula, an episode, a query and a class at a time."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fsgc.methods.discriminant.head import Head, episode_head, vector_head


def _by_formula(support: np.ndarray, label: np.ndarray, query: np.ndarray, tau: float) -> np.ndarray:
    """−(q − p)ᵀ (I + RᵀR / (τ m))⁻¹ (q − p)."""
    means = np.stack([support[label == c].mean(axis=0) for c in np.unique(label)])
    residuals = support - means[label]
    energy = (residuals**2).sum(axis=1).mean()
    shrunken = np.eye(support.shape[1])
    if not np.isinf(tau) and energy > 0:
        shrunken = np.linalg.inv(shrunken + residuals.T @ residuals / (tau * energy))
    apart = query[:, None] - means
    return -np.einsum("qcd,de,qce->qc", apart, shrunken, apart)


@given(
    seed=st.integers(0, 1000),
    way=st.integers(2, 4),
    shots=st.integers(1, 5),
    width=st.integers(1, 9),
    tau=st.sampled_from([0.03, 0.3, 3.0, inf]),
)
def test_scores_are_those_of_the_formula(seed: int, way: int, shots: int, width: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(40, width)) + 3
    graphs = np.stack([rng.permutation(40)[: way * (shots + 2)].reshape(way, shots + 2) for _ in range(3)])
    label = np.repeat(np.arange(way), shots)
    expected = [
        _by_formula(vectors[episode[:, :shots].ravel()], label, vectors[episode[:, shots:].ravel()], tau)
        for episode in graphs
    ]
    x = torch.from_numpy(vectors)
    by_gram = episode_head(x @ x.T, torch.from_numpy(graphs), shots).scores(tau)
    by_vector = vector_head(x[torch.from_numpy(graphs)], shots).scores(tau)
    np.testing.assert_allclose(by_gram, expected, atol=1e-8)
    np.testing.assert_allclose(by_vector, expected, atol=1e-8)


def test_classes_of_unequal_size() -> None:
    rng = np.random.default_rng(0)
    support, query, label = rng.normal(size=(7, 4)), rng.normal(size=(5, 4)), np.array([0, 0, 0, 0, 1, 2, 2])
    member = (label == np.arange(3)[:, None]).astype(float)
    head = Head.of(
        torch.from_numpy(support @ support.T)[None],
        torch.from_numpy(query @ support.T)[None],
        torch.from_numpy((query**2).sum(axis=1))[None],
        torch.from_numpy(member / member.sum(axis=1, keepdims=True)),
    )
    np.testing.assert_allclose(head.scores(0.5)[0], _by_formula(support, label, query, 0.5), atol=1e-10)


@pytest.mark.parametrize("tau", [0.03, 1.0])
def test_supports_that_are_all_alike_leave_the_nearest_mean(tau: float) -> None:
    vectors = torch.tensor([[0.0, 0], [0, 0], [1, 1], [1, 1], [0.2, 0.1], [0.9, 0.7]], dtype=torch.float64)
    graphs = torch.tensor([[[0, 1, 4], [2, 3, 5]]])
    scores = vector_head(vectors[graphs], 2).scores(tau)
    torch.testing.assert_close(scores, vector_head(vectors[graphs], 2).scores(inf))
    assert scores.argmax(-1).tolist() == [[0, 1]]
