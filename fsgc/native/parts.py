"""Calls of compiled functions, one a thread, each on a range of the graphs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import torch
from torch import Tensor


def ranges(pointer: Tensor) -> list[tuple[int, int]]:
    """Ranges of graphs with about as many nodes, one a thread; `pointer` `[g+1]` is where the nodes of each begin."""
    threads = torch.get_num_threads()
    wanted = pointer[-1] * torch.arange(1, threads) // threads
    ends = [0, *torch.searchsorted(pointer, wanted).tolist(), len(pointer) - 1]
    return [(begin, end) for begin, end in pairwise(ends) if begin < end]


def run(function: Callable[..., None], calls: Sequence[ctypes.Structure]) -> None:
    """Call a compiled function with each of the structures, each in a thread."""
    if len(calls) == 1:
        function(ctypes.byref(calls[0]))
    else:
        list(_threads(len(calls)).map(lambda call: function(ctypes.byref(call)), calls))


def sum_of(parts: Sequence[Mapping[str, Tensor | None]], name: str) -> Tensor | None:
    """The sum of what threads found under a name; None if there is nothing."""
    known = [found for part in parts if (found := part.get(name)) is not None]
    return torch.stack(known).sum(0) if len(known) > 1 else known[0] if known else None


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="fsgc")
