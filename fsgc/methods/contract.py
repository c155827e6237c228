"""What a method is to the rest of fsgc; it needs neither a training framework nor a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fsgc.errors import FsgcError
from fsgc.training.report import FitReport, peak_memory

if TYPE_CHECKING:
    from torch import Tensor

    from fsgc.data.encodings import FeatureTable
    from fsgc.data.graph_store import GraphStore
    from fsgc.episodes.batches import EpisodeBatch, Episodes
    from fsgc.training.settings import TrainSettings


@dataclass(frozen=True)
class TaskShape:
    """What decides the shapes of a method's weights.

    Attributes:
        num_features: width of the node features.
        way: N, the classes of an episode.
        base_classes: how many classes there are to train on.
    """

    num_features: int
    way: int
    base_classes: int

    @classmethod
    def of(cls, episodes: Episodes) -> TaskShape:
        """The shape of stored episodes."""
        return cls(episodes.num_features, episodes.way, len(episodes.split.base))


@dataclass(frozen=True)
class Scope:
    """What a result varies with, beyond the dataset, the settings and the code.

    Attributes:
        shots: whether K changes it.
        seed: whether the seed (of the split, the training episodes and the weights) changes it.
    """

    shots: bool
    seed: bool


@dataclass(frozen=True)
class Preparation:
    """What a method wants to have computed once for a dataset: a Gram matrix, super-classes, descriptors.

    Attributes:
        maker: `module:function`, loaded by the step `prepare` only. The function is called as
            `maker(out, graphs, split, settings, **options)`, writes one store at the path `out` and returns a sentence.
        section: the section of `params.yaml` with its settings.
        settings_type: the class of these settings.
        scope: what the store varies with.
    """

    maker: str
    section: str
    settings_type: type[Any]
    scope: Scope


@dataclass(frozen=True)
class Run:
    """One training: what it learns from, how, and where it keeps what.

    Attributes:
        episodes: the stored episodes; the test ones are not to be touched.
        settings: the training loop.
        seed: of everything drawn in training.
        state: a directory for checkpoints; a run found there that was killed is resumed.
        curves: where the values of every epoch go, for `dvc plots`.
        identity: names the code and settings of this run; a state of another identity is not resumed.
    """

    episodes: Episodes
    settings: TrainSettings
    seed: int
    state: Path
    curves: Path
    identity: str


class Method(ABC):
    """Classifies the queries of episodes. Everything after training knows only this.

    A method is made from the shape of its tasks and its settings, and is then given graphs by `attach`.

    Attributes:
        settings_type: the class of its hyperparameters.
        section: the section of `params.yaml` that they are in.
        preparation: what it needs once per dataset; None for most.
        trained_for: what a trained model varies with.
        transductive: whether a query's scores depend on the other queries of its episode.
        has_prototypes: whether it classifies by the means of the supports' embeddings.
        episodes_at_once: how many episodes `predict` should be given at a time.
        any_way: whether it tells any number of classes apart, or only as many as it was made for.
        reads_nodes: whether it looks at the labels and attributes of nodes themselves, beside their features.
    """

    settings_type: ClassVar[type[Any]]
    section: ClassVar[str]
    preparation: ClassVar[Preparation | None] = None
    trained_for: ClassVar[Scope] = Scope(shots=True, seed=True)
    transductive: bool = False
    has_prototypes: bool = False
    episodes_at_once: int = 64
    any_way: ClassVar[bool] = True
    reads_nodes: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, shape: TaskShape, settings: Any, **options: Any) -> None:
        """Make the method for tasks of a shape; `options` are those of its line in the registry."""
        super().__init__()

    @abstractmethod
    def attach(self, episodes: Episodes) -> None:
        """Give the method the graphs that episodes refer to, and what was prepared for them."""

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:  # noqa: ARG002
        """Give the method graphs that no stored episode refers to: a user's, to be classified by `classify`."""
        raise FsgcError(f"{type(self).__name__} works on the stored episodes of a dataset only, not on other graphs")

    def fit(self, run: Run) -> FitReport:  # noqa: ARG002
        """Learn from base classes, choosing on validation data only; a method with nothing to learn is ready."""
        return FitReport(epochs=0, best_epoch=0, best=None, seconds=0.0, peak_memory=peak_memory(), parameters=0)

    def state(self) -> dict[str, Any]:
        """What a model file must hold: tensors, numbers, words, and lists and dictionaries of them."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` gave; what is missing, left over or of another shape is a RuntimeError."""
        if state:
            raise RuntimeError(f"unexpected {', '.join(sorted(state))}")

    @abstractmethod
    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores of every query for every class of its episode, `[B, N·Q, N]`; the largest is the prediction.

        Gradients are off; a method that adapts to an episode turns them on for itself.
        """

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """Scores of some graphs given labelled ones, any number of each class: `[M, C]`.

        Unless a method has something better, this is one episode: supports of smaller classes are repeated until all
        classes have as many, so that every class weighs the same.

        Args:
            support: int64 `[S]`, indices of attached graphs.
            labels: int64 `[S]`, their classes, 0 to C−1, each at least once.
            query: int64 `[M]`, indices of the graphs to classify.
        """
        from fsgc.episodes.batches import EpisodeBatch

        return self.predict(EpisodeBatch.of_labelled(support, labels, query))[0, : len(query)]

    def vectors(self, support: Tensor, labels: Tensor, graphs: Tensor) -> Tensor | None:  # noqa: ARG002
        """The vectors by which `classify` would tell `graphs` `[g]` apart, `[g, d]`; None if it has none."""
        return None

    def embed(self, episodes: EpisodeBatch) -> Tensor | None:  # noqa: ARG002
        """The vectors by which the method tells graphs apart, `[B, N, K+Q, d]`; None if it has none."""
        return None
