"""Work in blocks, spread over the cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from fsgc.arrays import Ints
from fsgc.data.graph_store import GraphStore

Part = TypeVar("Part")
Result = TypeVar("Result")


def blocks_of(graphs: GraphStore, max_nodes: int) -> list[Ints]:
    """The graphs in runs of fewer than `2 * max_nodes` nodes together; one above `max_nodes` is alone in its block."""
    sizes = graphs.num_nodes
    run = (np.cumsum(sizes) - sizes) // max_nodes
    large = sizes > max_nodes
    cut = (np.diff(run) > 0) | large[1:] | large[:-1]
    return np.split(np.arange(len(graphs)), np.flatnonzero(cut) + 1)


def spread(work: Callable[[Part], Result], parts: Sequence[Part], about: str, parallel: bool) -> list[Result]:
    """`work` on every part, in their order, with a progress bar.

    Args:
        work: a function of a module, so that other processes find it.
        parts: what to work on.
        about: what is being done, beside the bar.
        parallel: whether there is enough to do to be worth starting a process per core.
    """
    run = Parallel(n_jobs=-1 if parallel else 1, return_as="generator", batch_size=1)
    results = run(delayed(work)(part) for part in parts)
    return list(tqdm(results, total=len(parts), desc=about, unit="block", disable=None))
