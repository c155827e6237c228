"""Which figures the results allow, each drawn and captioned, and why others are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.errors import FsgcError, StoreError
from fsgc.report.accuracy import method_title
from fsgc.report.comparison import Comparisons
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
from fsgc.report.paper import Paper
from fsgc.report.project import Project
from fsgc.report.provenance import PULL, dataset_title
from fsgc.report.ranks import ranking
from fsgc.report.reliability import Reliabilities
from fsgc.report.results import Result, Results
from fsgc.statistics.calibration import BINS, Reliability
from fsgc.workspace import Workspace

if TYPE_CHECKING:
    from fsgc.report.figures.latent_space import Embedded

EMBEDDED_MODELS = ("pn", "pn_tae", "pn_tae_mu", "gsm")
MIXUP_PAIRS = (("pn_tae", "pn_tae_mu"), ("pn", "pn_mu"))
TSNE_EPISODES = (0, 1, 2)
SIMILARITY_EPISODES = 100


def draw_results(
    results: Results, comparisons: Comparisons, paper: Paper, workspace: Workspace, reliabilities: Reliabilities
) -> FigureSet:
    """The figures that need no model: ranks, shots, distributions, curves, classes; without results, none."""
    if not results.found:
        return FigureSet()
    makers: tuple[Callable[[], NamedFigure | str | None], ...] = (
        lambda: _ranks(results, paper),
        lambda: _shots(results, comparisons, paper),
        lambda: _episodes(results, paper),
        lambda: draw_reliability(results, paper, reliabilities),
        lambda: _curves(results, paper),
        lambda: _steps(results, paper),
        lambda: draw_discriminant(results),
        lambda: draw_searches(results),
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


def _curves(results: Results, paper: Paper) -> NamedFigure | str:
    caption = "Accuracy on the validation episodes after every epoch, of each method's first seed."
    drawn = _of_curves("val_accuracy", results, paper, "curves", "Training curves", caption)
    return drawn or f"Training curves: no curve is stored here. {PULL}"


def _steps(results: Results, paper: Paper) -> NamedFigure | None:
    caption = "Steps that the step controller lets a training episode take, averaged over each epoch."
    return _of_curves("steps", results, paper, "steps", "Adaptive steps", caption)


def _of_curves(name: str, results: Results, paper: Paper, key: str, title: str, caption: str) -> NamedFigure | None:
    columns = {}
    for column, found in _by_column(results).items():
        curves = {method_title(result.variant, paper): result.cells[0].curves() for result in found}
        noted = {method: curve for method, curve in curves.items() if curve.get(name)}
        if noted:
            columns[column] = noted
    if not columns:
        return None
    return NamedFigure(key, title, caption, training_curves(columns, _order(results, paper), name))


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


def draw_latent_spaces(results: Results, paper: Paper, project: Project) -> FigureSet:
    """The figures that need models and stored episodes: t-SNE and class similarity, for the fewest shots there are."""
    figures: list[NamedFigure] = []
    gaps: list[str] = []
    for dataset in dict.fromkeys(dataset for dataset, *_ in results.found):
        shots = min(number for name, number, _ in results.found if name == dataset)
        title = f"{dataset_title(dataset)}, {shots}-shot"
        if not any(results.result(dataset, shots, model) for model in EMBEDDED_MODELS):
            continue
        try:
            drawn = _latent_spaces_of(title, dataset, shots, results, paper, project)
        except FsgcError as error:
            gaps.append(f"Embeddings: {title}: {error}.")
            continue
        figures += drawn
        gaps += [] if drawn else [f"Embeddings: {title}: the model files are not stored here. {PULL}"]
    return FigureSet(tuple(figures), tuple(gaps))


def _latent_spaces_of(
    title: str, dataset: str, shots: int, results: Results, paper: Paper, project: Project
) -> list[NamedFigure]:
    from fsgc.report.figures.latent_space import class_separation, class_similarity_figure

    made = []
    if tsne := draw_tsne(dataset, shots, EMBEDDED_MODELS, TSNE_EPISODES, results, paper, project):
        caption = (
            "t-SNE of novel test episodes: crosses are queries, circles supports, stars prototypes, colours classes."
        )
        made.append(NamedFigure(f"tsne-{dataset}", f"Embeddings: {title}", f"{title}. {caption}", tsne))
    for pair in MIXUP_PAIRS:
        found = embed_models(dataset, shots, pair, range(SIMILARITY_EPISODES), results, project)
        if len(found) == len(pair):
            without, with_mixup = (class_separation(found[model]) for model in pair)
            names = " and ".join(method_title(model, paper) for model in pair)
            caption = (
                f"{title}: mean squared distance of each novel class to the others, {names}: with mixup minus without. "
                "Above zero, classes are further apart with mixup. Models scale their embeddings differently, so "
                "distances are in units of each model's own mean squared distance within a class. 100 samples per "
                "class."
            )
            drawing = class_similarity_figure({title: (without, with_mixup)})
            heading = f"Class similarity and mixup: {title}"
            made.append(NamedFigure(f"similarity-{dataset}", heading, caption, drawing))
            break
    return made


def embed_models(
    dataset: str, shots: int, models: Sequence[str], numbers: Sequence[int], results: Results, project: Project
) -> Mapping[str, Embedded]:
    """The embeddings of stored test episodes under each of the models that has a result and embeddings."""
    from fsgc.report.figures.latent_space import embed_episodes

    embedded = {}
    for model in models:
        result = results.result(dataset, shots, model)
        if result is None or not (result.cells[0].model / "model.pt").exists():
            continue
        if (points := embed_episodes(result.cells[0], project.episodes(result.cells[0].key), numbers)) is not None:
            embedded[model] = points
    return embedded


def draw_tsne(
    dataset: str,
    shots: int,
    models: Sequence[str],
    numbers: Sequence[int],
    results: Results,
    paper: Paper,
    project: Project,
) -> Figure | None:
    """t-SNE of the same test episodes under several models; `None` if none of them has embeddings."""
    from fsgc.report.figures.latent_space import tsne_figure

    embedded = embed_models(dataset, shots, models, numbers, results, project)
    shown = {method_title(model, paper): points for model, points in embedded.items()}
    return tsne_figure(shown, numbers) if shown else None
