"""A prototypical network's embedding under the discriminant: as one more view (`discriminant_pn`), alone (`head_pn`).

The network is trained as `pn` is; what is in closed form comes after.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.errors import SettingsError
from fsgc.methods.contract import Preparation, Run, TaskShape
from fsgc.methods.discriminant.graph_data import View
from fsgc.methods.discriminant.head import labelled_head, vector_head
from fsgc.methods.discriminant.method import PREPARATION, Discriminant, DiscriminantSettings
from fsgc.methods.discriminant.search import TAUS
from fsgc.methods.discriminant.views import VIEWS, ExtraView
from fsgc.methods.learned import accuracy
from fsgc.methods.prototypical.method import PrototypicalNetwork, PrototypicalSettings
from fsgc.training.report import FitReport

VIEW = "pn"


class HeadPN(PrototypicalNetwork):
    """A trained PN whose distances are those of the discriminant's head; τ is chosen on the validation episodes."""

    def __init__(self, shape: TaskShape, settings: PrototypicalSettings) -> None:
        super().__init__(shape, settings)
        self.tau: float | None = None

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """While the network is trained its own scores, then those of the head, `[B, N·Q, N]`."""
        if self.tau is None:
            return super().predict(episodes)
        return vector_head(self.embed(episodes), episodes.shots).scores(self.tau)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Scores of the head, with classes of any size: `[M, C]`."""
        z = self.vectors(support, labels, torch.cat([support, query]))
        return labelled_head(z[: len(support)], labels, z[len(support) :]).scores(
            inf if self.tau is None else self.tau
        )[0]

    @torch.no_grad()
    def choose(self, episodes: Episodes) -> None:
        """Take the τ with which most queries of the validation episodes are right."""
        right = torch.zeros(len(TAUS))
        for batch in episodes.batches("val", self.episodes_at_once):
            head = vector_head(self.embed(batch), batch.shots)
            right += len(batch.graphs) * torch.stack([accuracy(head.scores(tau), batch.labels) for tau in TAUS])
        self.tau = TAUS[int(right.argmax())]

    def fit(self, run: Run) -> FitReport:
        """Train the network, then choose τ."""
        self.tau = None
        report = super().fit(run)
        self.choose(run.episodes)
        return report

    def state(self) -> dict[str, Any]:
        """The weights and τ."""
        return {"weights": super().state(), "tau": self.tau}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take what `state` gave."""
        super().load_state(state["weights"])
        self.tau = inf if state["tau"] is None else float(state["tau"])


class DiscriminantPN(PrototypicalNetwork):
    """The discriminant with a trained PN's embedding as one more view.

    Its columns keep the scale they were learned with: standardised they are worth less. The other views, their weights,
    metric and shrinkage are chosen without it, for on classes that play novel ones a network that has seen them all
    looks better than it is.
    """

    preparation: ClassVar[Preparation | None] = PREPARATION
    views: ClassVar[Mapping[str, View]] = {**VIEWS, VIEW: ExtraView(VIEW)}

    def __init__(self, shape: TaskShape, settings: PrototypicalSettings) -> None:
        super().__init__(shape, settings)
        if self.transductive:
            raise SettingsError(
                "norm must not be 'episode' here: a view is a function of one graph, got an embedding of episodes",
                key="norm",
            )
        self.discriminant = Discriminant(shape, DiscriminantSettings())
        self.fitted = False

    def attach(self, episodes: Episodes) -> None:
        """Give the graphs to both."""
        super().attach(episodes)
        self.discriminant.attach(episodes)
        self.discriminant.extra = {}

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Give graphs of a user to both."""
        super().attach_graphs(graphs, features)
        self.discriminant.attach_graphs(graphs, features)
        self.discriminant.extra = {}

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """While the network is trained its own scores, then those of the discriminant, `[B, N·Q, N]`."""
        if not self.fitted:
            return super().predict(episodes)
        self._hand_over()
        return self.discriminant.predict(episodes)

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Scores of the discriminant, with classes of any size: `[M, C]`."""
        self._hand_over()
        return self.discriminant.classify(support, labels, query)

    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor:
        """The vectors that the discriminant sees, `[g, d]`."""
        self._hand_over()
        return self.discriminant.vectors(support, labels, graphs)

    def fit(self, run: Run) -> FitReport:
        """Train the network, then fit the discriminant."""
        self.fitted = False
        report = super().fit(run)
        self.choose(run.episodes, run.seed)
        return report

    def choose(self, episodes: Episodes, seed: int) -> None:
        """Fit the discriminant, with the embedding as the network has it now."""
        self._hand_over()
        self.discriminant.choose(episodes, seed, lambda _tried, _best: None)
        self.fitted = True

    def state(self) -> dict[str, Any]:
        """The weights, and what the discriminant holds."""
        return {"weights": super().state(), "discriminant": self.discriminant.state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take what `state` gave."""
        super().load_state(state["weights"])
        self.discriminant.load_state(state["discriminant"])
        self.fitted = True

    @torch.no_grad()
    def _hand_over(self) -> None:
        """Embed all graphs for the discriminant, unless that is done."""
        if not self.discriminant.extra:
            everything = torch.arange(len(self.graphs), device=self.device).view(1, 1, -1)
            embedding = self.embed(EpisodeBatch(everything, 0))[0, 0]
            self.discriminant.extra = {VIEW: embedding.double().cpu().numpy()}
