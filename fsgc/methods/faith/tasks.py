"""Which tasks FAITH looks at: drawn from the graphs of base classes, by noise that is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.errors import SettingsError
from fsgc.random import generator, keyed_uniform, mixed


@dataclass(frozen=True)
class TaskNoise:
    """Numbers uniform between 0 and 1 that decide `T` tasks for each of `B` episodes.

    Attributes:
        classes: `[B, T, C]`, one per base class.
        graphs: `[B, T, N, L]`; in which order the graphs of a class are taken, `L` those of the largest class.
    """

    classes: Tensor
    graphs: Tensor

    @classmethod
    def of(cls, uniform: Tensor, tasks: int, way: int, classes: int, largest: int) -> TaskNoise:
        """Cut `[B, T·(C + N·L)]` numbers into those of classes and graphs."""
        first, second = torch.split(uniform, [tasks * classes, tasks * way * largest], 1)
        return cls(first.view(-1, tasks, classes), second.view(-1, tasks, way, largest))

    def to(self, device: torch.device) -> TaskNoise:
        """The same on a device."""
        return TaskNoise(self.classes.to(device), self.graphs.to(device))

    def tasks(self, which: slice) -> TaskNoise:
        """The noise of some of the tasks."""
        return TaskNoise(self.classes[:, which], self.graphs[:, which])


class BasePools:
    """The graphs of base classes that training may use.

    Attributes:
        sizes: int64 `[C]`, how many each class has.
    """

    def __init__(self, graphs: GraphStore, split: Split) -> None:
        pools = list(split.pools(graphs.y, "train").values())
        self.sizes = torch.tensor([len(pool) for pool in pools])
        self._members = torch.from_numpy(np.concatenate(pools))
        self._first = self.sizes.cumsum(0) - self.sizes

    def queries(self, shots: int, wanted: int) -> int:
        """Queries of a class beside `shots` supports: as many as wanted, or as the smallest class has."""
        possible = int(self.sizes.min()) - shots
        if possible < 1:
            raise SettingsError(
                f"shots: {shots} leave no query for FAITH's support tasks: the smallest base class has "
                f"{int(self.sizes.min())} graphs for training"
            )
        return min(wanted, possible)

    def uniform_numbers(self, tasks: int, way: int) -> int:
        """How many numbers `TaskNoise.of` takes for one episode."""
        return tasks * (len(self.sizes) + way * int(self.sizes.max()))

    def noise(self, uniform: Tensor, tasks: int, way: int) -> TaskNoise:
        """Noise for `T` tasks from `[B, uniform_numbers(T, N)]`."""
        return TaskNoise.of(uniform, tasks, way, len(self.sizes), int(self.sizes.max()))

    def draw(self, log_probability: Tensor, noise: TaskNoise, per_class: int) -> tuple[Tensor, Tensor]:
        """Draw tasks: distinct classes by their probabilities, then distinct graphs of each, all equally likely.

        The largest values of log-probability plus Gumbel noise are a draw without replacement (Gumbel-top-k).

        Args:
            log_probability: of the base classes in each episode, `[B, C]`.
            noise: what decides.
            per_class: `M`.

        Returns:
            Positions of the classes among the base classes, `[B, T, N]`, and indices of graphs, `[B, T, N, M]`.
        """
        device = noise.classes.device
        gumbel = -(-noise.classes.log()).log()
        classes = (log_probability.unsqueeze(1) + gumbel).topk(noise.graphs.shape[2], dim=-1).indices
        sizes, first, members = (part.to(device) for part in (self.sizes, self._first, self._members))
        place = torch.arange(noise.graphs.shape[3], device=device)
        keys = noise.graphs.masked_fill(place >= sizes[classes].unsqueeze(-1), 2.0)
        rank = keys.topk(per_class, dim=-1, largest=False).indices
        return classes, members[first[classes].unsqueeze(-1) + rank]


@dataclass(frozen=True)
class TrainingNoise:
    """The noise of an epoch in batches; the tasks that come of it depend on the weights at the time.

    Attributes:
        pools: the graphs to draw from.
        tasks: `T`, those of an episode: its own and the support tasks.
        way: `N`.
        size: episodes of a batch.
        per_epoch: episodes of the epoch.
        seed: names the stream, with the epoch.
        epoch: which one.
    """

    pools: BasePools
    tasks: int
    way: int
    size: int
    per_epoch: int
    seed: int
    epoch: int

    def __iter__(self) -> Iterator[TaskNoise]:
        numbers = self.pools.uniform_numbers(self.tasks, self.way)
        for batch in range(len(self)):
            episodes = min(self.size, self.per_epoch - batch * self.size)
            draw = generator("faith-tasks", self.seed, self.epoch, block=batch)
            uniform = draw.random((episodes, numbers), dtype=np.float32).clip(1e-7, 1 - 1e-7)
            yield self.pools.noise(torch.from_numpy(uniform), self.tasks, self.way)

    def __len__(self) -> int:
        return -(-self.per_epoch // self.size)


def noise_of_supports(pools: BasePools, supports: Tensor, tasks: int) -> TaskNoise:
    """The noise of test and validation, a function of each episode's supports `[B, N, K]`, whatever their order."""
    graphs = supports.flatten(1).cpu().numpy().astype(np.uint64)
    salt = generator("faith-test").integers(2**63, dtype=np.uint64)
    keys = mixed(mixed(graphs + salt).sum(1, dtype=np.uint64))
    way = supports.shape[1]
    uniform = keyed_uniform(keys, pools.uniform_numbers(tasks, way))
    return pools.noise(torch.from_numpy(uniform), tasks, way).to(supports.device)
