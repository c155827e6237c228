"""Figures of results: curves, shots, episodes, reliability, classes, ranks. Each takes data, returns a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fsgc.data.splits import Split
from fsgc.report.figures.style import COLOURS, house_style, look, panels
from fsgc.statistics.calibration import Reliability
from fsgc.statistics.intervals import Floats
from fsgc.statistics.ranks import Ranking

Curves = Mapping[str, Sequence[float]]


SHOWN_CURVES = {  # a curve -> what its values are multiplied by, and what the axis says
    "val_accuracy": (100, "validation accuracy, %"),
    "steps": (1, "mean steps"),
}


def training_curves(
    columns: Mapping[str, Mapping[str, Curves]], order: Sequence[str], name: str = "val_accuracy"
) -> Figure:
    """What was noted in every epoch; a panel a dataset and number of shots, a line a method.

    Args:
        columns: title of the panel -> method -> its curves.
        order: all methods; the place of one is its look.
        name: which of the curves, a key of `SHOWN_CURVES`.
    """
    scale, label = SHOWN_CURVES[name]
    with house_style():
        figure, axes = panels(len(columns))
        for axis, (title, curves) in zip(axes, columns.items(), strict=True):
            for method, curve in curves.items():
                values = scale * np.asarray(curve[name])
                every = max(1, len(values) // 6)
                epochs = np.arange(1, len(values) + 1)
                axis.plot(epochs, values, label=method, markevery=every, **look(order.index(method)))
            _label(axis, title, "epoch", label)
        _legend(figure, axes)
        return figure


def accuracy_against_shots(
    datasets: Mapping[str, Mapping[str, Sequence[tuple[int, float, float]]]], order: Sequence[str]
) -> Figure:
    """Test accuracy by number of shots with 95 % intervals; a panel a dataset.

    Args:
        datasets: title -> method -> (shots, accuracy, half its interval), shots ascending.
        order: all methods; the place of one is its look.
    """
    with house_style():
        figure, axes = panels(len(datasets))
        for axis, (title, methods) in zip(axes, datasets.items(), strict=True):
            for method, points in methods.items():
                shots, accuracy, half = (np.asarray(values) for values in zip(*points, strict=True))
                style = look(order.index(method))
                axis.errorbar(shots, 100 * accuracy, yerr=100 * half, label=method, capsize=2, **style)
            axis.set_xticks(sorted({point[0] for points in methods.values() for point in points}))
            axis.margins(x=0.2)
            _label(axis, title, "shots", "accuracy, %")
        _legend(figure, axes)
        return figure


def episode_distributions(columns: Mapping[str, Mapping[str, Floats]], order: Sequence[str]) -> Figure:
    """How accuracy differs between test episodes: median, quartiles, 5th to 95th percentile, and the mean as a diamond.

    Args:
        columns: title of the panel -> method -> accuracy of every episode.
        order: all methods, from top to bottom; each has the same height in every panel.
    """
    across = 3
    with house_style():
        figure, axes = panels(len(columns), across, height=0.8 + 0.19 * len(order))
        for place, (axis, (title, methods)) in enumerate(zip(axes, columns.items(), strict=True)):
            axis.boxplot(
                [100 * values for values in methods.values()],
                positions=[order.index(method) for method in methods],
                orientation="horizontal",
                manage_ticks=False,
                whis=(5, 95),
                showfliers=False,
                showmeans=True,
                widths=0.6,
                patch_artist=True,
                boxprops={"facecolor": "#cfe3f1", "edgecolor": COLOURS[0]},
                medianprops={"color": COLOURS[1], "linewidth": 1.6},
                meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 4},
            )
            axis.set_ylim(len(order) - 0.5, -0.5)
            axis.set_yticks(range(len(order)), list(order) if place % across == 0 else [""] * len(order))
            _label(axis, title, "accuracy of an episode, %", "")
        return figure


def reliability_curves(columns: Mapping[str, Mapping[str, Reliability]], order: Sequence[str]) -> Figure:
    """How often predictions are right by how probable they were said to be.

    Args:
        columns: title of the panel -> method -> its curve.
        order: all methods; the place of one is its look.
    """
    with house_style():
        figure, axes = panels(len(columns), height=2.4)
        for axis, (title, methods) in zip(axes, columns.items(), strict=True):
            axis.plot([0, 100], [0, 100], color="#555555", linestyle=":", linewidth=1)
            for method, curve in sorted(methods.items(), key=lambda item: order.index(item[0])):
                many = curve.count >= 0.01 * curve.count.sum()
                style = look(order.index(method))
                axis.plot(100 * curve.confidence[many], 100 * curve.accuracy[many], label=method, **style)
            axis.set_xlim(0, 100)
            axis.set_ylim(0, 100)
            _label(axis, title, "probability of the prediction, %", "right, %")
        _legend(figure, axes)
        return figure


def class_distribution(datasets: Mapping[str, tuple[npt.NDArray[np.integer], Split]]) -> Figure:
    """How many graphs each class has, largest first, and what the class serves.

    Args:
        datasets: title -> class of every graph, and the split.
    """
    kinds = (("base", COLOURS[0], ""), ("validation", COLOURS[5], "///"), ("novel", COLOURS[1], "xxx"))
    with house_style():
        figure, axes = panels(len(datasets), columns=2, width=3.8)
        for axis, (title, (y, split)) in zip(axes, datasets.items(), strict=True):
            classes, counts = np.unique(y, return_counts=True)
            order = np.argsort(-counts, kind="stable")
            classes, counts = classes[order], counts[order]
            for kind, colour, hatch in kinds:
                chosen = np.isin(classes, getattr(split, kind))
                places = np.flatnonzero(chosen)
                axis.bar(places, counts[chosen], color=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
            if len(classes) <= 30:
                axis.set_xticks(range(len(classes)), [str(c) for c in classes], fontsize=6)
            else:
                axis.set_xticks([])
            if counts.max() > 20 * counts.min():
                axis.set_yscale("log")
            axis.grid(visible=False, axis="x")
            _label(axis, title, "class", "graphs")
        handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=kind) for kind, colour, hatch in kinds]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
        return figure


def critical_difference(ranking: Ranking, titles: Mapping[str, str]) -> Figure:
    """Average ranks on a line, the best to the left; a bar joins methods that Nemenyi's test does not separate."""
    k = len(ranking.models)
    half = -(-k // 2)
    with house_style():
        figure, (axis,) = panels(1, width=6.4, height=1.2 + 0.22 * (half + len(ranking.cliques)))
        axis.set_axis_off()
        bars = 0.5 * len(ranking.cliques)
        axis.set_xlim(1 - 0.35 * (k - 1), k + 0.35 * (k - 1))
        axis.set_ylim(-(bars + half + 0.6), 2.2)
        axis.plot([1, k], [0, 0], color="black", linewidth=1)
        for tick in range(1, k + 1):
            axis.plot([tick, tick], [0, 0.25], color="black", linewidth=1)
            axis.text(tick, 0.4, str(tick), ha="center", va="bottom")
        axis.plot([1, 1 + ranking.critical_difference], [1.5, 1.5], color="black", linewidth=2, marker="|")
        axis.text(1, 1.65, f"critical difference {ranking.critical_difference:.2f}", ha="left", va="bottom")
        for place, (model, rank) in enumerate(zip(ranking.models, ranking.ranks, strict=True)):
            left = place < half
            depth = -(bars + 0.6 + (place if left else k - 1 - place))
            edge = 1 - 0.05 * (k - 1) if left else k + 0.05 * (k - 1)
            axis.plot([rank, rank, edge], [0, depth, depth], color="#555555", linewidth=0.8)
            text = f"{titles.get(model, model)}  {rank:.2f}" if left else f"{rank:.2f}  {titles.get(model, model)}"
            axis.text(edge, depth, f" {text} ", ha="right" if left else "left", va="center")
        for place, (start, end) in enumerate(ranking.cliques):
            ends = [ranking.ranks[start] - 0.03, ranking.ranks[end] + 0.03]
            axis.plot(ends, [-0.3 - 0.5 * place] * 2, color=COLOURS[1], linewidth=3.5, solid_capstyle="round")
        return figure


def _label(axis: Axes, title: str, x: str, y: str) -> None:
    axis.set_title(title.replace(", ", "\n") if len(title) > 24 else title)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, below them."""
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(6, len(handles)))
