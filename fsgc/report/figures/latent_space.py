"""Embeddings of stored episodes by the models of cells: placed in the plane by t-SNE, and how far apart classes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.report.cells import Cell
from fsgc.report.figures.embeddings import Placed
from fsgc.training.checkpoint import TrainedModel

SAMPLES = 100  # per class, as in the paper
Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Embedded:
    """The embeddings of some test episodes under one model.

    Attributes:
        points: `[B, N, K+Q, d]`.
        classes: the class at every place, `[B, N]`.
        shots: K.
        has_prototypes: whether the method classifies by the mean of the supports.
    """

    points: Array
    classes: npt.NDArray[np.integer]
    shots: int
    has_prototypes: bool


@torch.no_grad()
def embed_episodes(cell: Cell, episodes: Episodes, numbers: Sequence[int]) -> Embedded | None:
    """Embed stored test episodes with the model of a cell; `None` for a method without embeddings."""
    test = episodes.store.test
    wrong = [number for number in numbers if not 0 <= number < len(test)]
    if wrong:
        raise SettingsError(f"episode {wrong[0]} is not stored: there are 0 to {len(test) - 1}")
    model = TrainedModel.load(cell.model / "model.pt", episodes)
    graphs = test[list(numbers)].astype(np.int64)
    points = model.method.embed(EpisodeBatch(torch.from_numpy(graphs), episodes.shots))
    if points is None:
        return None
    classes = np.asarray(episodes.graphs.y)[graphs[:, :, 0]]
    return Embedded(points.float().cpu().numpy(), classes, episodes.shots, model.method.has_prototypes)


def plane(points: Array) -> npt.NDArray[np.float64]:
    """t-SNE of `[P, d]` to `[P, 2]`, started from the principal components with a fixed seed."""
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(points) - 1) / 3)
    method = TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1)
    return np.asarray(method.fit_transform(points), dtype=np.float64)


def place(embedded: Embedded, numbers: Sequence[int]) -> Placed:
    """The episodes in the plane, each by itself, with the means of its supports as prototypes."""
    points, prototypes = [], []
    for episode in embedded.points:  # [N, K+Q, d]
        way, per_class, width = episode.shape
        means = episode[:, : embedded.shots].mean(axis=1)
        flat = plane(np.concatenate([episode.reshape(-1, width), means]))
        pairs = [(x, y) for x, y in flat.tolist()]
        points.append([pairs[n * per_class : (n + 1) * per_class] for n in range(way)])
        prototypes.append(pairs[way * per_class :])
    stars = prototypes if embedded.has_prototypes else None
    return Placed(list(numbers), embedded.classes.tolist(), embedded.shots, points, stars)


def class_separation(embedded: Embedded, samples: int = SAMPLES) -> dict[int, float]:
    """How far each class is from the others, in units of how far the graphs of a class are from each other.

    For each class the mean squared L2 distance of its representative to those of the other classes (the paper's
    measure), over the mean squared distance of a graph to its own representative. The quotient does not change when
    embeddings are scaled, which models do differently. A representative is the mean of the first `samples` embeddings
    of a class, in the order of the episodes; methods that adapt to the episode embed a graph as its episode has it.
    """
    per_class = embedded.points.shape[2]
    points = embedded.points.reshape(-1, embedded.points.shape[-1]).astype(np.float64)
    of_class = np.repeat(embedded.classes.reshape(-1), per_class)
    ids = np.unique(of_class)
    members = [points[of_class == c][:samples] for c in ids]
    means = np.stack([each.mean(axis=0) for each in members])
    spread = np.mean([((each - mean) ** 2).sum(axis=1).mean() for each, mean in zip(members, means, strict=True)])
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=2).sum(axis=1) / (len(ids) - 1)
    return dict(zip(ids.tolist(), (distances / max(spread, np.finfo(np.float64).tiny)).tolist(), strict=True))
