"""Where benchmarks run: `make bench DEVICE=cuda`, or `DEVICE=cuda python -m benchmarks.transfer`; the host by itself.

Ours and the plain network are both on the device, and so are the graphs of both. Reading, drawing and kernels have no
tensors there and are left out.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch_geometric.data import Data

from fsgc.episodes.batches import EpisodeBatch
from fsgc.errors import SettingsError

CHOSEN = os.environ.get("DEVICE") or "cpu"


def chosen_device(name: str = CHOSEN) -> torch.device:
    """The device of that name; an error if there is none."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise SettingsError(f"DEVICE: PyTorch finds no {name!r} here ({str(error).splitlines()[0]})") from None
    return device


DEVICE = chosen_device()


def wait_for_device(device: torch.device = DEVICE) -> None:
    """Wait until the device has done what it was given: it works on while the clock of the host is read."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def title(device: torch.device = DEVICE) -> str:
    """What the device is called."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def on_device(batches: list[EpisodeBatch], device: torch.device = DEVICE) -> list[EpisodeBatch]:
    """The same batches on the device."""
    return [batch.to(device) for batch in batches]


class DataOnDevice(dict[int, Data]):
    """Graphs as PyG has them, for the plain networks; each is brought to the device when it is put in."""

    def __setitem__(self, graph: int, data: Any) -> None:
        super().__setitem__(graph, data.to(DEVICE))
