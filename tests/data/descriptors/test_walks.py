from __future__ import annotations

import numpy as np
import pytest

from fsgc.data.descriptors import blocks
from fsgc.data.descriptors.walks import STEPS, return_probabilities
from tests.data.descriptors.oracle import awkward, matrices


@pytest.mark.parametrize("entries", [2**21, 50])
def test_they_are_those_of_walks_step_by_step(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From every node of every graph: the distribution of a walk's place, moved on one step at a time."""
    monkeypatch.setattr(blocks, "_ENTRIES", entries)
    graphs = awkward()
    found = np.split(return_probabilities(graphs), graphs.node_ptr[1:-1])
    for matrix, probabilities in zip(matrices(graphs), found, strict=True):
        for node in range(len(matrix)):
            place = np.eye(len(matrix))[node]
            for step in range(STEPS):
                moved = np.zeros(len(matrix))
                for other in np.flatnonzero(place):
                    neighbours = np.flatnonzero(matrix[other])
                    if len(neighbours):
                        moved[neighbours] += place[other] / len(neighbours)
                place = moved
                assert probabilities[node, step] == pytest.approx(place[node], abs=1e-12)
