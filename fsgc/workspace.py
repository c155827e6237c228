"""Where the stores are.

Everything computed lives below one data root. Under the command line, the Python API and the tables a path is a
function of what it holds. The experiment of `dvc repro` has fixed paths instead: so `dvc metrics diff` compares two
experiments, and no value in `params.yaml` can name a path that DVC would delete.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from fsgc.experiment import Keys
    from fsgc.methods.contract import Scope

DATA_VARIABLE = "FSGC_DATA"
STORES = "stores"  # below data/ of a checkout, apart from what DVC owns there


def project_root() -> Path | None:
    """The fsgc checkout (or a project laid out like it) that the current directory is in."""
    here = Path.cwd()
    return next(
        (each for each in (here, *here.parents) if (each / "dvc.yaml").exists() and (each / "pipeline").is_dir()), None
    )


def as_name(text: str) -> str:
    """A word that is safe in a path, whatever the text."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:60] or "unnamed"


@dataclass(frozen=True)
class Workspace:
    """The paths below a data root, named after what they hold."""

    root: Path

    @classmethod
    def find(cls) -> Workspace:
        """`$FSGC_DATA`, else `data/stores` of the checkout the current directory is in, else the user's cache."""
        if value := os.environ.get(DATA_VARIABLE):
            return cls(Path(value))
        project = project_root()
        return cls(project / "data" / STORES) if project else cls(user_cache_path("fsgc"))

    def raw(self, dataset: str) -> Path:
        """The directory of a dataset's raw files."""
        return self.root / "raw" / dataset

    def partial(self, dataset: str) -> Path:
        """The directory of a dataset's unfinished downloads, kept to be resumed."""
        return self.root / ".partial" / dataset

    def graphs(self, dataset: str) -> Path:
        """The graph store of a dataset."""
        return self.root / "graphs" / f"{dataset}.zarr"

    def split(self, dataset: str, seed: int) -> Path:
        """The split of a dataset."""
        return self.root / "splits" / f"{dataset}-seed{seed}.json"

    def episodes(self, dataset: str, shots: int, seed: int) -> Path:
        """The episode store of a dataset."""
        return self.root / "episodes" / f"{dataset}-{shots}shot-seed{seed}.zarr"

    def prepared(self, keys: Keys, scope: Scope) -> Path:
        """The directory of what a method wants once for a dataset, named by all that it varies with."""
        return self.root / "prepared" / named(keys, scope)

    def training(self, keys: Keys, scope: Scope) -> Path:
        """Checkpoints of an unfinished training, kept to be resumed; outside DVC's outputs, which it deletes first."""
        return self.root / ".training" / model_name(keys, scope)

    def training_lock(self, keys: Keys, scope: Scope) -> Path:
        """The lock file of that directory: two trainings at once would clear and overwrite each other's checkpoints."""
        return self.root / ".training" / f"{model_name(keys, scope)}.lock"

    def note(self, store: Path) -> Path:
        """The file that tells by which recipe a store was made."""
        return self.root / ".recipes" / store.relative_to(self.root).with_suffix(".json")

    def notes_after_graphs(self, dataset: str) -> list[Path]:
        """The notes of all stores that were made of a dataset's graphs: splits, episodes, what is prepared."""
        notes = self.root / ".recipes"
        return [each for kind in ("splits", "episodes", "prepared") for each in notes.glob(f"{kind}/{dataset}-*.json")]

    def notes_after_split(self, dataset: str, seed: int) -> list[Path]:
        """The notes of the episodes that were drawn from a split; what methods prepare draws a split of its own."""
        return [*(self.root / ".recipes").glob(f"episodes/{dataset}-*shot-seed{seed}.json")]

    def episode_stores(self, dataset: str) -> list[Path]:
        """Every episode store of a dataset that exists, in the order of their names."""
        return sorted(self.root.glob(f"episodes/{dataset}-*shot-seed*.zarr"))


def named(keys: Keys, scope: Scope) -> str:
    """`dataset-5shot-model-seed0`, without what does not matter."""
    parts = [keys.dataset, f"{keys.shots}shot" if scope.shots else "", as_name(keys.model)]
    return "-".join(filter(None, [*parts, f"seed{keys.seed}" if scope.seed else ""]))


def model_name(keys: Keys, scope: Scope) -> str:
    """The same for a trained model, which varies with the node features too: `dataset-5shot-model-seed0-structural`."""
    other = keys.other_features
    return f"{named(keys, scope)}-{as_name(other)}" if other else named(keys, scope)


@dataclass(frozen=True)
class ExperimentWorkspace(Workspace):
    """The paths of the experiment of `params.yaml`: the same whatever the experiment."""

    def raw(self, _dataset: str) -> Path:
        """The directory of the dataset's raw files."""
        return self.root / "raw"

    def graphs(self, _dataset: str) -> Path:
        """The graph store."""
        return self.root / "graphs.zarr"

    def split(self, _dataset: str, _seed: int) -> Path:
        """The split."""
        return self.root / "split.json"

    def episodes(self, _dataset: str, _shots: int, _seed: int) -> Path:
        """The episode store."""
        return self.root / "episodes.zarr"

    def prepared(self, _keys: Keys, _scope: Scope) -> Path:
        """The directory of what the method wants once for the dataset."""
        return self.root / "prepared"
