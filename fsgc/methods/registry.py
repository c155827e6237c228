"""All methods by name: the one line that a new method adds."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fsgc.errors import SettingsError
from fsgc.methods.base import LearnedMethod
from fsgc.methods.prototypical import PrototypicalNetwork


@dataclass(frozen=True)
class Entry:
    """A row of the tables.

    Attributes:
        title: its name in tables.
        about: what it is, in a sentence.
        method: the class; its `settings_type` and `section` say where its hyperparameters are.
        make: makes the method from the width of the node features and its settings.
    """

    title: str
    about: str
    method: type[LearnedMethod]
    make: Callable[[int, Any], LearnedMethod]


def _pn(title: str, about: str, task_adaptive: bool = False, mixup: bool = False) -> Entry:
    make = partial(PrototypicalNetwork, task_adaptive=task_adaptive, mixup=mixup)
    return Entry(title, about, PrototypicalNetwork, make)


METHODS: Mapping[str, Entry] = {
    "pn": _pn("PN", "Prototypical network with a GIN embedder."),
    "pn_mu": _pn("PN+MU", "PN regularised by latent mixup.", mixup=True),
    "pn_tae": _pn("PN+TAE", "PN with embeddings adapted to the episode.", task_adaptive=True),
    "pn_tae_mu": _pn("PN+TAE+MU", "The paper's full method.", task_adaptive=True, mixup=True),
}


def method_entry(name: str) -> Entry:
    """The entry `name`; an unknown one is an error that lists what there is."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise SettingsError(f"model: unknown method {name!r}{hint} There are: {', '.join(METHODS)}")
    return METHODS[name]
