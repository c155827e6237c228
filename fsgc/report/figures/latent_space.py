"""Figures of embeddings: t-SNE of novel episodes, and how far apart classes are with and without mixup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from matplotlib.figure import Figure

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.report.cells import Cell
from fsgc.report.figures.style import COLOURS, house_style, panels
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


def tsne_figure(models: Mapping[str, Embedded], numbers: Sequence[int]) -> Figure:
    """A row an episode, a column a model; crosses are queries, circles supports, stars prototypes, colours classes.

    Args:
        models: title -> the embeddings of the same episodes.
        numbers: which episodes they are.
    """
    with house_style():
        figure, axes = panels(len(models) * len(numbers), columns=len(models), width=2.4, height=2.3)
        for place, axis in enumerate(axes):
            row, column = divmod(place, len(models))
            title, embedded = list(models.items())[column]
            points = embedded.points[row]  # [N, K+Q, d]
            way, per_class, width = points.shape
            prototypes = points[:, : embedded.shots].mean(axis=1)
            flat = plane(np.concatenate([points.reshape(-1, width), prototypes]))
            placed, stars = flat[: way * per_class].reshape(way, per_class, 2), flat[way * per_class :]
            for n in range(way):
                colour = COLOURS[n % len(COLOURS)]
                supports, queries = placed[n, : embedded.shots], placed[n, embedded.shots :]
                axis.scatter(queries[:, 0], queries[:, 1], marker="x", s=16, linewidths=1, color=colour)
                edges: dict[str, Any] = {"color": colour, "edgecolors": "black"}
                label = f"class {embedded.classes[row, n]}"
                axis.scatter(supports[:, 0], supports[:, 1], marker="o", s=22, linewidths=0.5, label=label, **edges)
                if embedded.has_prototypes:
                    axis.scatter(stars[n, 0], stars[n, 1], marker="*", s=130, linewidths=0.8, **edges)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{title}, episode {numbers[row]}")
            if column == len(models) - 1:
                axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure


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


def class_similarity_figure(pairs: Mapping[str, tuple[Mapping[int, float], Mapping[int, float]]]) -> Figure:
    """What mixup changes in the separation of classes; above zero, a class is further from the others with it.

    Args:
        pairs: title of the panel -> separation of each class without and with mixup.
    """
    with house_style():
        figure, axes = panels(len(pairs), columns=2, width=3.6)
        for axis, (title, (without, with_mixup)) in zip(axes, pairs.items(), strict=True):
            difference = np.array([with_mixup[c] - without[c] for c in without])
            colours = [COLOURS[0] if value >= 0 else COLOURS[1] for value in difference]
            axis.bar(range(len(difference)), difference, color=colours)
            axis.axhline(0, color="black", linewidth=0.8)
            axis.set_xticks(range(len(without)), [str(c) for c in without], fontsize=6)
            axis.grid(visible=False, axis="x")
            axis.set_title(title)
            axis.set_xlabel("novel class")
            axis.set_ylabel("change in separation")
        return figure
