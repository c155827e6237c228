"""A device that only pretends to be one: its tensors are computed on the host, but behave as if they lived elsewhere.

Where there is no GPU this shows what would go wrong on one. A tensor of the device that meets one of the host is an
error, as are its bytes in the hands of NumPy; and whatever makes the host wait for a device is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_iter, tree_map_only

# A type of device of which there is none in any build, and whose gradients PyTorch computes in the thread that asks for
# them instead of one of the device's own.
NAME = "lazy"
# The size of what they return depends on values, which a device has to be asked for.
_SIZED_BY_VALUES = {
    "bincount",
    "equal",
    "is_nonzero",
    "_local_scalar_dense",
    "masked_select",
    "nonzero",
    "unique_consecutive",
    "unique_dim",
    "_unique2",
}
_COPIES = {"_to_copy", "copy_"}
# An index may be on the host: it is sent to the device first.
_INDEXED = {"index", "index_put", "index_put_", "_unsafe_index", "_index_put_impl_"}
_MASKS = (torch.bool, torch.uint8)


class Far(Tensor):
    """A tensor on the device; `near` has its values."""

    near: Tensor

    @staticmethod
    def __new__(cls, near: Tensor) -> Far:
        made: Far = Tensor._make_wrapper_subclass(
            cls,
            near.size(),
            strides=near.stride(),
            storage_offset=near.storage_offset(),
            dtype=near.dtype,
            device=torch.device(NAME),
        )
        made.near = near
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _call(func, args, kwargs or {})

    def tolist(self) -> Any:
        """PyTorch's own refuses subclasses."""
        _waits["tolist"] += 1
        return self.near.tolist()

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Far({self.near})"


_waits: Counter[str] = Counter()


@contextmanager
def pretend_device() -> Iterator[Counter[str]]:
    """Have the device; counts what makes the host wait for it, by the name of the operation."""
    _waits.clear()
    factories = _Factories()  # type: ignore[no-untyped-call]
    with factories, _Functions(), patch.object(torch, "is_autocast_enabled", _is_autocast_enabled):
        yield _waits


class _Factories(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees operations that take no tensor of the device but make one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _call(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Functions that do not come to `__torch_dispatch__` in parts that the device could do."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and _is_far(kwargs.get("device")):
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if func is torch.lstm_cell:
            return _lstm_cell(*args, **kwargs)
        return func(*args, **kwargs)


def _call(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute an operation on the host, with what it returns where a device would have it."""
    tensors = [each for each in tree_iter((args, kwargs)) if isinstance(each, Tensor)]
    any_far = any(isinstance(each, Far) for each in tensors)
    device, name = kwargs.get("device"), func.overloadpacket.__name__
    if not any_far and not _is_far(device):
        return func(*args, **kwargs)
    if any_far:
        _check_and_count(func, name, args, kwargs, tensors)
    elif tensors:
        _waits["copy to the device"] += 1
    near_args, near_kwargs = tree_map_only(Far, _near, (args, kwargs))
    if _is_far(device):
        near_kwargs["device"] = torch.device("cpu")
    result = func(*near_args, **near_kwargs)
    stays = args[0] if name == "copy_" else None
    if isinstance(stays, Tensor) and not isinstance(stays, Far):
        return stays
    if device is not None and not _is_far(device):
        return result.clone() if isinstance(result, Tensor) and result is near_args[0] else result
    far = tree_map_only(Tensor, Far, result)
    return return_and_correct_aliasing(func, args, kwargs, far)  # type: ignore[no-untyped-call]


def _check_and_count(func: Any, name: str, args: Any, kwargs: dict[str, Any], tensors: list[Tensor]) -> None:
    """Refuse what a device refuses, and count what it lets the host wait for."""
    if name in _COPIES:
        to = kwargs.get("device") if name == "_to_copy" else args[0].device
        if (to is not None and not _is_far(to)) or not all(isinstance(each, Far) for each in tensors):
            _waits["copy to the host" if not _is_far(to) else "copy to the device"] += 1
        return
    indices = [each for each in args[1] if each is not None] if name in _INDEXED else []
    for each in tensors:
        if isinstance(each, Far) or each.ndim == 0:
            continue
        if not any(each is index for index in indices) or not isinstance(args[0], Far):
            raise RuntimeError(f"{func}: a tensor {tuple(each.shape)} of the host meets tensors of the device")
        _waits["index of the host"] += 1
    if name in _SIZED_BY_VALUES:
        _waits[name] += 1
    if any(index.dtype in _MASKS for index in indices):
        _waits["mask"] += 1
    if name == "repeat_interleave" and kwargs.get("output_size") is None:
        _waits[name] += 1


_asked = torch.is_autocast_enabled


def _is_autocast_enabled(device_type: str | None = None) -> bool:
    """PyTorch has no mixed precision for this type of device, and raises an error when it is asked."""
    return False if device_type == NAME else _asked(*([] if device_type is None else [device_type]))


def _is_far(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _near(tensor: Far) -> Tensor:
    return tensor.near


def _lstm_cell(x: Tensor, state: tuple[Tensor, Tensor], *weights: Tensor) -> tuple[Tensor, Tensor]:
    """PyTorch takes a kernel of its own for it on every device but the host."""
    from_x, from_h, *biases = weights
    hidden, cell = state
    gates = x @ from_x.T + hidden @ from_h.T + sum(biases)
    take, forget, new, out = gates.chunk(4, 1)
    cell = forget.sigmoid() * cell + take.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell
