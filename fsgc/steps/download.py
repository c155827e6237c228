"""Step `download`: the raw files of a dataset, verified."""

from __future__ import annotations

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.download import download
from fsgc.experiment import Experiment
from fsgc.workspace import Workspace


def run(workspace: Workspace, experiment: Experiment) -> str:
    """Obtain the raw files; they are verified against the catalog."""
    key = experiment.keys.dataset
    entry = catalog_entry(key)
    target = workspace.raw(key)
    download(entry, target, workspace.partial(key))
    return f"the raw files of {entry.title} are in {target}"
