"""What classifies: a trained model, the discriminant, or a graph kernel, all asked in the same way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fsgc.arrays import Floats, Ints
from fsgc.data.encodings import FeatureTable
from fsgc.data.graph_store import GraphStore
from fsgc.errors import FsgcError, SettingsError, StoreError
from fsgc.methods.contract import Method, TaskShape
from fsgc.methods.kernel.method import KernelMethod
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.registry import METHODS, method_entry
from fsgc.prediction.contract import Engine
from fsgc.prediction.discriminant import DiscriminantEngine
from fsgc.training.checkpoint import Restored, restore

QUERIES_AT_ONCE = 2000
WITHOUT_TRAINING = ("discriminant", "wl", "sp", "graphlet")
_BASE_TASKS = (
    "it classifies an episode among tasks of base classes, and a model file does not hold their graphs; use one that "
    "needs the labelled graphs only, such as pn or the discriminant"
)
UNABLE = {"faith": _BASE_TASKS, "faith_inductive": _BASE_TASKS}
"""Methods that cannot classify a user's graphs, and why."""


class MethodEngine(Engine):
    """A method: one restored from a model file, or one that has nothing to learn."""

    def __init__(self, name: str, method: Method, shape: TaskShape, restored: Restored | None = None) -> None:
        self.name, self.method, self.way, self.width = name, method, shape.way, shape.num_features
        if isinstance(method, KernelMethod):
            restored = None  # a kernel has learned nothing of the labels of other graphs: it compares those it is given
            if method.kernel_settings.node_labels != "attributes":
                self.features = ("label_onehot",)
        self.encoder = restored.inputs.encoder if restored else None
        self.transductive = method.transductive
        if restored:
            self.vocabulary, self.features = restored.inputs.vocabulary, restored.inputs.encoder.names
            if method.reads_nodes:
                self.features = (*self.features, *Engine.features)
        if isinstance(method, LearnedMethod):
            method.eval()

    def attach(self, graphs: GraphStore) -> None:
        """See `Engine`."""
        features = FeatureTable(np.zeros((1, 1), np.float32), np.zeros(len(graphs.node_label), np.int64))
        if self.encoder:
            try:
                features = self.encoder.encode(graphs)
            except (ValueError, IndexError, TypeError, MemoryError) as error:
                raise StoreError(f"the model file cannot make features of graphs ({error}); train it again") from error
            if features.table.shape[1] != self.width:
                raise StoreError(
                    f"the model takes {self.width} features of a node, but its file makes {features.table.shape[1]}"
                )
        self.method.attach_graphs(graphs, features)

    def check(self, classes: int) -> None:
        """See `Engine`."""
        if not self.method.any_way and classes != self.way:
            raise FsgcError(
                f"{self.name} was trained to tell {self.way} classes apart and cannot do it with {classes}; train it "
                f"with another way, or use one that takes any number, such as pn or the discriminant"
            )

    @torch.no_grad()
    def scores(self, support: Ints, y: Ints, query: Ints) -> Floats:
        """See `Engine`."""
        known, labels, asked = (torch.from_numpy(part) for part in (support, y, query))
        parts = [asked] if self.transductive else list(torch.split(asked, QUERIES_AT_ONCE))
        return _as_array(torch.cat([self.method.classify(known, labels, part) for part in parts]))

    @torch.no_grad()
    def vectors(self, support: Ints, y: Ints, graphs: Ints) -> Floats | None:
        """See `Engine`."""
        found = self.method.vectors(*(torch.from_numpy(part) for part in (support, y, graphs)))
        return None if found is None else _as_array(found)


def _as_array(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()


def engine_of(model: str | Path) -> Engine:
    """The engine for a model file, or for the name of a method that needs no training."""
    name = str(model)
    if name == "discriminant":
        return DiscriminantEngine()
    if name in WITHOUT_TRAINING:
        entry = method_entry(name)
        shape = TaskShape(1, 2, 2)  # neither matters to a kernel
        return MethodEngine(name, entry.make(shape, entry.method().settings_type()), shape)
    if name in METHODS:
        raise SettingsError(
            f"{name} needs training: give a model file, made by 'fsgc train {name} …'; without training there are "
            f"{', '.join(WITHOUT_TRAINING)}"
        )
    if not Path(model).exists():
        raise StoreError(
            f"{name} does not exist; give a model file, made by 'fsgc train', or one of {', '.join(WITHOUT_TRAINING)}"
        )
    found = restore(Path(model))
    if found.origin.model in UNABLE:
        raise FsgcError(
            f"{found.origin.model} cannot classify other graphs than its dataset's: {UNABLE[found.origin.model]}"
        )
    return MethodEngine(found.origin.model, found.method, found.shape, found)
