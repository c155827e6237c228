"""What GSM has prepared: super-classes of the base classes."""

from __future__ import annotations

from pathlib import Path

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.methods.gsm.clustering import find_superclasses
from fsgc.methods.gsm.superclass_settings import SuperClassSettings


def make_superclasses(out: Path, graphs: GraphStore, split: Split, settings: SuperClassSettings) -> str:
    """Cluster the base classes by the spectra of their graphs and store the result at `out`."""
    found = find_superclasses(graphs, split, settings.order)
    found.save(out)
    return f"{len(found.classes)} base classes clustered"
