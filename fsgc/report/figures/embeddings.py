"""Figures of embeddings: t-SNE of novel episodes, and how far apart classes are with and without mixup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fsgc.report.figures.style import COLOURS, house_style, panels
from fsgc.report.kept import Entry, Section

Point = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """Test episodes in the plane, as one model embeds them.

    Attributes:
        numbers: of the episodes, `[B]`.
        classes: the class at every place, `[B, N]`.
        shots: K.
        points: supports, then queries of each class, `[B, N, K+Q, 2]`.
        prototypes: `[B, N, 2]`; `None` for a method that does not classify by the mean of the supports.
    """

    numbers: list[int]
    classes: list[list[int]]
    shots: int
    points: list[list[list[Point]]]
    prototypes: list[list[Point]] | None

    def __post_init__(self) -> None:
        way = np.shape(self.classes)
        stars = way if self.prototypes is None else np.shape(self.prototypes)[:2]
        if not way[:1] == np.shape(self.numbers) or not way == stars == np.shape(self.points)[:2]:
            raise ValueError("points, prototypes and classes are not of the same episodes")


TSNE = Section("tsne", Entry[Placed])
SEPARATION = Section("separation", Entry[dict[int, float]])


def tsne_figure(models: Mapping[str, Placed]) -> Figure:
    """A row an episode, a column a model; crosses are queries, circles supports, stars prototypes, colours classes.

    Args:
        models: title -> the same episodes under a model.
    """
    numbers = next(iter(models.values())).numbers
    with house_style():
        figure, axes = panels(len(models) * len(numbers), columns=len(models), width=2.4, height=2.3)
        for place, axis in enumerate(axes):
            row, column = divmod(place, len(models))
            title, placed = list(models.items())[column]
            for n, (label, points) in enumerate(zip(placed.classes[row], placed.points[row], strict=True)):
                colour = COLOURS[n % len(COLOURS)]
                supports, queries = np.asarray(points[: placed.shots]), np.asarray(points[placed.shots :])
                axis.scatter(queries[:, 0], queries[:, 1], marker="x", s=16, linewidths=1, color=colour)
                edges: dict[str, Any] = {"color": colour, "edgecolors": "black"}
                circles: dict[str, Any] = {"marker": "o", "s": 22, "linewidths": 0.5, "label": f"class {label}"}
                axis.scatter(supports[:, 0], supports[:, 1], **circles, **edges)
                if placed.prototypes:
                    axis.scatter(*placed.prototypes[row][n], marker="*", s=130, linewidths=0.8, **edges)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{title}, episode {numbers[row]}")
            if column == len(models) - 1:
                axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure


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
