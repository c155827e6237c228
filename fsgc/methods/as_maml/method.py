"""AS-MAML (`as_maml`): MAML with a graph network that pools, and a number of steps that is learned.

Ma et al.: Adaptive-Step Graph Meta-Learner for Few-Shot Graph Classification, CIKM 2020.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fsgc.data.encodings import FeatureTable
from fsgc.data.features import node_features
from fsgc.data.graph_store import GraphStore
from fsgc.episodes.batches import EpisodeBatch, Episodes, StoredBatches
from fsgc.errors import SettingsError
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.sag_network import SagNetwork, Weights
from fsgc.methods.as_maml.step_controller import State, StepController, policy_loss, steps_of
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy
from fsgc.settings import Count, Layers, NonNegative, Positive, Width, settings
from fsgc.training.plan import Batches, BatchPlan


@settings
class AsMamlSettings:
    """Hyperparameters; the defaults are those of AS-MAML's released code, but for `carry_state`.

    Attributes:
        inputs: `dataset`, the node features of the dataset, or `degree`, the degree as a number (the authors of the
            paper on TRIANGLES, Letter-High, ENZYMES and Reddit).
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

    inputs: Literal["dataset", "degree"] = "dataset"
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
    val_episodes: Count = 100

    def __post_init__(self) -> None:
        if self.max_steps < self.min_steps:
            raise SettingsError(
                f"max_steps must be at least min_steps ({self.min_steps}), got {self.max_steps}", key="max_steps"
            )


class Adapted(NamedTuple):
    """The episodes of a batch after as many steps as the controller gave each.

    Attributes:
        weights: stacked, of each episode after its last step.
        steps: int64 `[B]`.
        logits: `[T, B]`, of stopping, at each step of the longest episode.
        accuracies: `[T, B]`, on the queries after each step.
    """

    weights: Weights
    steps: Tensor
    logits: Tensor
    accuracies: Tensor


