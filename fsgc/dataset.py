"""A user's graphs in memory, from graphs to a tested model without a project.

dataset = fsgc.Dataset.from_networkx(graphs, labels)
episodes = dataset.split(way=3).episodes(shots=5)
model = fsgc.train("pn", episodes, lr=0.001)
print(fsgc.evaluate(model, episodes)["accuracy"])
model.save(Path("pn.pt"))
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
import weakref
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fsgc.data.build import statistics_of
from fsgc.data.catalog import Dataset as Entry
from fsgc.data.formats.networkx_graphs import raw_from_networkx
from fsgc.data.formats.pyg_file import raw_from_pyg
from fsgc.data.formats.raw import NamedGraphs, RawGraphs, in_order
from fsgc.data.formats.read import read_graphs
from fsgc.data.formats.tu import read_tu_folder
from fsgc.data.informative import features_for, node_columns
from fsgc.data.own_split import propose_split
from fsgc.data.splits import make_split
from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.errors import DataFormatError
from fsgc.evaluation.results import evaluate as evaluate_into
from fsgc.methods.contract import Run
from fsgc.methods.registry import method_entry
from fsgc.preparation import preparation_of, prepared_for
from fsgc.settings import from_mapping
from fsgc.training.checkpoint import TrainedModel
from fsgc.training.inputs import check_inputs
from fsgc.training.run import fit_model
from fsgc.training.settings import Training, TrainSettings

MIN_CLASS = 20


@dataclass(frozen=True)
class Dataset:
    """Labelled graphs.

    Attributes:
        raw: the graphs, each with a class.
        name: what the dataset is called; the split and the episodes are drawn by it.
    """

    raw: RawGraphs
    name: str = "mine"

    def __post_init__(self) -> None:
        missing = [name for name, c in zip(self.raw.names, self.raw.classes, strict=True) if c is None]
        if missing:
            raise DataFormatError(f"{len(missing)} graphs have no class, the first is {missing[0]!r}")

    @classmethod
    def from_files(cls, path: Path | str, format: str | None = None, name: str = "mine") -> Dataset:  # noqa: A002
        """Graphs of a file, a folder or a zip, in any format of `fsgc.data.formats.read`."""
        return cls(read_graphs(path, format), name)

    @classmethod
    def from_tu(cls, folder: Path | str, prefix: str | None = None, name: str = "mine") -> Dataset:
        """Graphs of a folder of TU text."""
        return cls(read_tu_folder(Path(folder), prefix), name)

    @classmethod
    def from_pyg(cls, graphs: Iterable[Any], labels: Sequence[Hashable] | None = None, name: str = "mine") -> Dataset:
        """PyG graphs; the class of each is its `y` unless `labels` are given."""
        listed = list(graphs)
        return cls(raw_from_pyg(listed, _texts(labels, len(listed))), name)

    @classmethod
    def from_networkx(
        cls, graphs: Iterable[Any], labels: Sequence[Hashable] | None = None, name: str = "mine"
    ) -> Dataset:
        """Take networkx graphs; the class of each is its attribute `label` unless `labels` are given."""
        listed = list(graphs)
        return cls(raw_from_networkx(listed, _texts(labels, len(listed))), name)

    @property
    def classes(self) -> Mapping[str, int]:
        """The classes, and how many graphs each has."""
        counts = Counter(map(str, self.raw.classes))
        return {c: counts[c] for c in in_order(counts)}

    def split(
        self,
        way: int | None = None,
        novel: Sequence[Hashable] | None = None,
        min_class: int = MIN_CLASS,
        features: Sequence[str] | None = None,
        seed: int = 0,
    ) -> SplitDataset:
        """Divide the classes into those to train on and those to test on, by the rule of `fsgc.data.own_split`.

        Args:
            way: N, the classes of an episode; by the number of classes if not given.
            novel: the classes to test on; drawn if not given.
            min_class: classes of fewer graphs are left out.
            features: node features, see `fsgc.data.features`; what is not constant if not given.
            seed: of the graphs held out for validation, and of what is drawn in training.
        """
        used = {c: count for c, count in self.classes.items() if count >= min_class}
        small = {c: count for c, count in self.classes.items() if c not in used}
        proposed = propose_split(self.name, used, way, None if novel is None else [str(c) for c in novel], small)
        named = self.raw.named(classes=list(used))
        place = {c: number for number, c in enumerate(used)}
        base = [place[c] for c in proposed.base]
        entry = Entry(
            key=self.name, title=self.name, about="", reader="own", way=proposed.way,
            base=tuple(base),
            validation=tuple(place[c] for c in proposed.validation),
            novel=tuple(place[c] for c in proposed.novel),
            features=tuple(features or features_for(node_columns(named, base))),
            node_labels="", files=(), statistics=statistics_of(named.store), citation="", terms="",
        )  # fmt: skip
        return SplitDataset(named, entry, seed)


@dataclass(frozen=True)
class SplitDataset:
    """Labelled graphs whose classes are divided.

    Attributes:
        graphs: the graphs.
        entry: which classes serve what, as an entry of the catalog says it.
        seed: of what is drawn.
    """

    graphs: NamedGraphs
    entry: Entry
    seed: int

    def names(self, part: str) -> tuple[str, ...]:
        """The names of the `base`, `validation` or `novel` classes."""
        return tuple(self.graphs.classes[c] for c in getattr(self.entry, part))

    def episodes(self, shots: int = 5, settings: EpisodeSettings | None = None) -> Episodes:
        """Draw episodes of K = `shots`; they are kept in a temporary directory as long as they are in use."""
        split = make_split(self.entry, self.graphs.store.y, self.seed)
        folder = Path(tempfile.mkdtemp(prefix="fsgc-"))
        path = folder / "episodes.zarr"
        draw_episodes(path, self.graphs.store, split, self.entry.way, shots, self.seed, settings or EpisodeSettings())
        store = EpisodeStore.open(path)
        weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
        return Episodes(self.graphs.store, split, store, self.entry.features)


def train(
    model: str, episodes: Episodes, seed: int = 0, loop: Mapping[str, Any] | None = None, **settings: Any
) -> TrainedModel:
    """Train a method on episodes, choosing the best epoch by validation episodes.

    Args:
        model: a name of `fsgc models`, or `file.py:Class`.
        episodes: of `Dataset.split(…).episodes(…)` or of `fsgc.load_episodes`.
        seed: of the first weights and of what is drawn in training.
        loop: settings of the training loop, e.g. `{"max_epochs": 5}`; see `fsgc.training.settings`.
        settings: hyperparameters of the method, e.g. `lr=0.001`; `fsgc models pn` lists those of `pn`.
    """
    method = method_entry(model).method()
    training = Training(
        model,
        from_mapping(model, method.settings_type, settings),
        from_mapping("loop", TrainSettings, loop or {}),
    )
    with tempfile.TemporaryDirectory(prefix="fsgc-") as scratch:
        run = Run(
            episodes=prepared_for(model, episodes),
            settings=training.train,
            seed=seed,
            state=Path(scratch) / "state",
            curves=Path(scratch) / "curves",
            identity=hashlib.sha256(json.dumps(asdict(training), default=str).encode()).hexdigest(),
        )
        trained = fit_model(training, run)
    preparation_of(trained.method)  # has a kernel read its matrix, whose store ends with the episodes
    return trained


def evaluate(model: TrainedModel, episodes: Episodes, out: Path | str | None = None) -> dict[str, Any]:
    """Score all test episodes: accuracy, its interval and everything else that is known of the result.

    Args:
        model: what `train` gave.
        episodes: whose test episodes it is tested on.
        out: a directory for the record, the rows and the scores; they are not kept if it is not given.
    """
    ready = prepared_for(model.origin.model, episodes, preparation_of(model.method))
    unlike = check_inputs(model.origin, model.shape, model.inputs, ready)
    if unlike:
        warnings.warn(unlike, stacklevel=2)
    model.method.attach(ready)
    with tempfile.TemporaryDirectory(prefix="fsgc-") as scratch:
        return evaluate_into(model, ready, Path(out or scratch), {})


def _texts(labels: Sequence[Hashable] | None, graphs: int) -> list[str] | None:
    """The names of classes; labels that differ must have names that differ."""
    if labels is None:
        return None
    listed = list(labels)
    if len(listed) != graphs:
        raise DataFormatError(f"{len(listed)} labels for {graphs} graphs")
    named: dict[str, Hashable] = {}
    for label in listed:
        if label is None or label != label:
            raise DataFormatError(f"a label is {label}; every graph needs a class")
        if named.setdefault(str(label), label) != label:
            raise DataFormatError(
                f"the labels {named[str(label)]!r} and {label!r} differ, but their names are the same"
            )
    return [str(label) for label in listed]
