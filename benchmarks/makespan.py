"""How the time for the full grid falls with the size of a cluster, and where it stops: `python -m benchmarks.makespan`.

Times of cells are those in `tables/cells` where they are computed; others are by the table below.
"""

from __future__ import annotations

import statistics

from fsgc.cluster.makespan import Costs, limits, makespan
from fsgc.tables.plan import Work, load_works
from fsgc.tables.runner import by_model
from fsgc.tables.status import status_of

# Minutes of one core for a cell, least and most over the datasets. Measured: maml, as_maml, gsm and, from episodes a
# second, pn and pn_tae_mu. Methods that are not listed were given the time of the one they resemble.
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
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# Seconds: handing over, and receiving and recording, as benchmarks.cluster measured; 100 MB of stores at 1 Gbit/s.
COSTS = Costs(submit=0.007, receive=0.076, transfer=1.0)


def seconds_of(work: Work) -> float:
    """How long a cell takes: as long as it did, else by the table, between least and most as its dataset is."""
    known = status_of(work).seconds
    if known is not None:
        return known
    least, most = MINUTES[work.cell.model if work.cell.model in MINUTES else RESEMBLES.get(work.cell.model, "pn")]
    return 60 * least * (most / least) ** (DATASETS.index(work.cell.dataset) / (len(DATASETS) - 1))


def main() -> None:
    """Print the makespan for every number of workers, in two orders, and what holds it back."""
    works = load_works()
    groups = [sum(seconds_of(work) for work in group) for group in by_model(works).values()]
    measured = sum(status_of(work).seconds is not None for work in works)
    print(f"{len(works)} cells in {len(groups)} tasks, the times of {measured} cells measured;")
    print(f"{sum(groups) / 3600:.1f} hours of one core, the longest task {max(groups) / 60:.0f} minutes,")
    print(f"the median {statistics.median(groups) / 60:.1f} minutes\n")
    print("| workers | hours, longest first | hours, in the order of the lists | speedup | held back by |")
    print("| ---: | ---: | ---: | ---: | --- |")
    for workers in WORKERS:
        ordered = makespan(sorted(groups, reverse=True), workers, COSTS)
        listed = makespan(groups, workers, COSTS)
        bounds = limits(groups, workers, COSTS)
        print(
            f"| {workers} | {ordered / 3600:.2f} | {listed / 3600:.2f} | {sum(groups) / ordered:.1f} | "
            f"{max(bounds, key=bounds.__getitem__)} |"
        )


if __name__ == "__main__":
    main()
