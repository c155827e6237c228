"""Which classes, and which graphs of them, serve training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fsgc.data.catalog import Dataset
from fsgc.errors import SettingsError, StoreError
from fsgc.files import replacing
from fsgc.integrity import REMEDY, read_sealed, write_sealed
from fsgc.random import generator
from fsgc.settings import settings

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = ("train", "val", "test")
KIND = "fsgc.split"
VERSION = 1


@settings
class SplitSettings:
    """The section `split` of `params.yaml`.

    Attributes:
        held_out_share: share of each base class's graphs that validate, where the catalog names no validation classes.
        validation: `published`, as above, or `classes`: where the catalog names no validation classes, N base classes
            drawn by the seed validate and do not train. On ENZYMES such classes tell far more about novel ones than
            graphs of seen classes do.
    """

    held_out_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    validation: Literal["published", "classes"] = "published"


@dataclass(frozen=True, eq=False)
class Split:
    """The split of one dataset under one seed.

    Attributes:
        dataset: key of the dataset.
        seed: what the held-out graphs were drawn with.
        base: classes to train on.
        validation: classes to validate on; empty where graphs of base classes are held out instead.
        novel: classes to test on.
        held_out: int64, ascending: the graphs of base classes kept from training for validation.
        graphs: how many graphs the dataset has.
    """

    dataset: str
    seed: int
    base: tuple[int, ...]
    validation: tuple[int, ...]
    novel: tuple[int, ...]
    held_out: npt.NDArray[np.int64]
    graphs: int

    def pools(self, y: npt.NDArray[np.integer[Any]], part: Part) -> dict[int, npt.NDArray[np.int64]]:
        """Class -> its graphs that `part` may use, ascending, given the classes `y` of all graphs."""
        if len(y) != self.graphs:
            raise StoreError(f"the split of {self.dataset!r} is for {self.graphs} graphs, but there are {len(y)}")
        is_held_out = np.zeros(len(y), dtype=bool)
        is_held_out[self.held_out] = True
        classes = {"train": self.base, "val": self.validation or self.base, "test": self.novel}[part]
        usable = is_held_out if part == "val" and not self.validation else ~is_held_out
        return {c: np.flatnonzero((y == c) & usable) for c in classes}

    def check(self, y: npt.NDArray[np.integer[Any]]) -> None:
        """Refuse a split whose parts overlap, or that leaves a graph out or a class empty."""
        used = np.zeros(len(y), dtype=np.int64)
        for part in PARTS:
            for c, graphs in self.pools(y, part).items():
                if len(graphs) == 0:
                    raise StoreError(f"the split of {self.dataset!r} leaves no {part} graphs in class {c}")
                used[graphs] += 1
        if (used != 1).any():
            graph = int(np.flatnonzero(used != 1)[0])
            raise StoreError(
                f"graph {graph} of {self.dataset!r} (class {y[graph]}) is in {used[graph]} parts of the split"
            )

    def save(self, path: Path) -> None:
        """Write the split as JSON, with its digest."""
        content = {
            "kind": KIND,
            "version": VERSION,
            "dataset": self.dataset,
            "seed": self.seed,
            "graphs": self.graphs,
            "base": list(self.base),
            "validation": list(self.validation),
            "novel": list(self.novel),
            "held_out": self.held_out.tolist(),
        }
        with replacing(path) as partial:
            write_sealed(partial, content)

    @classmethod
    def load(cls, path: Path) -> Split:
        """Read a split written by `save`; `StoreError` if it is missing, damaged or of another version."""
        try:
            content = read_sealed(path)
            if content.pop("kind") != KIND or content.pop("version") != VERSION:
                raise StoreError(f"{path} is not a split of this version of fsgc; {REMEDY}")
            for name in ("base", "validation", "novel"):
                content[name] = tuple(content[name])
            content["held_out"] = np.asarray(content["held_out"], dtype=np.int64)
            return cls(**content)
        except FileNotFoundError:
            raise StoreError(f"{path} does not exist; run 'dvc repro', or make it with 'fsgc build'") from None
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged ({error!r}); {REMEDY}") from error


def _with_validation_classes(dataset: Dataset, seed: int) -> Dataset:
    """The same dataset with N of its base classes moved to validation."""
    if len(dataset.base) < 2 * dataset.way:
        raise SettingsError(
            f"split.validation 'classes' takes {dataset.way} of the base classes of {dataset.key!r} and must leave "
            f"{dataset.way} to train on, but there are {len(dataset.base)}; use 'published'"
        )
    drawn = generator("split-classes", dataset.key, seed).permutation(len(dataset.base))[: dataset.way]
    validation = tuple(dataset.base[i] for i in sorted(drawn))
    return replace(dataset, validation=validation, base=tuple(c for c in dataset.base if c not in validation))


def make_split(
    dataset: Dataset, y: npt.NDArray[np.integer[Any]], seed: int = 0, settings: SplitSettings | None = None
) -> Split:
    """Split a dataset as table 5 of the paper does.

    Where the catalog names no validation classes, `settings.held_out_share` of the graphs of each base class, rounded,
    are drawn for validation; which ones depends on the dataset, the class and `seed` only.
    """
    chosen = settings or SplitSettings()
    share = chosen.held_out_share
    if chosen.validation == "classes" and not dataset.validation:
        dataset = _with_validation_classes(dataset, seed)
    held_out: list[npt.NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    if not dataset.validation:
        for c in dataset.base:
            graphs = np.flatnonzero(y == c)
            draw = generator("split", dataset.key, c, seed).permutation(len(graphs))
            held_out.append(graphs[draw[: round(share * len(graphs))]])
    split = Split(
        dataset=dataset.key,
        seed=seed,
        base=dataset.base,
        validation=dataset.validation,
        novel=dataset.novel,
        held_out=np.sort(np.concatenate(held_out)),
        graphs=len(y),
    )
    split.check(y)
    return split
