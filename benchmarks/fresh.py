"""Methods with the settings of `params.yaml` and their first weights, ready to be timed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.device import DEVICE
from fsgc.episodes.batches import Episodes
from fsgc.experiment import Experiment
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.training.run import make_method
from fsgc.training.settings import Training

PARAMS = Path(__file__).parents[1] / "params.yaml"


def training_of(dataset: str, model: str) -> Training:
    """The settings of a method on a dataset."""
    return Experiment.load(PARAMS, dataset=dataset, model=model).training


def fresh_method(episodes: Episodes, model: str) -> Method:
    """A method that has its graphs and has learned nothing yet, on the device of the benchmarks."""
    method = make_method(training_of(episodes.split.dataset, model), TaskShape.of(episodes), seed=0)
    method.attach(episodes)
    if isinstance(method, LearnedMethod):
        method.move(DEVICE)
    return method
