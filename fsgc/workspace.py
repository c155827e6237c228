"""Where the stores are.

Everything computed lives below one data root, at a path that is a function of what it is, so that the DVC stages, the
command line and the Python API find the same files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

DATA_VARIABLE = "FSGC_DATA"


@dataclass(frozen=True)
class Workspace:
    """The paths below a data root."""

    root: Path

    @classmethod
    def find(cls) -> Workspace:
        """`$FSGC_DATA`, else `data/` of the fsgc checkout the current directory is in, else the user's cache."""
        if value := os.environ.get(DATA_VARIABLE):
            return cls(Path(value))
        here = Path.cwd()
        for directory in (here, *here.parents):
            if (directory / "dvc.yaml").exists() and (directory / "pipeline" / "episodes.py").exists():
                return cls(directory / "data")
        return cls(user_cache_path("fsgc"))

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

    def gram(self, dataset: str, kernel: str) -> Path:
        """The Gram matrix of a kernel over the graphs of a dataset's novel classes."""
        return self.root / "gram" / f"{dataset}-{kernel}.zarr"

    def superclasses(self, dataset: str, model: str, seed: int) -> Path:
        """The super-classes of a dataset's base classes; empty for a model that needs none."""
        return self.root / "superclasses" / f"{dataset}-{model}-seed{seed}.zarr"

    def training(self, dataset: str, shots: int, model: str, seed: int) -> Path:
        """Checkpoints of an unfinished training, kept to be resumed; outside DVC's outputs, which it deletes first."""
        return self.root / ".training" / f"{dataset}-{shots}shot-{model}-seed{seed}"

    def episode_stores(self, dataset: str) -> list[Path]:
        """Every episode store of a dataset that exists, in the order of their names."""
        return sorted(self.root.glob(f"episodes/{dataset}-*shot-seed*.zarr"))
