"""Every method that learns on every device that PyTorch finds, and on one that only pretends to be one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor

from fsgc.episodes.batches import EpisodeBatch, Episodes
from fsgc.experiment import Experiment
from fsgc.methods.contract import TaskShape
from fsgc.methods.faith import neighbour_kernel
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.maml import episode_kernel
from fsgc.methods.registry import METHODS
from fsgc.methods.smf_gin import episode_loss_kernel, gin_pass_kernel
from fsgc.nn import gin_kernel
from fsgc.nn.dropout import Dropout
from fsgc.preparation import prepared_for
from fsgc.training.plan import BatchPlan
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from tests.pretend_device import NAME, pretend_device
from tests.resuming import curves_after_resuming

LEARNED = [name for name, entry in METHODS.items() if issubclass(entry.method(), LearnedMethod)]
TRAINED = [name for name in LEARNED if METHODS[name].method().fit is not METHODS["untrained"].method().fit]
ACCELERATORS = {"cpu": "cpu", "cuda": "gpu", "mps": "mps"}
FOUND = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
REAL = [
    pytest.param(device, marks=pytest.mark.skipif(not found, reason=f"PyTorch finds no {device} device here"))
    for device, found in FOUND.items()
]
# Settings that make a method cheap and change nothing of where its tensors are.
SMALL: dict[str, dict[str, Any]] = {
    "gsm": {"fine_tune_steps": 2, "batches_per_epoch": 2, "val_episodes": 4},
    "maml": {"inner_steps": 2, "test_steps": 2},
    "as_maml": {"min_steps": 1, "max_steps": 3, "test_steps": 3, "val_episodes": 4},
}


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device; the pretended one for as long as the test runs."""
    if request.param != NAME:
        yield request.param
        return
    with pretend_device():
        yield NAME


every_device = pytest.mark.parametrize("device", [*REAL, NAME], indirect=True)


@cache
def _settings(name: str) -> Any:
    settings = Experiment.from_params({}, dataset="enzymes", model=name).training.method
    return replace(settings, **SMALL.get(name, {}))


@dataclass(frozen=True)
class Scene:
    """A method with its first weights, and batches for it, all on a device."""

    method: LearnedMethod
    train: Any
    validation: Any
    test: EpisodeBatch

    @classmethod
    def of(cls, name: str, episodes: Episodes, device: str, size: int = 4, dropout: bool = False) -> Scene:
        stored = prepared_for(name, episodes)
        method = make_method(Training(name, _settings(name), TrainSettings()), TaskShape.of(stored), 0)
        assert isinstance(method, LearnedMethod)
        # Random masks are drawn in other ways on the host and elsewhere.
        for module in method.modules():
            if isinstance(module, Dropout | torch.nn.Dropout) and not dropout:
                module.eval().train = lambda _mode=True, module=module: module  # type: ignore[method-assign]
        method.attach(stored)
        method.trainer = pl.Trainer(max_epochs=4, logger=False, enable_checkpointing=False, accelerator="cpu")
        plan = BatchPlan(size, 0, 0)
        batches = (
            next(iter(method.train_batches(stored, plan, 0))),
            next(iter(method.val_batches(stored, plan))),
            next(iter(stored.batches("test", size))),
        )
        method.move(device)
        return cls(method, *(batch.to(torch.device(device)) for batch in batches))

    def step(self) -> list[Tensor]:
        """One step of training: the loss before it and the weights after it."""
        torch.manual_seed(1)
        made: Any = self.method.configure_optimizers()
        optimiser = made["optimizer"] if isinstance(made, dict) else made
        loss = self.method.loss(self.train).total
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return [loss.detach(), *(weight.detach() for weight in self.method.parameters())]

    @torch.no_grad()
    def predict(self) -> list[Tensor]:
        """Scores of test episodes."""
        self.method.eval()
        return [self.method.predict(self.test)]

    @torch.no_grad()
    def validate(self) -> list[Tensor]:
        """Loss and accuracy of validation."""
        self.method.eval()
        return list(self.method.validate(self.validation))


@every_device
@pytest.mark.parametrize("name", LEARNED)
def test_a_step_and_predictions_are_those_of_the_host(
    name: str, device: str, episodes: Episodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Adam makes a whole step of a gradient that is nothing but rounding, as on the kinks of ReLU that MAML starts on:
    # both sides have to round alike, and only the host has compiled code.
    for module in (episode_kernel, gin_kernel, gin_pass_kernel, episode_loss_kernel, neighbour_kernel):
        monkeypatch.setattr(module, "library", lambda _: None)
    for part in ("step", "predict", "validate"):
        found = getattr(Scene.of(name, episodes, device), part)()
        expected = getattr(Scene.of(name, episodes, "cpu"), part)()
        assert {each.device.type for each in found} == {device}
        for ours, host in zip(found, expected, strict=True):
            torch.testing.assert_close(ours.cpu(), host, rtol=1e-3, atol=1e-4)


@every_device
@pytest.mark.parametrize("name", LEARNED)
def test_indices_of_episodes_may_stay_on_the_host(name: str, device: str, episodes: Episodes) -> None:
    scene = Scene.of(name, episodes, device)
    (expected,) = scene.predict()
    (found,) = replace(scene, test=scene.test.to(torch.device("cpu"))).predict()
    assert found.device.type == device
    torch.testing.assert_close(found.cpu(), expected.cpu())


@every_device
@pytest.mark.parametrize("name", LEARNED)
def test_weights_go_from_a_device_to_a_file_and_back(name: str, device: str, episodes: Episodes) -> None:
    trained = Scene.of(name, episodes, device)
    trained.step()
    state = {key: value.cpu() for key, value in trained.method.state_dict().items()}
    again = Scene.of(name, episodes, device)
    again.method.load_state_dict(state)
    for ours, theirs in zip(again.predict(), trained.predict(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu())


@pytest.mark.parametrize("device", [NAME], indirect=True)
@pytest.mark.parametrize("name", LEARNED)
def test_no_step_waits_for_the_host_per_episode(name: str, device: str, episodes: Episodes) -> None:
    for part in ("step", "predict", "validate"):
        few, many = (_waits(name, part, size, device, episodes) for size in (2, 8))
        growing = {what for what in many if many[what] > few[what]}
        assert growing == set()


def _waits(name: str, part: str, size: int, device: str, episodes: Episodes) -> Counter[str]:
    scene = Scene.of(name, episodes, device, size, dropout=True)
    with pretend_device() as waits:
        getattr(scene, part)()
        return Counter(waits)


@pytest.mark.parametrize("device", REAL)
@pytest.mark.parametrize("name", TRAINED)
def test_a_killed_training_resumes(name: str, device: str, episodes: Episodes, tmp_path: Any) -> None:
    settings: Any = {"max_epochs": 3, "batch_size": 16, "accelerator": ACCELERATORS[device]}
    training = Training(name, _settings(name), TrainSettings(**settings))
    assert "loss" in curves_after_resuming(training, prepared_for(name, episodes), tmp_path)
