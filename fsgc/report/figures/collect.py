"""Which figures the results allow, each drawn and captioned, and why others are missing."""

from __future__ import annotations

from collections.abc import Callable

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.errors import StoreError
from fsgc.report.accuracy import method_title
from fsgc.report.comparison import Comparisons
from fsgc.report.curves import CURVES, STEPS, kept_curves
from fsgc.report.figures.discriminant import draw_discriminant, draw_searches
from fsgc.report.figures.plots import (
    accuracy_against_shots,
    class_distribution,
    critical_difference,
    episode_distributions,
    reliability_curves,
    training_curves,
)
from fsgc.report.figures.style import FigureSet, NamedFigure
from fsgc.report.kept import Kept
from fsgc.report.paper import Paper
from fsgc.report.provenance import PULL, dataset_title
from fsgc.report.ranks import ranking
from fsgc.report.reliability import Reliabilities
from fsgc.report.results import Result, Results
from fsgc.statistics.calibration import BINS, Reliability
from fsgc.workspace import Workspace


def draw_results(
    results: Results,
    comparisons: Comparisons,
    paper: Paper,
    workspace: Workspace,
    reliabilities: Reliabilities,
    kept: Kept,
) -> FigureSet:
    """The figures for which no model is loaded: ranks, shots, distributions, curves, classes; without results, none."""
    if not results.found:
        return FigureSet()
    makers: tuple[Callable[[], NamedFigure | str | None], ...] = (
        lambda: _ranks(results, paper),
        lambda: _shots(results, comparisons, paper),
        lambda: _episodes(results, paper),
        lambda: draw_reliability(results, paper, reliabilities),
        lambda: _curves(results, paper, kept),
        lambda: _steps(results, paper, kept),
        lambda: draw_discriminant(results),
        lambda: draw_searches(results, kept),
        lambda: _classes(results, workspace),
    )
    made = [make() for make in makers]
    return FigureSet(
        tuple(each for each in made if isinstance(each, NamedFigure)),
        tuple(each for each in made if isinstance(each, str)),
    )


def _order(results: Results, paper: Paper) -> list[str]:
    """The titles of all methods with results, in the order of the paper's tables, others last."""
    known = [row.model for row in paper.rows]
    models = sorted({model for *_, model in results.found})
    models.sort(key=lambda model: known.index(model) if model in known else len(known))
    return [method_title(model, paper) for model in models]


def _ranks(results: Results, paper: Paper) -> NamedFigure | None:
    ranked = ranking(results)
    if ranked is None:
        return None
    titles = {model: method_title(model, paper) for model in ranked.models}
    caption = (
        f"Average ranks over {', '.join(map(dataset_title, ranked.datasets))}, the accuracies with 5 and 10 shots on a "
        "dataset averaged first; 1 is the best. Bars join methods that do not differ at the 5 % level (Nemenyi; "
        f"Friedman's p over all is {ranked.friedman_p:.2g})."
    )
    return NamedFigure("ranks", "Average ranks", caption, critical_difference(ranked, titles))


def _shots(results: Results, comparisons: Comparisons, paper: Paper) -> NamedFigure | None:
    datasets: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for result in sorted(results.found.values(), key=lambda r: (r.dataset, r.model, r.shots)):
        methods = datasets.setdefault(dataset_title(result.dataset), {})
        point = (result.shots, result.mean, comparisons.intervals(result).default.half)
        methods.setdefault(method_title(result.variant, paper), []).append(point)
    shown = {title: m for title, m in datasets.items() if len({p[0] for points in m.values() for p in points}) > 1}
    if not shown:
        return None
    caption = "Test accuracy by number of shots, with the 95 % interval over graphs and seeds."
    drawing = accuracy_against_shots(shown, _order(results, paper))
    return NamedFigure("shots", "Accuracy against shots", caption, drawing)


def _by_column(results: Results) -> dict[str, list[Result]]:
    return {
        f"{dataset_title(dataset)}, {shots}-shot": found
        for dataset, shots in results.columns
        if (found := results.column(dataset, shots))
    }