class AdaptiveStepMaml(LearnedMethod):
    """Meta-learn weights that a few gradient steps fit to an episode, and how many steps that should be.

    The episodes of a batch take their steps side by side. How many steps an episode takes depends on the controller's
    verdict at the end of the episode before it, which is read off as soon as that one has ended.
    """

    settings_type = AsMamlSettings
    section = "as_maml"
    episodes_at_once = 32
    any_way = False

    def __init__(self, shape: TaskShape, settings: AsMamlSettings) -> None:
        super().__init__()
        self.settings = settings
        num_features = 1 if settings.inputs == "degree" else shape.num_features
        self.network = SagNetwork(num_features, settings.width, settings.levels, shape.way, settings.root_weight)
        self.controller = StepController(settings.controller_width, settings.carry_state)
        self.stop_probability: Tensor
        self.register_buffer("stop_probability", torch.tensor(0.5))

    def attach_graphs(self, graphs: GraphStore, features: FeatureTable) -> None:
        """Take the node features of the dataset, or degrees instead of them."""
        by_degree = self.settings.inputs == "degree"
        super().attach_graphs(
            graphs, node_features(graphs, ["degree"], graphs.classes.tolist()) if by_degree else features
        )

    def val_batches(self, episodes: Episodes, plan: BatchPlan) -> Batches:
        """The first of the stored validation episodes."""
        return StoredBatches.of(episodes, "val", plan.size, first=self.settings.val_episodes)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Logits of the queries, `[B, N·Q, N]`, after `test_steps` steps on the supports."""
        graphs, labels = self._supports(episodes)
        stacked = self.network.stacked(len(labels))
        with torch.enable_grad():
            weights = {name: weight.detach().requires_grad_() for name, weight in stacked.items()}
            for _ in range(self.settings.test_steps):
                moved = self._step(weights, graphs, labels, create_graph=False)[0]
                weights = {name: weight.detach().requires_grad_() for name, weight in moved.items()}
        with torch.no_grad():
            return self.network.run(weights, self._pooled(episodes.query)).logits

    def loss(self, episodes: EpisodeBatch) -> Loss:
        """Cross-entropy of the queries after adaptation, and the controller's policy loss; means over episodes."""
        queries = self._pooled(episodes.query)
        done = self._adapt(episodes, queries)
        scores = self.network.run(done.weights, queries).logits
        settings = self.settings
        policy = policy_loss(done.logits, done.accuracies, done.steps, settings.min_steps, settings.step_penalty)
        parts = {
            "query_loss": F.cross_entropy(scores.flatten(0, 1), episodes.labels.flatten()),
            "policy_loss": policy.mean(),
        }
        total = parts["query_loss"] + parts["policy_loss"]
        parts |= {"steps": done.steps.float().mean(), "stop_probability": self.stop_probability.clone()}
        return Loss(total, accuracy(scores, episodes.labels), parts)

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

    def _pooled(self, graphs: Tensor) -> PooledGraphs:
        return PooledGraphs.make(self.graphs, graphs.flatten(1), self.settings.levels, self.settings.ratio)

    def _supports(self, episodes: EpisodeBatch) -> tuple[PooledGraphs, Tensor]:
        labels = episodes.support_labels.to(self.graphs.device).expand(len(episodes.graphs), -1)
        return self._pooled(episodes.support), labels

    def _step(
        self, weights: Weights, graphs: PooledGraphs, labels: Tensor, create_graph: bool
    ) -> tuple[Weights, Tensor, Tensor]:
        """One gradient step of every episode; the weights after it, loss and node information before it, `[B]` each."""
        output = self.network.run(weights, graphs)
        losses = F.cross_entropy(output.logits.flatten(0, 1), labels.flatten(), reduction="none").view(labels.shape)
        losses = losses.mean(1)
        # An episode's loss depends on its own weights only, so the gradient of the sum is each episode's own.
        grads = torch.autograd.grad(losses.sum(), list(weights.values()), create_graph=create_graph)
        lr = self.settings.inner_lr
        moved = {name: weight - lr * grad for (name, weight), grad in zip(weights.items(), grads, strict=True)}
        return moved, losses.detach(), output.information

    def _adapt(self, episodes: EpisodeBatch, queries: PooledGraphs) -> Adapted:
        settings = self.settings
        graphs, labels = self._supports(episodes)
        states = [self.network.stacked(len(labels))]
        logits: list[Tensor] = []
        accuracies: list[Tensor] = []
        state: State | None = None
        steps = [steps_of(float(self.stop_probability), settings.min_steps, settings.max_steps)]
        while len(logits) < max(steps):
            moved, losses, information = self._step(states[-1], graphs, labels, not settings.first_order)
            states.append(moved)
            logit, state = self.controller(losses, information, state)
            logits.append(logit)
            accuracies.append(self._right(moved, queries, episodes.labels, len(logits)))
            while len(steps) < len(labels) and steps[-1] <= len(logits):
                verdict = float(logits[steps[-1] - 1][len(steps) - 1].detach().sigmoid())
                steps.append(steps_of(verdict, settings.min_steps, settings.max_steps))
        self.stop_probability.copy_(logits[steps[-1] - 1][-1].detach().sigmoid())
        last = {
            name: torch.stack([states[count][name][episode] for episode, count in enumerate(steps)])
            for name in states[0]
        }
        taken = torch.tensor(steps, device=labels.device)
        return Adapted(last, taken, torch.stack(logits), torch.stack(accuracies))

    @torch.no_grad()
    def _right(self, weights: Weights, queries: PooledGraphs, labels: Tensor, steps: int) -> Tensor:
        """The accuracy of each episode on its queries, `[B]`; zero before it may stop, where it does not matter."""
        if steps < self.settings.min_steps:
            return torch.zeros(len(labels), device=labels.device)
        scores = self.network.run(weights, queries).logits
        return (scores.argmax(-1) == labels).float().mean(1)
