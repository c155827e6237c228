"""What the kernel methods have prepared: one Gram matrix over the graphs of novel classes."""

from __future__ import annotations

from pathlib import Path

from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.methods.kernel.compute import compute_gram
from fsgc.methods.kernel.settings import KernelSettings


def make_gram(out: Path, graphs: GraphStore, split: Split, settings: KernelSettings, kernel: str) -> str:
    """Compute a kernel between all pairs of graphs of the novel classes and store it at `out`."""
    gram = compute_gram(graphs, split.novel, kernel, settings)
    gram.save(out)
    return f"the {kernel} kernel between {len(gram.graphs)} graphs"
