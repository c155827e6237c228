"""What the paper reports, to stand beside ours; the numbers are in `paper.toml`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fsgc.errors import CatalogError

PAPER_FILE = Path(__file__).with_name("paper.toml")
SHOTS = (5, 10)

Pairs = Mapping[str, tuple[float, float]]


def _at(pairs: Pairs, dataset: str, shots: int) -> float | None:
    """The value for a dataset and number of shots, if there is one."""
    if dataset not in pairs or shots not in SHOTS:
        return None
    value = float(pairs[dataset][SHOTS.index(shots)])
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class Remark:
    """What to know when comparing with the paper.

    Attributes:
        text: the remark.
        models: the methods that it is about; empty for all rows.
        datasets: those that it is about; empty for all.
        orientation: whether the paper's accuracies are for orientation only, so that no difference is shown.
    """

    text: str
    models: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    orientation: bool = False

    def is_about(self, row: PaperRow, dataset: str) -> bool:
        """Whether it is about a row on a dataset."""
        return (not self.models or row.model in self.models) and (not self.datasets or dataset in self.datasets)


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's tables.

    Attributes:
        title: its name there.
        group: the part of the table it is in.
        accuracies: dataset -> macro accuracy in per cent with 5 and 10 shots.
        model: the name of our method that they belong to; empty where they were only quoted from elsewhere.
    """

    title: str
    group: str
    accuracies: Pairs = field(default_factory=dict)
    model: str = ""

    def accuracy(self, dataset: str, shots: int) -> float | None:
        """The macro accuracy in per cent, if it is reported."""
        return _at(self.accuracies, dataset, shots)


@dataclass(frozen=True)
class TableSpec:
    """What a table of accuracies shows.

    Attributes:
        title: its heading.
        datasets: keys of the catalog.
        groups: the groups of rows it has, all methods together; or
        models: the very models it has.
        shots: with how many it shows each dataset.
    """

    title: str
    datasets: tuple[str, ...]
    groups: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    shots: tuple[int, ...] = SHOTS

    @property
    def columns(self) -> list[tuple[str, int]]:
        """Dataset and shots of each column."""
        return [(dataset, shots) for dataset in self.datasets for shots in self.shots]


@dataclass(frozen=True)
class Paper:
    """Everything in `paper.toml`."""

    tables: Mapping[str, TableSpec]
    rows: tuple[PaperRow, ...]
    datasets: Mapping[str, Mapping[str, float]]
    training: Mapping[str, Pairs] = field(default_factory=dict)
    inference: Mapping[str, Pairs] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()

    def rows_of(self, spec: TableSpec) -> list[PaperRow]:
        """The rows of a table in their order."""
        if spec.models:
            by_model = {row.model: row for row in self.rows}
            return [by_model[model] for model in spec.models]
        chosen = [row for row in self.rows if row.group in spec.groups]
        return sorted(chosen, key=lambda row: spec.groups.index(row.group))

    @property
    def compared(self) -> list[PaperRow]:
        """The rows of the tables that compare all methods, in their order: no variants and no ablations."""
        groups = {group for spec in self.tables.values() for group in spec.groups}
        return [row for row in self.rows if row.group in groups]

    def is_comparable(self, row: PaperRow, dataset: str) -> bool:
        """Whether a difference to the paper's accuracy of a row on a dataset means something."""
        return not any(remark.orientation and remark.is_about(row, dataset) for remark in self.remarks)

    def remarks_on(self, rows: Sequence[PaperRow], datasets: Iterable[str]) -> list[str]:
        """What to know of the accuracies that the paper reports for any of the rows on any of the datasets."""
        reported = [(row, dataset) for dataset in dict.fromkeys(datasets) for row in rows if dataset in row.accuracies]
        return [remark.text for remark in self.remarks if any(remark.is_about(*each) for each in reported)]

    def row_of(self, model: str) -> PaperRow | None:
        """The row of a model, if the paper has one."""
        return next((row for row in self.rows if row.model == model), None)

    def training_seconds(self, model: str, dataset: str, shots: int) -> float | None:
        """How long training took there."""
        return _at(self.training.get(model, {}), dataset, shots)

    def episode_seconds(self, model: str, dataset: str, shots: int) -> float | None:
        """How long a test episode took there."""
        return _at(self.inference.get(model, {}), dataset, shots)


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}


@cache
def load_paper(path: Path = PAPER_FILE) -> Paper:
    """Read what the paper reports."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    try:
        return Paper(
            tables={key: TableSpec(**_tuples(entry)) for key, entry in content["tables"].items()},
            rows=tuple(PaperRow(**entry) for entry in content["rows"]),
            datasets=content["datasets"],
            training=content["training_seconds"],
            inference=content["episode_seconds"],
            remarks=tuple(Remark(**_tuples(entry)) for entry in content["remarks"]),
        )
    except (KeyError, TypeError) as error:
        raise CatalogError(f"{path} is malformed: {error}") from error
