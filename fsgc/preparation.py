"""What a method wants prepared of a dataset, outside of the pipeline: with which settings, and in a temporary place."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fsgc.episodes.batches import Episodes
from fsgc.methods.contract import Method
from fsgc.methods.kernel.method import KernelMethod
from fsgc.methods.kernel.settings import KernelSettings
from fsgc.methods.registry import method_entry


def preparation_of(method: Method) -> Any:
    """The settings that a trained method wants its store prepared with; None if any will do.

    A kernel is all that a model of it holds. What other methods have prepared only serves their training, or is made
    anew where it does not fit.
    """
    return KernelSettings(**method.state()) if isinstance(method, KernelMethod) else None


def prepared_for(model: str, episodes: Episodes, settings: Any = None) -> Episodes:
    """The same episodes with what a method wants to have prepared of their graphs, in a temporary directory.

    Args:
        model: the method's name.
        episodes: with their graphs; left as they are if something has been prepared for them.
        settings: of what is prepared; `None` for the defaults.
    """
    entry = method_entry(model)
    wanted = entry.method().preparation
    if wanted is None or episodes.prepared is not None:
        return episodes
    folder = Path(tempfile.mkdtemp(prefix="fsgc-"))
    weakref.finalize(episodes.store, shutil.rmtree, folder, ignore_errors=True)
    module, name = wanted.maker.split(":")
    make = getattr(import_module(module), name)
    given = settings if settings is not None else wanted.settings_type()
    make(folder / "store.zarr", episodes.graphs, episodes.split, given, **entry.options)
    return replace(episodes, prepared=folder / "store.zarr")
