"""Which figures of embeddings there can be, from models that are here or from what was kept of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from matplotlib.figure import Figure

from fsgc.errors import FsgcError
from fsgc.report.accuracy import method_title
from fsgc.report.cells import Cell
from fsgc.report.figures.embeddings import SEPARATION, TSNE, Placed, class_similarity_figure, tsne_figure
from fsgc.report.figures.style import FigureSet, NamedFigure
from fsgc.report.kept import Kept, Section
from fsgc.report.paper import Paper
from fsgc.report.project import Project
from fsgc.report.provenance import PULL, dataset_title
from fsgc.report.results import Results

EMBEDDED_MODELS = ("pn", "pn_tae", "pn_tae_mu", "gsm")
MIXUP_PAIRS = (("pn_tae", "pn_tae_mu"), ("pn", "pn_mu"))
TSNE_EPISODES = (0, 1, 2)
SIMILARITY_EPISODES = 100
T = TypeVar("T")


def draw_latent_spaces(results: Results, paper: Paper, project: Project, kept: Kept, embed: bool = True) -> FigureSet:
    """t-SNE and class similarity of each dataset, for the fewest shots there are.

    Args:
        results: whose models embed.
        paper: for the names of methods.
        project: where stored episodes are.
        kept: numbers of models that are not here.
        embed: whether to load models; if not, only what was kept is drawn.
    """
    figures: list[NamedFigure] = []
    gaps: list[str] = []
    for dataset in dict.fromkeys(dataset for dataset, *_ in results.found):
        shots = min(number for name, number, _ in results.found if name == dataset)
        if not any(results.result(dataset, shots, model) for model in EMBEDDED_MODELS):
            continue
        column = _Column(dataset, shots, results, paper, project if embed else None, kept)
        drawn = [figure for figure in (column.tsne(), column.similarity()) if figure]
        figures += drawn
        gaps += [f"Embeddings: {column.title}: {error}." for error in dict.fromkeys(column.errors)]
        if embed and not drawn and not column.errors:
            gaps.append(f"Embeddings: {column.title}: the model files are not stored here. {PULL}")
    return FigureSet(tuple(figures), tuple(gaps))


@dataclass(frozen=True)
class _Column:
    """One dataset and number of shots; `project` is `None` if no model is to be loaded."""

    dataset: str
    shots: int
    results: Results
    paper: Paper
    project: Project | None
    kept: Kept
    errors: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{dataset_title(self.dataset)}, {self.shots}-shot"

    def tsne(self) -> NamedFigure | None:
        found = self._numbers(TSNE, EMBEDDED_MODELS, lambda cell, project: _place(cell, project, TSNE_EPISODES))
        shown = {model: placed for model, placed in found.items() if placed.numbers == list(TSNE_EPISODES)}
        if not shown:
            return None
        caption = (
            "t-SNE of novel test episodes: crosses are queries, circles supports, stars prototypes, colours classes."
        )
        drawing = tsne_figure({method_title(model, self.paper): placed for model, placed in shown.items()})
        words = self._words(f"{self.title}. {caption}", TSNE, list(shown))
        return NamedFigure(f"tsne-{self.dataset}", f"Embeddings: {self.title}", words, drawing)

    def similarity(self) -> NamedFigure | None:
        for pair in MIXUP_PAIRS:
            found = self._numbers(SEPARATION, pair, _separate)
            if len(found) < len(pair) or len({frozenset(each) for each in found.values()}) > 1:
                continue
            names = " and ".join(method_title(model, self.paper) for model in pair)
            caption = (
                f"{self.title}: mean squared distance of each novel class to the others, {names}: with mixup minus "
                "without. Above zero, classes are further apart with mixup. Models scale their embeddings differently, "
                "so distances are in units of each model's own mean squared distance within a class. 100 samples per "
                "class."
            )
            without, with_mixup = (found[model] for model in pair)
            drawing = class_similarity_figure({self.title: (without, with_mixup)})
            heading, words = f"Class similarity and mixup: {self.title}", self._words(caption, SEPARATION, pair)
            return NamedFigure(f"similarity-{self.dataset}", heading, words, drawing)
        return None

    def _numbers(
        self, section: Section[T], models: Sequence[str], compute: Callable[[Cell, Project], T | None]
    ) -> dict[str, T]:
        """The numbers of each model that has a result and numbers; what went wrong with others goes to `errors`."""
        found = {}
        for model in models:
            if result := self.results.result(self.dataset, self.shots, model):
                try:
                    value = self.kept.get(section, result.cells[0], self._reader(compute))
                except FsgcError as error:
                    self.errors.append(str(error))
                    continue
                if value is not None:
                    found[model] = value
        return found

    def _reader(self, compute: Callable[[Cell, Project], T | None]) -> Callable[[Cell], T | None]:
        project = self.project
        return (lambda cell: compute(cell, project)) if project else (lambda _: None)

    def _words(self, caption: str, section: Section[T], models: Sequence[str]) -> str:
        """The caption, and which of the models were trained anew since."""
        shown = [self.results.found[self.dataset, self.shots, model].cells[0] for model in models]
        return " ".join(filter(None, [caption, self.kept.note(section, shown)]))


def _place(cell: Cell, project: Project, numbers: Sequence[int]) -> Placed | None:
    """Test episodes in the plane; `None` where the model is not here or does not embed."""
    from fsgc.report.figures.latent_space import embed_episodes, place

    if not (cell.model / "model.pt").exists():
        return None
    embedded = embed_episodes(cell, project.episodes(cell.key), numbers)
    return place(embedded, numbers) if embedded else None


def _separate(cell: Cell, project: Project) -> dict[int, float] | None:
    """How far classes are apart; `None` where the model is not here or does not embed."""
    from fsgc.report.figures.latent_space import class_separation, embed_episodes

    if not (cell.model / "model.pt").exists():
        return None
    embedded = embed_episodes(cell, project.episodes(cell.key), range(SIMILARITY_EPISODES))
    return class_separation(embedded) if embedded else None


def draw_tsne(
    dataset: str,
    shots: int,
    models: Sequence[str],
    numbers: Sequence[int],
    results: Results,
    paper: Paper,
    project: Project,
) -> Figure | None:
    """t-SNE of the same test episodes under several models; `None` if none of them is here and has embeddings."""
    shown = {}
    for model in models:
        result = results.result(dataset, shots, model)
        if result and (placed := _place(result.cells[0], project, numbers)):
            shown[method_title(model, paper)] = placed
    return tsne_figure(shown) if shown else None
