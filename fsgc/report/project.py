"""The project that cells belong to: which cells are wanted, which are stale, where their models are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsgc.errors import FsgcError, StoreError
from fsgc.tables.grid import CELLS, TABLES, CellKey

if TYPE_CHECKING:
    from fsgc.episodes.batches import Episodes
    from fsgc.tables.plan import Work

MODELS = "models"


@dataclass(frozen=True)
class Project:
    """A directory of cells and what surrounds it.

    Cells may also be in a directory of their own, with no project around it: then nothing is wanted, nothing stale.

    Args:
        cells: the directory of cells; below a project it is `tables/cells`.
    """

    cells: Path

    @cached_property
    def root(self) -> Path | None:
        """The directory of the project, if the cells are in one."""
        from fsgc.settings import PARAMS_FILE

        cells = self.cells.resolve()
        root = cells.parents[len(CELLS.parts) - 1] if len(cells.parts) > len(CELLS.parts) else cells
        is_project = root / CELLS == cells and all((root / each / PARAMS_FILE).is_file() for each in ("", TABLES))
        return root if is_project else None

    @cached_property
    def _params(self) -> Mapping[str, Any]:
        from fsgc.settings import PARAMS_FILE, load_params

        assert self.root is not None
        return load_params(self.root / PARAMS_FILE)

    def kept(self, file: Path) -> Path:
        """Where a file that goes with the results is, whether it is there or not: in the project, or beside the cells.

        Args:
            file: its place in the project, such as `docs/results/reliability.csv`.
        """
        return self.root / file if self.root else self.cells.parent / file.name

    def wanted(self) -> tuple[CellKey, ...]:
        """The cells that the project lists."""
        from fsgc.tables.grid import Grid

        return Grid.load(self.root).cells if self.root else ()

    def work(self, key: CellKey) -> Work:
        """What computes a cell under the current settings; a `StoreError` outside a project."""
        from fsgc.tables.plan import work_of

        if self.root is None:
            raise StoreError(f"{self.cells} is not tables/cells of a project, so the settings of its cells are unknown")
        return work_of(key, self._params)

    def staleness(self, key: CellKey) -> tuple[str, ...]:
        """Which code and settings have changed since a cell was computed, or why that cannot be told."""
        from fsgc.tables.status import State, status_of

        if self.root is None:
            return ()
        try:
            status = status_of(self.work(key), self.root)
        except FsgcError as error:
            return (f"it can no longer be computed: {error}",)
        return status.reasons if status.state in (State.STALE, State.DAMAGED) else ()

    def is_current(self, key: CellKey) -> bool:
        """Whether a cell was computed with the code and settings at hand; outside a project nobody knows."""
        from fsgc.tables.status import State, status_of

        try:
            return self.root is not None and status_of(self.work(key), self.root).state is State.CURRENT
        except FsgcError:
            return False

    def model_directory(self, key: CellKey) -> Path:
        """Where the model of a cell and its curves are, whether they are there or not."""
        try:
            name = self.work(key).model
        except FsgcError:
            name = key.name
        return self.cells.parent / MODELS / name

    def episodes(self, key: CellKey) -> Episodes:
        """The stored episodes of a cell; a `StoreError` if they are not there."""
        from fsgc.steps.open import open_episodes
        from fsgc.workspace import Workspace

        return open_episodes(Workspace(self.cells.parent / "data"), self.work(key).experiment)
