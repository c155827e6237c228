"""Step `graphs`: raw files to one checked graph store."""

from __future__ import annotations

from fsgc.data.build import build_graphs
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.experiment import Experiment
from fsgc.workspace import Workspace


def run(workspace: Workspace, experiment: Experiment) -> str:
    """Read the raw files and check what they hold against the catalog."""
    key = experiment.keys.dataset
    target = workspace.graphs(key)
    graphs = build_graphs(catalog_entry(key), workspace.raw(key))
    graphs.save(target)
    return f"{len(graphs)} graphs of {len(graphs.classes)} classes in {target}"
