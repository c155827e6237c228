"""The record of a cell, `metrics.json`, read with suspicion: one damaged file must not take the others down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fsgc.errors import StoreError

Name = Annotated[str, Field(max_length=200)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Training(_Record):
    """What training took, `epochs` counted in `unit`, and its recipe; `None` or 0 for a method that is not trained."""

    seconds: Amount | None = None
    epochs: Annotated[int, Field(ge=0)] | None = None
    best_epoch: Annotated[int, Field(ge=0)] | None = None
    parameters: Annotated[int, Field(ge=0)] | None = None
    peak_memory: Amount | None = None
    recipe: Name = ""
    unit: Name = "epoch"


class Metrics(_Record):
    """What the report reads of a record; the rest of the file is not looked at.

    Attributes:
        model: the method, a name in the registry.
        dataset: key of the dataset.
        way: N.
        shots: K.
        queries: Q of the test episodes.
        seed: of split, training episodes and weights.
        episodes: how many test episodes there are.
        test_episodes: fingerprint of their graph indices; empty where the record does not have it.
        accuracy: mean over the test episodes.
        macro_f1: mean over the test episodes.
        transductive: whether a query's prediction depends on the other queries.
        test_seconds: what scoring all test episodes took.
        train: what training took.
        features: names of the node features.
        preset: `paper` or `authors`.
        settings: all settings, section by section.
        recipes: step -> digest of the recipe it was computed by.
        commit: of the code, with `+` if files differed from it.
        versions: package -> version.
        threads: of the numerical libraries.
        compiled: modules whose compiled code was at hand.
    """

    model: Name
    dataset: Name
    way: Count
    shots: Count
    queries: Count
    seed: Annotated[int, Field(ge=0)]
    episodes: Count
    test_episodes: Name = ""
    accuracy: Share
    macro_f1: float | None = None
    transductive: bool = False
    test_seconds: Amount | None = None
    train: Training | None = None
    features: list[Name] = Field(default_factory=list)
    preset: Name = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    recipes: dict[str, str] = Field(default_factory=dict)
    commit: Name = ""
    versions: dict[str, str] = Field(default_factory=dict)
    threads: Count | None = None
    compiled: list[Name] = Field(default_factory=list)


def read_metrics(path: Path) -> Metrics:
    """Read and check a record; whatever is wrong with the file is a `StoreError` that names it."""
    try:
        content = json.loads(path.read_bytes())
        json.dumps(content, ensure_ascii=False).encode()  # refuses half characters, which no page could be written with
        return Metrics.model_validate(content)
    except ValidationError as error:
        raise StoreError(f"{path} is damaged: {_complaint(error)}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: it cannot be read as JSON ({error})") from error


def _complaint(error: ValidationError) -> str:
    """The first thing that is wrong, in a few words."""
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{name} is missing"
    given = repr(first["input"])
    message = f"{first['msg'][:1].lower()}{first['msg'][1:]}, got {given if len(given) <= 60 else given[:59] + '…'}"
    return f"{name}: {message}" if name else message
