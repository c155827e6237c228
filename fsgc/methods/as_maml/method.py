"""AS-MAML (`as_maml`): MAML with a graph network that pools, and a number of steps that is learned.

Ma et al.: Adaptive-Step Graph Meta-Learner for Few-Shot Graph Classification, CIKM 2020.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.features import node_features
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes, StoredBatches
from fsgc.errors import SettingsError
from fsgc.methods.as_maml.adaptation import Path, Supports, adapted, outer_loss
from fsgc.methods.as_maml.adaptation_kernel import Steps, adapt_and_score, usable
from fsgc.methods.as_maml.network_pass import forward
from fsgc.methods.as_maml.path_kernel import CompiledPath
from fsgc.methods.as_maml.path_kernel import usable as path_usable
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.methods.as_maml.step_controller import State, StepController, policy_loss, steps_of
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.settings import Count, Layers, NonNegative, Positive, Width, settings
from fsgc.training.plan import Batches, BatchPlan

CHUNK_CPU = 6_000
"""Nodes of supports that a CPU adapts at a time: few enough for its caches, enough to outweigh the calls."""


@settings
class AsMamlSettings:
    """Hyperparameters; the defaults are those of AS-MAML's released code, but for `carry_state`.

    Attributes:
        inputs: `dataset`, the node features of the dataset, `degree`, the degree as a number (the authors of the
            paper on TRIANGLES, Letter-High, ENZYMES and Reddit), or `log_degree`, the logarithm of one more than it:
            with the degrees of Reddit, up to 3062, the first steps end in a loss that is NaN. Features that the
            experiment names, such as `structural`, are not replaced.
        width: of the convolutions.
        levels: convolutions, each followed by a pooling.
        ratio: share of a graph's nodes that a pooling keeps.
        root_weight: whether a convolution has a matrix of its own for the node itself; the released code has not.
        inner_lr: learning rate of a task's steps.
        outer_lr: learning rate of Adam.
        controller_lr: that of Adam on the step controller.
        weight_decay: of Adam.
        plateau_patience: epochs without a lower validation loss after which learning rates are halved.
        least_lr: the learning rates are not halved below it.
        min_steps: fewest steps of a task.
        max_steps: most steps of a training task.
        test_steps: steps of a validation or test task.
        step_penalty: cost of steps in the controller's reward.
        controller_width: of the step controller's state.
        carry_state: whether that state goes on from step to step, or begins anew at each (the released code).
        first_order: whether the outer gradient takes the inner gradients for constants.
        val_episodes: validation episodes of an epoch; the first of those stored.
    """

    inputs: Literal["dataset", "degree", "log_degree"] = "dataset"
    width: Annotated[int, Field(ge=2, le=16_384)] = 128
    levels: Layers = 3
    ratio: Annotated[float, Field(gt=0, le=1)] = 0.5
    root_weight: bool = False
    inner_lr: Positive = 0.01
    outer_lr: Positive = 1e-3
    controller_lr: Positive = 1e-4
    weight_decay: NonNegative = 1e-5
    plateau_patience: Count = 35
    least_lr: NonNegative = 1e-5
    min_steps: Count = 5
    max_steps: Count = 15
    test_steps: Count = 15
    step_penalty: NonNegative = 0.001
    controller_width: Width = 20
    carry_state: bool = True
    first_order: bool = False
    val_episodes: Count = 200

    def __post_init__(self) -> None:
        if self.max_steps < self.min_steps:
            raise SettingsError(
                f"max_steps must be at least min_steps ({self.min_steps}), got {self.max_steps}", key="max_steps"
            )

    def without_replacement(self) -> AsMamlSettings:
        """The same for node features that the experiment names: degrees do not stand in for them."""
        return replace(self, inputs="dataset")


class Adapted(NamedTuple):
    """The episodes of a batch after as many steps as the controller gave each.

    Attributes:
        path: the steps.
        steps: of each episode.
        logits: `[T, B]`, of stopping, at each step of the longest episode.
    """

    path: Path | CompiledPath
    steps: list[int]
    logits: Tensor


class AdaptiveStepMaml(LearnedMethod):
    """Meta-learn weights that a few gradient steps fit to an episode, and how many steps that should be.

    The episodes of a batch take their steps side by side. How many steps an episode takes depends on the controller's
    verdict at the end of the episode before it, which is read off as soon as that one has ended.
    """

    settings_type = AsMamlSettings
    section = "as_maml"
    mixed_precision = False
    episodes_at_once = 64
    any_way = False

    def __init__(self, shape: TaskShape, settings: AsMamlSettings) -> None:
        super().__init__()
        self.settings = settings
        num_features = shape.num_features if settings.inputs == "dataset" else 1
        self.network = SagNetwork(num_features, settings.width, settings.levels, shape.way, settings.root_weight)
        self.controller = StepController(settings.controller_width, settings.carry_state)
        self.stop_probability: Tensor
        self.register_buffer("stop_probability", torch.tensor(0.5))

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Take the node features of the dataset, or degrees instead of them."""
        self._num_nodes = torch.from_numpy(graphs.num_nodes)
        if self.settings.inputs != "dataset":
            features = node_features(graphs, ["degree"], graphs.classes.tolist())
        if self.settings.inputs == "log_degree":
            features = FeatureTable(np.log1p(features.table), features.code)
        super().attach_graphs(graphs, features)

    def val_batches(self, episodes: Episodes, plan: BatchPlan) -> Batches:
        """The first of the stored validation episodes, as many at a time as in test: nothing is kept of them."""
        size = max(plan.size, self.episodes_at_once)
        return StoredBatches.of(episodes, "val", size, first=self.settings.val_episodes)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Logits of the queries, `[B, N·Q, N]`, after `test_steps` steps on the supports."""
        settings, weights = self.settings, self.network.stacked(1)
        if usable(weights, self.graphs, settings.root_weight):
            steps = Steps(settings.test_steps, settings.inner_lr, settings.ratio)
            return adapt_and_score(weights, self.graphs, episodes, steps)
        # Episodes of like size are adapted together: little is filled up.
        order = self._num_nodes[episodes.support.flatten(1).cpu()].sum(1).argsort(stable=True)
        order = order.to(episodes.graphs.device)
        graphs = episodes.graphs.index_select(0, order)
        most = CHUNK_CPU if self.graphs.device.type == "cpu" else None
        sizes = self.graphs.chunk_sizes(graphs[:, :, : episodes.shots].flatten(1), most)
        scores = torch.cat([self._predict(EpisodeBatch(part, episodes.shots)) for part in torch.split(graphs, sizes)])
        return torch.empty_like(scores).index_copy_(0, order.to(scores.device), scores)

    def loss(self, episodes: EpisodeBatch) -> Loss:
        """Cross-entropy of the queries after adaptation, and the controller's policy loss; means over episodes."""
        settings, labels = self.settings, episodes.labels.to(self.graphs.device)
        done = self._adapt(episodes)
        end = done.path.end(done.steps, settings.first_order)
        steps = torch.tensor(done.steps, device=labels.device)
        right = self._accuracies(done, labels).scatter(0, (steps - 1)[None], _right(end.logits, labels)[None])
        policy = policy_loss(done.logits, right, steps, settings.min_steps, settings.step_penalty)
        parts = {
            "query_loss": outer_loss(dict(self.network.named_parameters()), end.losses.mean(), end.gradient),
            "policy_loss": policy.mean(),
        }
        total = parts["query_loss"] + parts["policy_loss"]
        parts |= {"steps": steps.float().mean(), "stop_probability": self.stop_probability.clone()}
        return Loss(total, accuracy(end.logits, labels), parts)

    def configure_optimizers(self) -> Any:
        """Adam, with a learning rate of its own for the controller; halved where validation stands still."""
        settings = self.settings
        groups = [
            {"params": list(self.network.parameters()), "lr": settings.outer_lr},
            {"params": list(self.controller.parameters()), "lr": settings.controller_lr},
        ]
        optimiser = torch.optim.Adam(groups, weight_decay=settings.weight_decay)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimiser, factor=0.5, patience=settings.plateau_patience, min_lr=settings.least_lr
        )
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"}}

    @torch.no_grad()
    def _predict(self, episodes: EpisodeBatch) -> Tensor:
        supports = self._supports(episodes)
        weights = adapted(self.network.stacked(len(supports.labels)), supports, self.settings.test_steps)
        return forward(weights, self._pooled(episodes.query)).logits

    def _pooled(self, graphs: Tensor) -> PooledGraphs:
        settings = self.settings
        return PooledGraphs.make(self.graphs, graphs.flatten(1), settings.levels, settings.ratio, settings.root_weight)

    def _supports(self, episodes: EpisodeBatch) -> Supports:
        labels = episodes.support_labels.to(self.graphs.device).expand(len(episodes.graphs), -1)
        return Supports(self._pooled(episodes.support), labels, self.settings.inner_lr)

    def _path(self, episodes: EpisodeBatch) -> Path | CompiledPath:
        settings, weights = self.settings, self.network.stacked(1)
        if path_usable(weights, self.graphs, settings.root_weight):
            return CompiledPath(weights, self.graphs, episodes, settings.inner_lr, settings.ratio)
        start, labels = self.network.stacked(len(episodes.graphs)), episodes.labels.to(self.graphs.device)
        return Path(start, self._supports(episodes), self._pooled(episodes.query), labels, settings.max_steps)

    def _adapt(self, episodes: EpisodeBatch) -> Adapted:
        """Take steps until every episode has had as many as the verdict on the one before it gives it."""
        least, most = self.settings.min_steps, self.settings.max_steps
        path, count = self._path(episodes), len(episodes.graphs)
        logits: list[Tensor] = []
        verdicts: dict[int, list[float]] = {}
        state: State | None = None
        steps = [steps_of(float(self.stop_probability), least, most)]
        while len(logits) < max(steps):
            logit, state = self.controller(*path.go_on(), state)
            logits.append(logit)
            if len(logits) >= least:  # read for all episodes at once: a device has to be waited for
                verdicts[len(logits)] = logit.detach().sigmoid().tolist()
            while len(steps) < count and steps[-1] <= len(logits):
                steps.append(steps_of(verdicts[steps[-1]][len(steps) - 1], least, most))
        self.stop_probability.copy_(logits[steps[-1] - 1][-1].detach().sigmoid())
        return Adapted(path, steps, torch.stack(logits))

    def _accuracies(self, done: Adapted, labels: Tensor) -> Tensor:
        """Accuracies on the queries after each step, `[T, B]`: where an episode may stop but none has come to its end.

        Zero elsewhere, where it does not matter, and after the last step of all, which is looked at anyway.
        """
        accuracies = torch.zeros(done.logits.shape, dtype=torch.float32, device=labels.device)
        for step in range(self.settings.min_steps, len(accuracies)):
            accuracies[step - 1] = _right(done.path.scores(step), labels)
        return accuracies


def _right(logits: Tensor, labels: Tensor) -> Tensor:
    """The accuracy of each episode, `[B]`."""
    return (logits.argmax(-1) == labels).float().mean(1)
