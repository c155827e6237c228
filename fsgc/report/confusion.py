"""Which novel classes a method takes for which others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsgc.data.graph_store import GraphStore
from fsgc.episodes.store import EpisodeStore
from fsgc.errors import StoreError
from fsgc.report.cells import Cell
from fsgc.statistics.confusion import class_confusion
from fsgc.workspace import Workspace


@dataclass(frozen=True)
class Confusion:
    """Counts over all queries of all test episodes.

    Attributes:
        classes: the ids of the novel classes.
        counts: int64 `[C, C]`, true class by row, predicted class by column.
    """

    classes: tuple[int, ...]
    counts: npt.NDArray[np.int64]


def confusion(cell: Cell, workspace: Workspace) -> Confusion | None:
    """The confusion matrix of a cell; `None` where its scores, or the episodes that tell the classes, are not stored.

    Scores are by place in the episode (0..N−1). Which class is at which place is told by the stored episodes.
    """
    key = cell.key
    try:
        scores = cell.scores()
        store = EpisodeStore.open(workspace.episodes(key.dataset, key.shots, key.seed))
        graphs, test = GraphStore.load(workspace.graphs(key.dataset)), store.test
    except StoreError:
        return None
    way = test.shape[1]
    queries = test.shape[2] - key.shots
    if scores.shape != (len(test), way * queries, way) or store.attributes.get("graphs") != graphs.fingerprint():
        return None
    return count_classes(scores, graphs.y[test[:, :, 0]])


def count_classes(scores: npt.NDArray[np.float32], classes: npt.NDArray[np.integer]) -> Confusion:
    """Count true against predicted class, for scores `[E, N·Q, N]` and the class at every place, `[E, N]`."""
    ids, place = np.unique(classes, return_inverse=True)
    return Confusion(tuple(int(c) for c in ids), class_confusion(scores, place.reshape(classes.shape), len(ids)))
