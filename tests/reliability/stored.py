"""One of everything that fsgc stores and reads again, small, with what reading it should give."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fsgc.data.catalog import dataset
from fsgc.data.graph_store import ARRAYS, GraphStore
from fsgc.data.splits import Split, make_split
from fsgc.episodes.store import EpisodeStore
from fsgc.evaluation.outcomes import Outcomes
from fsgc.methods.contract import TaskShape
from fsgc.methods.gsm.clustering import find_superclasses
from fsgc.methods.gsm.superclasses import SuperClasses
from fsgc.methods.kernel.compute import compute_gram
from fsgc.methods.kernel.gram import GramStore
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.training.checkpoint import ModelInputs, Origin, TrainedModel, restore
from fsgc.training.model_file import read_model, read_report
from fsgc.training.report import FitReport
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from fsgc.training.state import BEST, LAST, TrainingState
from fsgc.zarr_io import read_arrays, write_arrays
from tests.methods.conftest import make_episodes

NOTHING = "nothing"  # what a reader gives that takes damage for nothing there, and says so


@dataclass(frozen=True)
class Stored:
    """Something stored.

    Attributes:
        name: what it is.
        write: makes it in a directory.
        read: reads all of it and condenses it to a text that differs if anything does.
        or_nothing: whether reading may give `NOTHING` where there is damage.
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], str]
    or_nothing: bool = False


def _digest(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.shape} {part.dtype}".encode() + part.tobytes())
        elif isinstance(part, Mapping):
            digest.update(_digest(item for key in sorted(part) for item in (key, part[key])).encode())
        elif isinstance(part, torch.Tensor):
            digest.update(_digest([part.numpy()]).encode())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def _read_graphs(root: Path) -> str:
    graphs = GraphStore.load(root / "x.zarr")
    return _digest([*(getattr(graphs, name) for name in ARRAYS), graphs.attributes])


def _read_episodes(root: Path) -> str:
    store = EpisodeStore.open(root / "x.zarr")
    epochs = range(store.settings.train_epochs)
    return _digest([*(store.train(epoch) for epoch in epochs), store.val, store.test, store.attributes])


def _read_split(root: Path) -> str:
    return _digest([vars(Split.load(root / "x.json"))])


def _read_gram(root: Path) -> str:
    gram = GramStore.load(root / "x.zarr")
    return _digest([gram.gram, gram.graphs, gram.attributes])


def _read_superclasses(root: Path) -> str:
    return _digest([vars(SuperClasses.open(root / "x.zarr"))])


def _read_scores(root: Path) -> str:
    return _digest(read_arrays(root / "x.zarr", "fsgc.scores", ("scores",)))


REPORT = FitReport(epochs=3, best_epoch=2, best=0.5, seconds=10.0, peak_memory=1000, parameters=99)


def _weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {f"layers.{n}.weight": torch.randn(16, 8, generator=generator) for n in range(6)}


def _write_model(root: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        episodes = make_episodes(Path(scratch) / "x.zarr")
        shape, settings = TaskShape.of(episodes), PrototypicalSettings(width=8)
        method = make_method(Training("pn", settings, TrainSettings()), shape, seed=0)
        origin = Origin("pn", "enzymes", 3, 0, episodes.feature_names)
        TrainedModel(origin, settings, REPORT, method, shape, ModelInputs.of(episodes)).save(root / "model.pt")


def _read_model(root: Path) -> str:
    content = read_model(root / "model.pt")
    restore(root / "model.pt")
    return _digest([content, read_report(root / "model.pt", bound=True)])


def _state(root: Path) -> TrainingState:
    return TrainingState(root, "some run", "loss")


def _write_state(root: Path) -> None:
    """A training after three epochs, the second of which was the best."""
    state = _state(root)
    assert state.open() is None
    rows = [{"val_loss": loss} for loss in (0.9, 0.5, 0.7)]
    for name, epoch in ((BEST, 1), (LAST, 2)):
        content = {"epoch": epoch, "state_dict": _weights(), "callbacks": {"Curves": {"rows": rows[: epoch + 1]}}}
        state.files.save_checkpoint(content, root / name)


def _read_state(root: Path) -> str:
    last = _state(root).open()
    return NOTHING if last is None else _digest([last, _state(root).best()])


def _graphs() -> GraphStore:
    with tempfile.TemporaryDirectory() as scratch:
        return make_episodes(Path(scratch) / "x.zarr").graphs


def _split(graphs: GraphStore) -> Split:
    return make_split(dataset("enzymes"), graphs.y)


def _write_scores(root: Path) -> None:
    scores = np.random.default_rng(0).normal(size=(50, 8, 2)).astype(np.float32)
    write_arrays(root / "x.zarr", {"scores": scores}, {"kind": "fsgc.scores", "model": "pn", "seed": 0})


def _write_outcomes(root: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        episodes = make_episodes(Path(scratch) / "x.zarr")
        scores = np.random.default_rng(0).normal(size=(50, 8, 2)).astype(np.float32)
        Outcomes.of(scores, episodes).save(root / "outcomes.bin")


def _read_outcomes(root: Path) -> str:
    outcomes = Outcomes.load(root / "outcomes.bin")
    parts = outcomes.correct, outcomes.stream, outcomes.test_episodes, outcomes.classes, outcomes.confusion
    return _digest(parts)


def everything() -> list[Stored]:
    """One of each kind."""
    graphs = _graphs()
    split = _split(graphs)
    return [
        Stored("graphs", lambda root: graphs.save(root / "x.zarr"), _read_graphs),
        Stored("episodes", lambda root: make_episodes(root / "x.zarr"), _read_episodes),
        Stored("split", lambda root: split.save(root / "x.json"), _read_split),
        Stored(
            "Gram matrix",
            lambda root: compute_gram(graphs, split.novel, "wl", KernelSettings()).save(root / "x.zarr"),
            _read_gram,
        ),
        Stored(
            "super-classes", lambda root: find_superclasses(graphs, split).save(root / "x.zarr"), _read_superclasses
        ),
        Stored("scores", _write_scores, _read_scores),
        Stored("outcomes", _write_outcomes, _read_outcomes),
        Stored("model", _write_model, _read_model),
        Stored("training state", _write_state, _read_state, or_nothing=True),
    ]
