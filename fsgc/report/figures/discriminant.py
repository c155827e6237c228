"""The discriminant in two drawings: how it goes from a graph to a score, and how its search went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from fsgc.report.curves import CURVES, kept_curves
from fsgc.report.figures.style import COLOURS, NamedFigure, house_style, panels
from fsgc.report.kept import Kept
from fsgc.report.provenance import PULL, dataset_title
from fsgc.report.results import Results

METHOD = "discriminant"
EXPLANATION = (
    "The discriminant has no network and takes no gradient step; it is fitted in seconds on one core. A graph is "
    "described by a few views, each a documented function of that graph alone: statistics such as sizes and counts of "
    "small subgraphs, spectra, counts of labelled shortest paths, random features of nodes and edges, bags of words "
    "('fsgc models discriminant' lists them all). Each view is standardised, logged or brought to unit length, and to "
    "total variance 1, by training graphs of base classes. A metric in closed form, from the same graphs, makes "
    "directions in which graphs of one class differ count less and those in which classes differ more. In an episode a "
    "query then scores minus its squared distance from each class's mean, discounted in directions in which the "
    "episode's own supports vary within classes; τ says how much. Which views, with what weights, which metric and τ, "
    "a greedy search decides inside training, the same for every dataset, on classes that play novel ones: validation "
    "classes, or base classes left out in turn."
)
_BOXES = (  # heading, lines below it, which of the three parts of the work it belongs to
    ("Graph", ("nodes, edges,", "labels, attributes"), 0),
    ("Views", ("x₁ … x₄: up to four", "of statistics, spectra,", "paths, nodes, words …"), 0),
    ("Scale", ("standardise, log or", "unit length; each view", "to total variance 1"), 1),
    ("Metric", ("U (s + ε s̄)^(−γ/2)", "within classes, √(ψ + ρ)", "along class means"), 1),
    ("Discriminant", ("−(q−p)ᵀ S⁻¹ (q−p),", "S = I + RᵀR / (τ m)", "of the supports"), 2),
)
_PARTS = ("each graph by itself", "fitted on base classes", "fitted on each episode")


def draw_discriminant(results: Results) -> NamedFigure | None:
    """The method as a drawing and a paragraph; `None` if it has no results."""
    if not any(variant == METHOD for *_, variant in results.found):
        return None
    return NamedFigure("discriminant", "How the discriminant works", EXPLANATION, flow_chart())


def draw_searches(results: Results, kept: Kept) -> NamedFigure | str | None:
    """Accuracies of all choices that the search tried, per dataset and number of shots, of the first seed."""
    columns: dict[str, Mapping[str, Sequence[float]]] = {}
    shown, missing = [], False
    for (dataset, shots, variant), result in sorted(results.found.items(), key=lambda item: item[0]):
        if variant == METHOD:
            curves = kept_curves(result.cells[0], kept)
            if curves.get("accuracy") and curves.get("val_accuracy"):
                columns[f"{dataset_title(dataset)}, {shots}-shot"] = curves
                shown.append(result.cells[0])
            missing = missing or not curves
    if not columns:
        return f"The search of the discriminant: no curve is stored here. {PULL}" if missing else None
    caption = (
        "Each dot is a choice of views, weights, metric and shrinkage that the discriminant's search tried, in the "
        "order of trying, with its accuracy on classes that play novel ones; the line is the choice taken so far. "
        "First seed of each."
    )
    words = " ".join(filter(None, [caption, kept.note(CURVES, shown)]))
    return NamedFigure("search", "The search of the discriminant", words, search_curves(columns))


def flow_chart() -> Figure:
    """Boxes from a graph to the scores, with what each is fitted on below and the search above."""
    with house_style():
        figure, (axis,) = panels(1, width=8.4, height=2.5)
        axis.set_axis_off()
        axis.set_xlim(-0.1, 10.0)
        axis.set_ylim(-1.35, 2.35)
        for place, (heading, lines, part) in enumerate(_BOXES):
            left = 2 * place
            box = FancyBboxPatch(
                (left, 0),
                1.6,
                1.3,
                boxstyle="round,pad=0.04,rounding_size=0.1",
                facecolor="white",
                edgecolor=COLOURS[part],
                linewidth=1.6,
            )
            axis.add_patch(box)
            axis.text(left + 0.8, 1.12, heading, ha="center", va="center", fontweight="bold")
            axis.text(left + 0.8, 0.47, "\n".join(lines), ha="center", va="center", fontsize=6.5)
            if place:
                _arrow(axis, (left - 0.34, 0.65), (left - 0.06, 0.65))
        for part, words in enumerate(_PARTS):
            places = [2 * place for place, (*_, own) in enumerate(_BOXES) if own == part]
            ends = [places[0], places[-1] + 1.6]
            axis.plot(ends, [-0.35, -0.35], color=COLOURS[part], linewidth=2, solid_capstyle="round")
            axis.text(sum(ends) / 2, -0.62, words, ha="center", va="top", color=COLOURS[part])
        axis.plot([2, 9.6], [1.62, 1.62], color="#555555", linewidth=1, linestyle="--")
        axis.text(
            5.8,
            1.75,
            "search: views, weights, γ, ε, ρ, τ chosen on classes that play novel ones",
            ha="center",
            va="bottom",
            color="#555555",
        )
        return figure


def search_curves(columns: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """A panel a column: accuracies of the choices tried (`accuracy`), and of the best so far (`val_accuracy`)."""
    with house_style():
        figure, axes = panels(len(columns))
        for axis, (title, curves) in zip(axes, columns.items(), strict=True):
            tried, best = (100 * np.asarray(curves[name]) for name in ("accuracy", "val_accuracy"))
            axis.plot(np.arange(1, len(tried) + 1), tried, ".", color=COLOURS[0], label="tried")
            axis.step(np.arange(1, len(best) + 1), best, where="post", color=COLOURS[1], label="taken so far")
            axis.set_title(title.replace(", ", "\n") if len(title) > 24 else title)
            axis.set_xlabel("choice")
            axis.set_ylabel("accuracy, %")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        return figure


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axis.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1})
