"""FAITH (`faith`, `faith_inductive`): an episode among other tasks, told apart by what the tasks have in common.

Wang, Dong, Huang, Chen, Li: FAITH: Few-Shot Graph Classification with Hierarchical Task Graphs, IJCAI 2022.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.methods.contract import TaskShape
from fsgc.methods.faith.hierarchy import Layout, TaskHierarchy, task_scores
from fsgc.methods.faith.tasks import BasePools, TaskNoise, TrainingNoise, noise_of_supports
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.methods.smf_gin.adam import adam
from fsgc.methods.smf_gin.gin_pass import read_outs
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.settings import Count, Layers, NonNegative, Positive, Share, Width, settings
from fsgc.training.plan import Batches, BatchPlan

EPISODES_AT_ONCE = 32
"""Episodes whose sample graphs are worked out together in test: a graph of 600 samples has 360,000 similarities."""


@settings
class FaithSettings:
    """Hyperparameters; the values are those of the released code.

    Attributes:
        support_tasks: `P`, tasks of base classes beside the episode.
        gin_width: of the GIN's layers.
        convs: of the GIN.
        gin_mlp_layers: linear layers in each convolution.
        width: of all levels of the hierarchy.
        threshold: two samples, prototypes or tasks are connected if their cosine is above it.
        dropout: share dropped of what enters and what leaves the task level.
        classifier_weight: of the base classifier's loss.
        class_means: what the base classifier is given of a class in training: the mean of its `supports`, as in test,
            or of `all` its graphs (the released code).
        class_edges: the edges of weight 1: between the `supports` of a class, or `released`, the blocks of the released
            code, which miss the classes and tell labels of queries; the inductive row always has the former.
        memory: steps that the losses of classes are remembered for; they decide which classes training draws.
        first_loss: what the memory holds at first.
        largest_loss: a loss counts as no more.
        lr: learning rate of Adam.
        lr_factor: what the rate is multiplied with every `lr_period` steps.
        lr_period: see there.
    """

    support_tasks: Annotated[int, Field(ge=1, le=1000)] = 10
    gin_width: Width = 128
    convs: Layers = 4
    gin_mlp_layers: Layers = 2
    width: Width = 300
    threshold: Share = 0.8
    dropout: Share = 0.5
    classifier_weight: NonNegative = 0.001
    class_means: Literal["supports", "all"] = "supports"
    class_edges: Literal["supports", "released"] = "supports"
    memory: Annotated[int, Field(ge=1, le=100_000)] = 100
    first_loss: Positive = 10.0
    largest_loss: Positive = 20.0
    lr: Positive = 1e-3
    lr_factor: Positive = 0.2
    lr_period: Count = 500


class Faith(LearnedMethod):
    """A GIN, a linear classifier of base classes, and a hierarchy over the episode and its support tasks.

    The classifier, given the episode's supports, says which base classes are like its own; support tasks are drawn from
    those. All graphs are then nodes of the sample graph, the episode's queries among them, so that each query's scores
    depend on the others.

    In training the episode itself is drawn, too: classes on which the classifier had a large loss come more often. The
    losses remembered are a buffer, so that a resumed training draws what an undisturbed one would. In test the draw is
    a function of the episode's supports.

    Args:
        shape: of the tasks.
        settings: hyperparameters.
        inductive: whether each query has a sample graph of its own, with the supports.
    """

    settings_type: ClassVar[type[Any]] = FaithSettings
    section = "faith"
    episodes_at_once = 1000
    losses: Tensor
    steps: Tensor

    def __init__(self, shape: TaskShape, settings: FaithSettings, inductive: bool = False) -> None:
        super().__init__()
        self.settings = settings
        self.way = shape.way
        self.transductive = not inductive
        embedding = settings.convs * settings.gin_width
        self.gin = GINReadOuts(
            shape.num_features, settings.gin_width, settings.convs, settings.gin_mlp_layers, learnable_eps=True
        )
        self.classifier = nn.Linear(embedding, shape.base_classes)
        self.hierarchy = TaskHierarchy(embedding, settings.width, settings.threshold, settings.dropout, inductive)
        self.register_buffer("losses", torch.full((settings.memory, shape.base_classes), settings.first_loss))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self._pools: BasePools | None = None
        self._shots = self._queries = 0

    def attach(self, episodes: Episodes) -> None:
        """Take the graphs, and those of base classes to draw tasks from."""
        super().attach(episodes)
        self._pools = BasePools(episodes.graphs, episodes.split)
        self._shots, self._queries = episodes.shots, episodes.store.queries("train")

    @property
    def pools(self) -> BasePools:
        """The graphs of base classes that tasks are drawn from."""
        if self._pools is None:
            raise RuntimeError("attach the graphs first")
        return self._pools

    def train_batches(self, episodes: Episodes, plan: BatchPlan, epoch: int) -> Batches:
        """Noise that becomes tasks in `loss`, where the probabilities of classes are known."""
        per_epoch = plan.per_epoch or episodes.store.settings.train_per_epoch
        tasks = self.settings.support_tasks + 1
        return TrainingNoise(self.pools, tasks, self.way, plan.size, per_epoch, plan.seed, epoch)

    def loss(self, batch: TaskNoise) -> Loss:
        """Cross-entropy over the queries of all tasks, and that of the base classifier on the episodes' classes."""
        shots, queries = self._shots, self.pools.queries(self._shots, self._queries)
        likely = self.losses.clamp(max=self.settings.largest_loss).mean(0).log_softmax(0)
        likely = likely.expand(len(batch.graphs), -1)
        classes, drawn = self.pools.draw(likely, batch.tasks(slice(0, 1)), shots + queries)
        episode, classes = drawn[:, 0], classes[:, 0]
        others = self._support_tasks(episode[:, :, :shots], batch.tasks(slice(1, None)), shots + queries)
        layout = Layout(self.settings.support_tasks + 1, self.way, shots, queries, queries)
        z, place = self._embed(layout.line_up(episode, others))
        scores = self._scores(z, place, layout, every_task=True)
        labels = torch.arange(self.way, device=scores.device).repeat_interleave(queries).expand(scores.shape[:3])
        cross_entropy = F.cross_entropy(scores.flatten(0, 2), labels.flatten())
        per_class = self._classifier_losses(z, place, layout, classes)
        parts = {"cross_entropy": cross_entropy, "classifier": self.settings.classifier_weight * per_class.mean()}
        self._remember(classes, per_class.detach())
        return Loss(parts["cross_entropy"] + parts["classifier"], accuracy(scores[:, 0], labels[:, 0]), parts)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Scores −Σ_d sigmoid(t_d) (p_d − q_d)² of every query, `[B, N·Q, N]`."""
        z, place, layout = self._with_support_tasks(episodes)
        parts = [self._scores(z, part, layout, every_task=False)[:, 0] for part in torch.split(place, EPISODES_AT_ONCE)]
        return torch.cat(parts)

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """What the sample level makes of the episodes' own graphs, `[B, N, K+Q, d]`."""
        z, place, layout = self._with_support_tasks(episodes)
        edges, own, way = self._edges(layout), layout.way * layout.shots, layout.way
        found = []
        for part in torch.split(place, EPISODES_AT_ONCE):
            features = self.hierarchy.samples(z, part, layout, edges, layout.own).features
            supports, queries = features[:, :own], features[:, layout.supports :]
            found.append(
                torch.cat([rows.reshape(len(part), way, -1, rows.shape[2]) for rows in (supports, queries)], 2)
            )
        return torch.cat(found)

    def configure_optimizers(self) -> Any:
        """Adam, with less and less of its learning rate."""
        optimiser = adam(self.parameters(), self.settings.lr, self.trainer.precision)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, self.settings.lr_period, self.settings.lr_factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _with_support_tasks(self, episodes: EpisodeBatch) -> tuple[Tensor, Tensor, Layout]:
        """Embeddings of the distinct graphs of episodes and support tasks, the place of each row's own, the layout.

        Where queries are no neighbours of anything, those of support tasks are left out.
        """
        episodes = episodes.to(self.device)  # evaluation leaves the indices on the host, tasks are drawn on the device
        shots, tasks = episodes.shots, self.settings.support_tasks
        queries = self.pools.queries(shots, self._queries) if self.transductive else 0
        others = [
            self._support_tasks(supports, noise_of_supports(self.pools, supports, tasks), shots + queries)
            for supports in torch.split(episodes.support, EPISODES_AT_ONCE)
        ]
        layout = Layout(tasks + 1, self.way, shots, episodes.query.shape[2], queries)
        z, place = self._embed(layout.line_up(episodes.graphs, torch.cat(others)))
        return z, place, layout

    @torch.no_grad()
    def _support_tasks(self, supports: Tensor, noise: TaskNoise, per_class: int) -> Tensor:
        """Draw support tasks, `[B, P, N, per_class]`, from classes like those of the supports `[B, N, K]`.

        The look at the supports is one without gradients and with batch norm's running statistics: in training the
        graphs it may normalise with are not known yet.
        """
        training = self.gin.training
        self.gin.eval()
        z, place = self._embed(supports)
        self.gin.train(training)
        like = self.classifier(z[place].mean(2)).softmax(-1).sum(1).log_softmax(-1)
        return self.pools.draw(like, noise, per_class)[1]

    def _embed(self, graphs: Tensor) -> tuple[Tensor, Tensor]:
        """The embeddings of the distinct graphs, `[D, L·d]`, and where each graph finds its own."""
        distinct, place = torch.unique(graphs, return_inverse=True)
        return read_outs(self.gin, self.graphs, distinct), place

    def _edges(self, layout: Layout) -> Tensor:
        as_released = self.settings.class_edges == "released" and self.transductive
        return _edges(layout, as_released, self.device)

    def _scores(self, z: Tensor, place: Tensor, layout: Layout, every_task: bool) -> Tensor:
        """Scores of the queries of every task, `[B, T, N·Q, N]`, or of the episode alone, `[B, 1, N·Q, N]`."""
        rows = layout.rows if every_task else layout.own
        samples = self.hierarchy.samples(z, place, layout, self._edges(layout), rows)
        prototypes = self.hierarchy.prototypes(samples, layout)
        tasks = self.hierarchy.task_vectors(self.hierarchy.task_inputs(prototypes))
        count = layout.tasks if every_task else 1
        queries = samples.features[:, layout.supports :]
        queries = queries.reshape(len(queries), count, -1, queries.shape[2])
        return task_scores(queries, prototypes[:, :count], tasks[:, :count])

    def _classifier_losses(self, z: Tensor, place: Tensor, layout: Layout, classes: Tensor) -> Tensor:
        """The classifier's cross-entropy on the mean embedding of each class `[B, N]` of the episodes: `[B, N]`."""
        own = layout.way * layout.shots
        graphs = place[:, :own].view(len(place), layout.way, -1)
        if self.settings.class_means == "all":
            queries = place[:, layout.supports : layout.own].view(len(place), layout.way, -1)
            graphs = torch.cat([graphs, queries], 2)
        logits = self.classifier(F.embedding(graphs, z).mean(2))
        return F.cross_entropy(logits.flatten(0, 1), classes.flatten(), reduction="none").view_as(classes)

    def _remember(self, classes: Tensor, losses: Tensor) -> None:
        """Put the mean loss of each class that occurred into the memory's row of this step."""
        row = self.losses[self.steps % len(self.losses)]
        total, times = (torch.zeros_like(row).index_add(0, classes.flatten(), part.flatten().to(row))
                        for part in (losses, torch.ones_like(losses)))  # fmt: skip
        self.losses[self.steps % len(self.losses)] = torch.where(times > 0, total / times.clamp(min=1), row)
        self.steps += 1


@lru_cache(maxsize=4)
def _edges(layout: Layout, as_released: bool, device: torch.device) -> Tensor:
    """The edges of weight 1, `[R, R]`; kept, since those of all training episodes are the same."""
    return (layout.released_edges if as_released else layout.class_edges)(device)
