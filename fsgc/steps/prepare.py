"""Step `prepare`: what a method wants once for a dataset, such as a Gram matrix, super-classes or descriptors."""

from __future__ import annotations

import json
import time
from importlib import import_module
from pathlib import Path

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import make_split
from fsgc.experiment import Experiment
from fsgc.files import replacing
from fsgc.methods.registry import method_entry
from fsgc.workspace import Workspace

NOTE, STORE = "prepared.json", "store.zarr"


def store_of(workspace: Workspace, experiment: Experiment) -> Path | None:
    """Where the store of an experiment's method is, whether it is there or not; None if it wants none."""
    wanted = method_entry(experiment.keys.model).method().preparation
    return workspace.prepared(experiment.keys, wanted.scope) / STORE if wanted else None


def run(workspace: Workspace, experiment: Experiment) -> str:
    """Make the store, and a note of what it is; a method that wants nothing gets a note that says so."""
    keys = experiment.keys
    entry = method_entry(keys.model)
    wanted = entry.method().preparation
    start = time.perf_counter()
    if wanted is None:
        done = f"{keys.model} needs nothing prepared"
        target = workspace.prepared(keys, entry.method().trained_for)
    else:
        target = workspace.prepared(keys, wanted.scope)
    with replacing(target) as partial:
        partial.mkdir()
        if wanted is not None:
            module, name = wanted.maker.split(":")
            graphs = GraphStore.load(workspace.graphs(keys.dataset))
            # Drawn, not read: what does not vary with the seed must not wait for the split of one.
            seed = keys.seed if wanted.scope.seed else 0
            split = make_split(catalog_entry(keys.dataset), graphs.y, seed, experiment.split)
            make = getattr(import_module(module), name)
            done = make(partial / STORE, graphs, split, experiment.preparation, **entry.options)
        (partial / NOTE).write_text(json.dumps({"model": keys.model, "prepared": done}) + "\n", encoding="utf-8")
    return f"{done}, in {time.perf_counter() - start:.1f} s"
