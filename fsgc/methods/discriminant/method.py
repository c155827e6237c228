"""The discriminant (`discriminant`): no gradient, no network, fitted in seconds on one core.

Graphs are described by views (`views`), the views are scaled (`scaling`), a metric in closed form is fitted on base
classes (`metric`), and a shrunken linear discriminant classifies each episode (`head`). Which views, with what
weights, metric and shrinkage, a greedy search decides on classes that play novel ones (`search`), the same for all
datasets.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from tqdm import tqdm

from fsgc.arrays import Floats
from fsgc.data.descriptors.store import (
    Descriptors,
    DescriptorSettings,
    LabelKinds,
    compute_descriptors,
)
from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import Method, Preparation, Run, Scope, TaskShape
from fsgc.methods.discriminant.graph_data import GraphData, View
from fsgc.methods.discriminant.head import labelled_head
from fsgc.methods.discriminant.metric import METRICS
from fsgc.methods.discriminant.model import FittedDiscriminant, FittedPart, episode_scores
from fsgc.methods.discriminant.search import TAUS, Choice, Part, Report, Search, make_folds
from fsgc.methods.discriminant.views import VIEWS
from fsgc.settings import Count, NonNegative, settings
from fsgc.training.live import LiveRows
from fsgc.training.report import FitReport, peak_memory

PREPARATION = Preparation(
    maker="fsgc.data.descriptors.store:make_descriptors",
    section="descriptors",
    settings_type=DescriptorSettings,
    scope=Scope(shots=False, seed=False),
)


@settings
class DiscriminantSettings:
    """The section `discriminant` of `params.yaml`: how the search goes about it, for all datasets alike.

    Attributes:
        folds: how often base classes are left out, where there are no validation classes.
        episodes: of each of them; of validation classes as many as of all folds together, at most the stored ones.
        gain: what a further view, or another weight, must add to the accuracy.
        max_views: at most so many views.
    """

    folds: Count = 6
    episodes: Count = 100
    gain: NonNegative = 0.002
    max_views: Count = 4


class Discriminant(Method):
    """Views, a metric and a discriminant per episode.

    Args:
        shape: of the task; nothing here depends on it.
        settings: of the search.
        metric: whether there is a metric to choose; without, vectors are taken as they are.
        shrinkage: whether there is a shrinkage to choose; without, the nearest class mean decides.
        cycles: whether columns that count cycles may be used.
    """

    settings_type: ClassVar[type[Any]] = DiscriminantSettings
    section: ClassVar[str] = "discriminant"
    preparation: ClassVar[Preparation | None] = PREPARATION
    views: ClassVar[Mapping[str, View]] = VIEWS
    has_prototypes: bool = True
    episodes_at_once: int = 5000

    def __init__(
        self,
        shape: TaskShape,
        settings: DiscriminantSettings,
        metric: bool = True,
        shrinkage: bool = True,
        cycles: bool = True,
    ) -> None:
        super().__init__(shape, settings)
        self.settings, self.cycles = settings, cycles
        self.metrics = METRICS if metric else METRICS[:1]
        self.taus = TAUS if shrinkage else (inf,)
        self.extra: Mapping[str, Floats] = {}
        self._source: tuple[GraphStore, Split | None, Path | None] | None = None
        self._model: FittedDiscriminant | None = None
        self._table: list[dict[str, Any]] = []
        self._data: GraphData | None = None
        self._vectors: Tensor | None = None

    def attach(self, episodes: Episodes) -> None:
        """Take the graphs; their descriptors are read, or computed, when they are needed."""
        self._source = episodes.graphs, episodes.split, episodes.prepared
        self._data = self._vectors = None

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:  # noqa: ARG002
        """Take graphs of a user; their labels are known by what the model was fitted on."""
        self._source = graphs, None, None
        self._data = self._vectors = None

    def fit(self, run: Run) -> FitReport:
        """Choose views, weights, metric and shrinkage on classes that play novel ones; fit them on base classes."""
        start = time.perf_counter()
        curves = LiveRows(run.curves)
        with tqdm(desc="search", unit="choice", disable=None) as bar:

            def tell(tried: Choice, best: Choice) -> None:
                values = {"accuracy": tried.accuracy, "val_accuracy": best.accuracy, "views": len(best.parts)}
                curves.write({**values, "seconds": time.perf_counter() - start})
                bar.set_postfix(accuracy=f"{best.accuracy:.4f}", refresh=False)
                bar.update()

            self.choose(run.episodes, run.seed, tell)
        curves.close()
        best = [row["best"] for row in self._table]
        return FitReport(
            epochs=len(best),
            best_epoch=best.index(best[-1]) + 1,
            best=best[-1],
            seconds=time.perf_counter() - start,
            peak_memory=peak_memory(),
            parameters=self.model.transform.size,
            unit="choice",
        )

    def choose(self, episodes: Episodes, seed: int, tell: Report) -> None:
        """The same without curves; `tell` is called with every choice tried and the best so far."""
        data, y = self.data, episodes.graphs.y
        known = np.concatenate([*episodes.split.pools(y, "train").values()])
        rows: dict[tuple[str, str], Floats] = {}
        for name, view in VIEWS.items():
            if view.applies(data):
                fitted = [FittedPart.fit(Part(name, scaling), data, known) for scaling in view.scalings]
                rows |= {(name, part.part.scaling): part.rows(data) for part in fitted}
        self._table = []

        def note(tried: Choice, best: Choice) -> None:
            self._table.append({**tried.row(), "best": best.accuracy})
            tell(tried, best)

        chosen = self.settings
        folds = make_folds(episodes, seed, chosen.folds, chosen.episodes)
        choice = Search(rows, y, folds, note, chosen.gain, chosen.max_views, self.metrics, self.taus).run()
        further = tuple(Part(name, "plain") for name in self.extra)
        self._model = FittedDiscriminant.fit(replace(choice, parts=(*choice.parts, *further)), data, y, known)
        self._vectors = None

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """See `Method.predict`."""
        graphs = episodes.graphs.cpu()
        scores = episode_scores(self.all_vectors, graphs, episodes.shots, self.model.tau)
        return scores.to(episodes.graphs.device)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """See `Method.classify`; all supports of a class count, however many they are."""
        known, asked = self.all_vectors[support], self.all_vectors[query]
        return labelled_head(known, labels, asked).scores(self.model.tau)[0]

    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor:  # noqa: ARG002
        """The vectors that the discriminant sees, `[g, d]`."""
        return self.all_vectors[graphs]

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """The vectors that the discriminant sees, `[B, N, K+Q, d]`."""
        return self.all_vectors[episodes.graphs.cpu()].float()

    def state(self) -> dict[str, Any]:
        """The fitted model and the table of the search."""
        return {**self.model.state(), "search": self._table}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take what `state` gave."""
        self._model = FittedDiscriminant.from_state(state)
        self._table = list(state["search"])
        self._data = self._vectors = None

    @property
    def model(self) -> FittedDiscriminant:
        """What was fitted."""
        if self._model is None:
            raise RuntimeError("fit the discriminant, or load its state, first")
        return self._model

    @property
    def search_table(self) -> list[dict[str, Any]]:
        """Every choice that was tried: its views, γ, ε, ρ, τ and accuracy, and the best accuracy so far."""
        return self._table

    @property
    def all_vectors(self) -> Tensor:
        """The vectors of all attached graphs, `[G, d]`."""
        if self._vectors is None:
            self._vectors = self.model.vectors(self.data)
        return self._vectors

    @property
    def data(self) -> GraphData:
        """The attached graphs with their descriptors."""
        if self._data is None:
            if self._source is None:
                raise RuntimeError("attach the graphs first")
            descriptors = _descriptors(*self._source, self._model.kinds if self._model else None)
            self._data = GraphData(self._source[0], descriptors, not self.cycles, self.extra)
        return self._data


def _descriptors(
    graphs: GraphStore, split: Split | None, prepared: Path | None, kinds: LabelKinds | None
) -> Descriptors:
    """The prepared descriptors of these graphs, else new ones; `kinds` as a model knows labels, if there is one."""
    if prepared is not None and prepared.exists():
        stored = Descriptors.load(prepared)
        if stored.graphs == graphs.fingerprint() and kinds in (None, stored.kinds):
            return stored
    if kinds is None:
        if split is None:
            raise RuntimeError("fit the discriminant, or load its state, before it is given other graphs")
        base = np.flatnonzero(np.isin(graphs.y, split.base))
        kinds = LabelKinds.of(graphs, base, DescriptorSettings().max_labels)
    return compute_descriptors(graphs, kinds)
