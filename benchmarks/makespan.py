"""How the time for the full grid falls with the size of a cluster, and where it stops: `python -m benchmarks.makespan`.

Times of cells are those in `tables/cells`; a cell that is not computed is taken for the median of those most like it.
`python -m benchmarks.makespan DIR` takes other cells.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from fsgc.cluster.makespan import MEASURED, limits, makespan
from fsgc.report.cells import find_cells
from fsgc.report.cost import Cost, cell_costs
from fsgc.report.project import Project
from fsgc.tables.grid import CELLS

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def main(root: Path) -> None:
    """Print the makespan for every number of workers, in two orders, and what holds it back."""
    costs = cell_costs(find_cells(root), Project(root))
    tasks = Cost(tuple(costs)).tasks()
    seconds, longest = list(tasks.values()), max(tasks, key=tasks.__getitem__)
    print(
        f"{len(costs)} cells in {len(tasks)} tasks; the times of {sum(cost.measured for cost in costs)} are measured."
    )
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


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CELLS)
