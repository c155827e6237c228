"""The fine-tuning of GSM as compiled code: all steps of an episode, with its weights in the processor's cache.

What `Tuner` does for some episodes side by side, `tuning_kernel.cpp` does for one after the other: an episode then
takes no more graphs than its own supports depend on, and of a matrix the gradient goes to Adam tile by tile, without
ever being written to memory. Columns of features that are zero in all graphs are left out: they change nothing.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
from torch import Tensor

from fsgc.methods.gsm.receptive_field import Group
from fsgc.native.library import address, library

_Sizes = ctypes.c_int64 * 13
_Arrays = ctypes.c_void_p * 19


class _Rates(ctypes.Structure):
    _fields_ = (("lr", ctypes.c_double), ("first_slope", ctypes.c_float), ("second_slope", ctypes.c_float))


class Steps(NamedTuple):
    """How steps are taken, in all episodes.

    Attributes:
        number: of them.
        lr: Adam's learning rate.
        slopes: of the leaky ReLU in the first attention layer and in the second.
        normalise: whether the outputs of the attention layers are divided by their L2 norm.
        masks: of dropout, the three of `Masks`.
    """

    number: int
    lr: float
    slopes: tuple[float, float]
    normalise: bool
    masks: tuple[Tensor, Tensor, Tensor]


def is_compiled_for(x: Tensor) -> bool:
    """Whether there is compiled code for features like `x`."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and library(__file__) is not None


def tune(weights: list[Tensor], x: Tensor, group: Group, labels: Tensor, steps: Steps) -> None:
    """Fine-tune the weights of `b` episodes in place; each by itself, several at once if there are several threads.

    Args:
        weights: the ten of `TunedWeights`, `[b, …]`.
        x: `[b, n2, in]`, the features of the group's graphs in its order.
        group: which those are, and their links.
        labels: int64 `[S]`, the classes of the supports.
        steps: how many, and how.
    """
    arrays = [x, group.first.source, group.first.taken, group.second.source, group.second.taken, *weights]
    shared = [part.contiguous() for part in (labels, *steps.masks)]
    threads = min(torch.get_num_threads(), len(x))
    # A part of the first dimension lies in one piece, so that what is tuned is the caller's own memory.
    parts = zip(*(torch.tensor_split(array.contiguous(), threads) for array in arrays), strict=True)
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda part: _tune_part(part, shared, steps), list(parts)):
            pass


def _tune_part(part: tuple[Tensor, ...], shared: list[Tensor], steps: Steps) -> None:
    """One call of the compiled code, during which other threads of Python may run."""
    compiled = library(__file__)
    assert compiled is not None
    (x, first_source, _, second_source, _), weights = part[:5], part[5:]
    hidden, width = weights[6].shape[1:]
    classes = weights[8].shape[1]
    places, graphs, heads = shared[1].shape[1:]
    sizes = _Sizes(
        len(x), steps.number, graphs, second_source.shape[1], first_source.shape[1], x.shape[1], places, heads,
        x.shape[2], width, hidden, classes, steps.normalise,
    )  # fmt: skip
    arrays = _Arrays(*(address(array).value for array in (*part[:5], *shared, *weights)))
    if compiled.fsgc_gsm_fine_tune(sizes, ctypes.byref(_Rates(steps.lr, *steps.slopes)), arrays) != 0:
        raise MemoryError("fine-tuning: no memory for the weights of an episode")
