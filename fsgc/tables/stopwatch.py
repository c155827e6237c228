"""What one method takes on one dataset, by the clock: preparation, a training step, test episodes pooled and alone.

Nothing is trained to the end. A step takes as long with the first weights as with the last, and a test episode with
untrained weights as long as with trained ones; only AS-MAML, whose number of steps is learned, may differ. A method
without gradient steps (a search, as the discriminant's) is fitted whole.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch

from fsgc.errors import SettingsError
from fsgc.methods.contract import Method, Run, TaskShape
from fsgc.training.report import peak_memory
from fsgc.workspace import Workspace

if TYPE_CHECKING:
    from fsgc.episodes.batches import EpisodeBatch, Episodes
    from fsgc.experiment import Experiment, Keys
    from fsgc.methods.contract import Scope
    from fsgc.methods.learned import LearnedMethod

WARM_UP = 2
SLOW = 5
"""A first batch that takes so many times the budget is the only one: next to it a warm-up is nothing."""
LEAST_POOL = 32
"""Test episodes of a batch, at least, however slow a method is."""
ALONE = 25
"""Single episodes, of which the first are warm-up and the median of the rest is taken."""


@dataclass(frozen=True)
class Timing:
    """What a method takes, in seconds on one thread, unless it says otherwise.

    Attributes:
        dataset: key of the dataset.
        shots: K.
        model: the method.
        prepare_seconds: what is done once for the dataset: the prepared store (a Gram matrix, super-classes,
            descriptors), and what the first test episode took beyond the others; 0 if it wants no store.
        step_milliseconds: a training episode, or a graph where training is on graphs; None without gradient steps.
        epoch_seconds: an epoch with its validation, by the steps it has; None without gradient steps.
        fit_seconds: the whole of a training without gradient steps; None with them.
        unit: what a step is counted in: `episodes` or `graphs`; empty without gradient steps.
        pooled_milliseconds: a test episode in batches as the evaluation has them, or smaller ones if that takes long.
        alone_milliseconds: a test episode by itself, the median of several.
        peak_megabytes: main memory the process took at most.
        load: the system's load average at the end, of one minute; this process alone makes it 1.
    """

    dataset: str
    shots: int
    model: str
    prepare_seconds: float
    step_milliseconds: float | None
    epoch_seconds: float | None
    fit_seconds: float | None
    unit: str
    pooled_milliseconds: float
    alone_milliseconds: float
    peak_megabytes: float
    load: float

    def train_seconds(self, epochs: float | None) -> float | None:
        """What a training of so many epochs takes; None if that needs their number and it is not known."""
        if self.epoch_seconds is None:
            return self.fit_seconds
        return None if epochs is None else epochs * self.epoch_seconds


@dataclass(frozen=True)
class _Scratch(Workspace):
    """A workspace whose prepared store is made anew, elsewhere."""

    scratch: Path = Path()

    def prepared(self, _keys: Keys, _scope: Scope) -> Path:
        """The directory of the store to be made."""
        return self.scratch / "prepared"


def measure(workspace: Workspace, experiment: Experiment, budget: float = 2.0) -> Timing:
    """Time a method; each of training, validation and pooled test for about `budget` seconds."""
    from fsgc.api import ensure_episodes
    from fsgc.methods.registry import method_entry
    from fsgc.steps import prepare
    from fsgc.steps.open import open_episodes
    from fsgc.training.run import make_method

    ensure_episodes(workspace, experiment)
    with TemporaryDirectory(prefix="fsgc-") as scratch:
        elsewhere = _Scratch(workspace.root, Path(scratch))
        wanted = method_entry(experiment.keys.model).method().preparation
        if wanted:
            import_module(wanted.maker.partition(":")[0])  # what imports take is no part of it
        prepare_seconds = _timed(lambda: prepare.run(elsewhere, experiment))
        episodes = open_episodes(elsewhere, experiment)
        method = make_method(experiment.training, TaskShape.of(episodes), experiment.keys.seed)
        method.attach(episodes)
        training = _training(method, episodes, experiment, Path(scratch), budget)
        first, alone = _alone(method, episodes)
        pooled = _pooled(method, episodes, budget, alone)
    keys = experiment.keys
    return Timing(
        dataset=keys.dataset,
        shots=keys.shots,
        model=keys.model,
        prepare_seconds=prepare_seconds + first if wanted else 0.0,
        **training,
        pooled_milliseconds=1000 * pooled,
        alone_milliseconds=1000 * alone,
        peak_megabytes=peak_memory() / 1e6,
        load=load_average(),
    )


def load_average() -> float:
    """Of the last minute; 0 where the system does not tell."""
    import psutil

    try:
        return float(psutil.getloadavg()[0])
    except (OSError, AttributeError):
        return 0.0


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _training(
    method: Method, episodes: Episodes, experiment: Experiment, scratch: Path, budget: float
) -> dict[str, Any]:
    """The entries of a `Timing` about training."""
    from fsgc.methods.learned import LearnedMethod

    loop = experiment.training.train
    if isinstance(method, LearnedMethod) and type(method).fit is LearnedMethod.fit:
        return _steps(method, episodes, experiment, budget)
    run = Run(episodes, loop, experiment.keys.seed, scratch / "state", scratch / "curves", "stopwatch")
    return {
        "step_milliseconds": None,
        "epoch_seconds": None,
        "fit_seconds": _timed(lambda: method.fit(run)),
        "unit": "",
    }


class _Clock:
    """Batches that end when the time is up; what lies between two of them is a step."""

    def __init__(self, batches: Iterable[Any], budget: float) -> None:
        self.batches, self.budget = batches, budget
        self.seconds: list[float] = []
        self.units: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        begin = time.perf_counter()
        for batch in self.batches:
            start = time.perf_counter()
            yield batch
            self.seconds.append(time.perf_counter() - start)
            self.units.append(len(batch.graphs))
            spent = time.perf_counter() - begin
            if spent > self.budget and (len(self.seconds) > 1 or spent > SLOW * self.budget):
                return

    @property
    def warm_up(self) -> int:
        """Batches that do not count; at least one does."""
        return min(WARM_UP, len(self.seconds) - 1)

    @property
    def per_batch(self) -> float:
        """Seconds of a batch."""
        counted = self.seconds[self.warm_up :]
        return sum(counted) / len(counted)

    @property
    def per_unit(self) -> float:
        """Seconds of an episode or a graph."""
        return sum(self.seconds[self.warm_up :]) / sum(self.units[self.warm_up :])


def _steps(method: LearnedMethod, episodes: Episodes, experiment: Experiment, budget: float) -> dict[str, Any]:
    """Steps through Lightning, as in training, and batches of validation."""
    import pytorch_lightning as pl

    from fsgc.training.plan import BatchPlan
    from fsgc.training.trainee import Trainee

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    loop = experiment.training.train
    plan = BatchPlan(loop.batch_size, loop.episodes_per_epoch, experiment.keys.seed)
    batches = method.train_batches(episodes, plan, 0)
    if not len(batches):
        raise SettingsError(f"{experiment.keys.model} has no training data on {experiment.keys.dataset}")
    clock = _Clock(batches, budget)
    trainer = pl.Trainer(
        accelerator="cpu", devices=1, precision=loop.precision, max_epochs=1, gradient_clip_val=loop.gradient_clip,
        limit_val_batches=1, num_sanity_val_steps=0, inference_mode=False, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    # After the clock, one small batch of validation: a schedule of learning rates may ask for its loss.
    checked_once = method.val_batches(episodes, replace(plan, size=1))
    trainer.fit(Trainee(method), train_dataloaders=clock, val_dataloaders=checked_once)
    method.move("cpu")
    method.eval()
    checks = method.val_batches(episodes, replace(plan, size=method.episodes_at_once))
    checked = _Clock(checks, budget / 2)
    with torch.no_grad():
        for batch in checked:
            method.validate(batch)
    return {
        "step_milliseconds": 1000 * clock.per_unit,
        "epoch_seconds": len(batches) * clock.per_batch + len(checks) * checked.per_batch,
        "fit_seconds": None,
        "unit": method.trains_on,
    }


@torch.no_grad()
def _alone(method: Method, episodes: Episodes) -> tuple[float, float]:
    """What the first test episode took beyond the others, and the median of these, in seconds."""
    seconds = [
        _timed(lambda batch=batch: method.predict(batch))  # type: ignore[misc]
        for batch in islice(episodes.batches("test", 1), ALONE)
    ]
    middle = median(seconds[WARM_UP:])
    return max(0.0, seconds[0] - middle), middle


@torch.no_grad()
def _pooled(method: Method, episodes: Episodes, budget: float, alone: float) -> float:
    """A test episode among others, in seconds; a batch takes no longer than some times the budget."""
    size = min(method.episodes_at_once, max(LEAST_POOL, int(SLOW * budget / alone)))

    def again_and_again() -> Iterator[EpisodeBatch]:
        while True:
            yield from episodes.batches("test", size)

    clock = _Clock(again_and_again(), budget)
    for batch in clock:
        method.predict(batch)
    return clock.per_unit
