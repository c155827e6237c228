"""Running the cells of the tables on a Ray cluster.

The driver has the project and its stores; workers need the package and nothing else. Each store goes into Ray's object
store once, from where every node fetches it once; results come back as bytes, and the driver writes them, a cell's
record last, and records them in DVC. A task whose node or process dies is run again by Ray, at most so often; one that
fails tells its reason and is not.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from fsgc.cluster.parcels import pack, unpack
from fsgc.cluster.task import Answer, Orders, fulfil, places_of
from fsgc.errors import FsgcError, SettingsError
from fsgc.tables.grid import TABLES, CellKey
from fsgc.tables.plan import Work
from fsgc.tables.recorder import Recorder
from fsgc.tables.runner import Outcome, Result, Runner, by_model

OOM_RETRIES = "RAY_task_oom_retries"


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

    task: ClassVar[Callable[..., Answer]] = staticmethod(fulfil)

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
        # Read when Ray is loaded. Its own setting is to retry forever what takes too much memory.
        os.environ.setdefault(OOM_RETRIES, str(retries))
        try:
            import ray
        except ImportError:
            raise SettingsError("--ray needs Ray; install it with: pip install 'fsgc[ray]'") from None
        self._ray: Any = ray
        self.orders, self.gpus, self.retries = Orders(params, state, threads), gpus, retries
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
            except (
                OSError,
                RuntimeError,
                ValueError,
                ray.exceptions.RayError,
            ) as error:
                said = str(error).strip().splitlines() or [type(error).__name__]
                raise FsgcError(
                    f"no Ray cluster could be reached at {address!r}: {said[0]}; docs/cluster.md tells how to start one"
                ) from None
        self._remote = ray.remote(self.task).options(
            num_cpus=threads, num_gpus=gpus, max_retries=retries, retry_exceptions=False
        )

    def run(self, works: Sequence[Work], started: Callable[[CellKey], None], ended: Callable[[Outcome], None]) -> None:
        """Compute the given cells, those of one model together, in the given order.

        All tasks are handed to Ray at once, so that no worker ever waits for the driver.
        """
        groups: dict[Any, list[Work]] = {}
        waiting: list[Any] = []
        announced: set[Any] = set()
        recorder = Recorder(self.record)
        try:
            for group, reason in self._submit(works, groups):
                _each(group, started)
                recorder.add(self.settle(group, reason, ended))
            waiting = list(groups)
            while waiting:
                # Ray begins tasks in the order they were handed over: the first ones are those that run.
                for task in waiting[: self._places()]:
                    if task not in announced:
                        announced.add(task)
                        _each(groups[task], started)
                self._ray.wait(waiting, num_returns=1, timeout=recorder.patience())
                done, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=0, fetch_local=False)
                for task in done:
                    if task not in announced:
                        _each(groups[task], started)
                for task in done:
                    group = groups.pop(task)
                    recorder.add(self.settle(group, self._receive(group, task), ended))
                recorder.record_if_due()
            recorder.record()
        finally:
            for task in waiting:
                self._ray.cancel(task, force=True)

    def _submit(self, works: Sequence[Work], groups: dict[Any, list[Work]]) -> list[Result]:
        """Hand over all tasks, noting in `groups` what each computes; those that lack a store, and why."""
        parcels: dict[str, Any] = {}
        refused: list[Result] = []
        for group in by_model(works).values():
            try:
                order = self.orders.of(group)
                for place in order.stores:
                    if place not in parcels:
                        parcels[place] = self._ray.put(pack(TABLES / place))
            except FsgcError as error:
                refused.append((group, str(error)))
            else:
                groups[self._remote.remote(order, *(parcels[place] for place in order.stores))] = group
        return refused

    def _receive(self, group: list[Work], task: Any) -> str | None:
        """Write what a task sent, whole files at a time and a cell's record last; why it is not everything."""
        try:
            answer: Answer = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            return self._lost(error)
        # Only what was asked for is written, wherever a worker says its files belong.
        try:
            for place in places_of(group):
                if place in answer.files:
                    unpack(answer.files[place], TABLES / place)
        except FsgcError as error:
            return str(error)
        return answer.reason or None

    def _lost(self, error: Exception) -> str:
        """Why there is no answer to an order."""
        errors, times = self._ray.exceptions, f"{self.retries + 1} times" if self.retries else "once"
        if isinstance(error, errors.OutOfMemoryError):
            return f"Ray ended its worker {times} because the node was out of memory; reserve more --threads for each"
        if isinstance(error, errors.NodeDiedError):
            return f"its node died {times}"
        if isinstance(error, errors.WorkerCrashedError):
            return f"its worker died {times}; perhaps out of memory"
        said = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        return f"Ray could not run it: {said[-1].strip()}"

    def _places(self) -> int:
        """How many tasks the cluster, as it is now, can run at once."""
        resources = self._ray.cluster_resources()
        places = resources.get("CPU", 0.0) / self.threads
        if self.gpus:
            places = min(places, resources.get("GPU", 0.0) / self.gpus)
        return max(1, int(places))


def _each(group: list[Work], tell: Callable[[CellKey], None]) -> None:
    for work in group:
        tell(work.cell)
