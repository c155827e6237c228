"""Running the cells of the tables on a Ray cluster.

The driver has the project and its stores; workers need the package and nothing else. Each store goes into Ray's object
store once, from where every node fetches it once; results come back as bytes, and the driver writes and commits them,
cell by cell. A task whose node dies is run again by Ray; one that fails tells its reason and is not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fsgc.cluster.parcels import pack, unpack
from fsgc.cluster.task import Answer, fulfil, order_for
from fsgc.errors import FsgcError, SettingsError
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work
from fsgc.tables.runner import Outcome, Runner, by_model


class RayRunner(Runner):
    """Computes cells of the project in the current directory on a cluster.

    Args:
        params: the content of `params.yaml`.
        address: of the cluster, as `ray.init` takes it; `auto` finds the one this machine belongs to.
        threads: CPUs that each task reserves and uses.
        gpus: GPUs, or the share of one, that each task reserves.
        retries: how often a task is run again whose node or process died.
        state: a directory that all machines share, so that a killed training resumes; empty if there is none.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        address: str = "auto",
        threads: int = 1,
        gpus: float = 0.0,
        retries: int = 3,
        state: str = "",
    ) -> None:
        super().__init__(jobs=1, threads=threads)
        try:
            import ray
        except ImportError:
            raise SettingsError("--ray needs Ray; install it with: pip install 'fsgc[ray]'") from None
        self._ray: Any = ray
        self.params, self.state = params, state
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
            except (ConnectionError, ValueError) as error:
                raise FsgcError(
                    f"no Ray cluster at {address!r}: {error}; docs/cluster.md tells how to start one"
                ) from None
        self._remote = ray.remote(fulfil).options(
            num_cpus=threads, num_gpus=gpus, max_retries=retries, retry_exceptions=False
        )

    def run(self, works: Sequence[Work], started: Callable[[CellKey], None], ended: Callable[[Outcome], None]) -> None:
        """Compute the given cells; the longest first, as far as that is known."""
        parcels: dict[str, Any] = {}
        groups: dict[Any, list[Work]] = {}
        try:
            for group in by_model(works).values():
                order = order_for(group, self.params, self.state, self.threads)
                try:
                    for place in order.stores:
                        if place not in parcels:
                            parcels[place] = self._ray.put(pack(TABLES / place))
                except FsgcError as error:
                    for work in group:
                        started(work.cell)
                    self.take_over(group, str(error), ended)
                    continue
                task = self._remote.remote(order, *(parcels[place] for place in order.stores))
                groups[task] = group
                for work in group:
                    started(work.cell)
            waiting = list(groups)
            while waiting:
                done, waiting = self._ray.wait(waiting, num_returns=1)
                for task in done:
                    self._receive(groups.pop(task), task, ended)
        finally:
            for task in groups:
                self._ray.cancel(task, force=True)

    def _receive(self, group: list[Work], task: Any, ended: Callable[[Outcome], None]) -> None:
        """Write what a task sent, whole files at a time, and take it over."""
        try:
            answer: Answer = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            answer = Answer({}, f"the task was lost: {str(error).strip().splitlines()[0]}")
        for place, parcel in sorted(answer.files.items(), key=lambda item: item[0].endswith("metrics.json")):
            unpack(parcel, TABLES / place)
        self.take_over(group, answer.reason or None, ended)