def _episodes(results: Results, paper: Paper) -> NamedFigure:
    columns = {
        title: {method_title(result.variant, paper): result.per_episode for result in found}
        for title, found in _by_column(results).items()
    }
    caption = (
        "Accuracy of single test episodes: median (line), quartiles (box), 5th to 95th percentile (whiskers), "
        "mean (diamond)."
    )
    drawing = episode_distributions(columns, _order(results, paper))
    return NamedFigure("episodes", "Accuracy per episode", caption, drawing)


def draw_reliability(results: Results, paper: Paper, found: Reliabilities) -> NamedFigure | str:
    """How often predictions are right by how probable they were said to be; for the fewest shots there are."""
    least = {dataset: min(k for name, k, _ in found.curves if name == dataset) for dataset, *_ in found.curves}
    columns: dict[str, dict[str, Reliability]] = {}
    for (dataset, shots, variant), curve in found.curves.items():
        if results.result(dataset, shots, variant) and shots == least[dataset]:
            title = f"{dataset_title(dataset)}, {shots}-shot"
            columns.setdefault(title, {})[method_title(variant, paper)] = curve
    if not columns:
        return f"Reliability of probabilities: no scores are stored here. {PULL}"
    caption = (
        "Share of right predictions on novel test episodes by their probability, the softmax of the scores, in "
        f"{BINS} bins of equal width; bins of fewer than 1 % of the predictions are not drawn. On the dotted line "
        "probabilities are right; below it a method is too sure, above it not sure enough. The expected calibration "
        "error is the mean distance from the line, every prediction counted."
    )
    order = _order(results, paper)
    return NamedFigure("reliability", "Reliability of probabilities", caption, reliability_curves(columns, order))


def _curves(results: Results, paper: Paper, kept: Kept) -> NamedFigure | str:
    caption = "Accuracy on the validation episodes after every epoch, of each method's first seed."
    drawn = _of_curves("val_accuracy", results, paper, kept, "curves", "Training curves", caption)
    return drawn or f"Training curves: no curve is stored here. {PULL}"


def _steps(results: Results, paper: Paper, kept: Kept) -> NamedFigure | None:
    caption = (
        "Steps that the step controller lets a training episode take, averaged over each epoch: the least number and "
        "the whole part of one over its probability to stop, which begins at a half and, at its small learning rate, "
        "has to fall below a third before another step is added."
    )
    return _of_curves(STEPS, results, paper, kept, "steps", "Adaptive steps", caption)


def _of_curves(
    name: str, results: Results, paper: Paper, kept: Kept, key: str, title: str, caption: str
) -> NamedFigure | None:
    columns, shown = {}, []
    for column, found in _by_column(results).items():
        curves = [(result, kept_curves(result.cells[0], kept)) for result in found]
        noted = [(result, curve) for result, curve in curves if curve.get(name)]
        if noted:
            columns[column] = {method_title(result.variant, paper): curve for result, curve in noted}
            shown += [result.cells[0] for result, _ in noted]
    if not columns:
        return None
    words = " ".join(filter(None, [caption, kept.note(CURVES, shown)]))
    return NamedFigure(key, title, words, training_curves(columns, _order(results, paper), name))


def _classes(results: Results, workspace: Workspace) -> NamedFigure | str:
    datasets = {}
    for key in dict.fromkeys(dataset for dataset, _ in results.columns):
        splits = sorted(workspace.root.glob(f"splits/{key}-seed*.json"))
        try:
            if splits:
                datasets[dataset_title(key)] = (GraphStore.load(workspace.graphs(key)).y, Split.load(splits[0]))
        except StoreError:
            continue
    if not datasets:
        return "Class distribution: no graphs are stored here. Run 'fsgc build KEY' for a dataset KEY."
    caption = "Graphs of each class, largest first. The axis is logarithmic where classes are very unequal."
    return NamedFigure("classes", "Class distribution", caption, class_distribution(datasets))
