"""How the time for the full grid falls with the size of a cluster, and where it stops: `python -m benchmarks.makespan`.

Times of cells are those in `tables/cells`; a cell that is not computed is taken for the median of its method, and a
method none of whose cells is computed by the table below. `python -m benchmarks.makespan DIR` takes other cells.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import replace
from pathlib import Path

from fsgc.cluster.makespan import MEASURED, limits, makespan
from fsgc.report.cells import find_cells
from fsgc.report.cost import CellCost, Cost, cell_costs
from fsgc.report.project import Project
from fsgc.tables.grid import CELLS, CellKey

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# Minutes of one core for a cell, least and most over the datasets, as they once took. Methods that are not listed were
# given the time of the one they resemble.
MINUTES = {
    "maml": (5.0, 50.0),
    "as_maml": (13.0, 48.0),
    "gsm": (17.0, 26.0),
    "pn": (0.2, 1.5),
    "pn_tae_mu": (0.6, 4.0),
}
RESEMBLES = {
    "faith": "pn_tae_mu",
    "faith_inductive": "pn_tae_mu",
    "smf_gin": "pn_tae_mu",
    "smf_gin_local": "pn_tae_mu",
    "pn_tae": "pn_tae_mu",
    "pn_tae_mu_mean_std": "pn_tae_mu",
}
DATASETS = ("enzymes", "letter_high", "triangles", "graph_r52", "coil_del", "reddit")  # from least to most


def _by_table(cell: CellKey) -> float:
    """Seconds of a cell, between least and most as its dataset is."""
    least, most = MINUTES[cell.model if cell.model in MINUTES else RESEMBLES.get(cell.model, "pn")]
    place = DATASETS.index(cell.dataset) if cell.dataset in DATASETS else 0
    return float(60 * least * (most / least) ** (place / (len(DATASETS) - 1)))


def main(root: Path) -> None:
    """Print the makespan for every number of workers, in two orders, and what holds it back."""
    found = cell_costs(find_cells(root), Project(root))
    known = {cost.key.model for cost in found if cost.measured}
    costs = [cost if cost.key.model in known else _guessed(cost) for cost in found]
    tasks = Cost(tuple(costs)).tasks()
    seconds, longest = list(tasks.values()), max(tasks, key=tasks.__getitem__)
    unknown = sorted({cost.key.model for cost in costs} - known)
    print(
        f"{len(costs)} cells in {len(tasks)} tasks; the times of {sum(cost.measured for cost in costs)} are measured,"
    )
    print(f"those of {', '.join(unknown) or 'no method'} are by a table, the others by cells of their methods.")
    print(f"{sum(seconds) / 3600:.1f} hours of one core; a task takes {statistics.median(seconds) / 60:.1f} minutes in")
    print(f"the median, and the longest, {Path(longest).name}, {tasks[longest] / 60:.0f}.\n")
    print("| workers | hours, longest first | hours, in the order of the lists | speedup | held back by |")
    print("| ---: | ---: | ---: | ---: | --- |")
    for workers in WORKERS:
        ordered = makespan(sorted(seconds, reverse=True), workers, MEASURED)
        listed = makespan(seconds, workers, MEASURED)
        bounds = limits(seconds, workers, MEASURED)
        print(
            f"| {workers} | {ordered / 3600:.2f} | {listed / 3600:.2f} | {sum(seconds) / ordered:.1f} | "
            f"{max(bounds, key=bounds.__getitem__)} |"
        )


def _guessed(cost: CellCost) -> CellCost:
    return replace(cost, train=0.0, test=_by_table(cost.key))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CELLS)
