"""Step `split`: which classes and graphs serve training, validation and test."""

from __future__ import annotations

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import PARTS, make_split
from fsgc.experiment import Experiment
from fsgc.workspace import Workspace


def run(workspace: Workspace, experiment: Experiment) -> str:
    """Split a dataset as table 5 of the paper does."""
    key, seed = experiment.keys.dataset, experiment.keys.seed
    y = GraphStore.load(workspace.graphs(key)).y
    split = make_split(catalog_entry(key), y, seed, experiment.split)
    split.save(workspace.split(key, seed))
    pools = {part: split.pools(y, part) for part in PARTS}
    return "; ".join(
        f"{part}: {len(classes)} classes, {sum(map(len, classes.values()))} graphs" for part, classes in pools.items()
    )
