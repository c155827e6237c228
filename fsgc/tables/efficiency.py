"""The measurements of the efficiency table, each method in a process of its own, and the file they are kept in."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from fsgc.errors import FsgcError, StoreError
from fsgc.experiment import Experiment
from fsgc.files import replacing
from fsgc.provenance import commit, versions
from fsgc.settings import PARAMS_FILE, load_params
from fsgc.tables.grid import TABLES
from fsgc.tables.stopwatch import Timing, load_average, measure
from fsgc.workspace import Workspace

FILE = Path("docs") / "results" / "efficiency.json"
DATASETS = ("triangles", "coil_del")
MODELS = (
    "wl", "sp", "graphlet", "maml", "as_maml", "gin", "gat", "gcn", "gsm", "faith", "faith_inductive", "smf_gin",
    "smf_gin_local", "spnp", "untrained", "pn", "pn_mu", "pn_tae", "pn_tae_mu", "pn_tae_mu_mean_std", "discriminant",
)  # fmt: skip
MOST_LOAD = 0.75
"""A machine with a higher load average is busy. One process that does nothing but compute makes it 1."""
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT"
)  # fmt: skip
"""What keeps a process to one core; without the last, kernels would also leave workers that it waits for at its end."""


@dataclass(frozen=True)
class Measured:
    """Timings made under the same circumstances.

    Attributes:
        commit: of the code, with `+` if files differed from it.
        processor: the name of the CPU.
        threads: how many.
        date: when the last of them was made.
        versions: package -> version.
        timings: one per dataset, number of shots and method.
    """

    commit: str
    processor: str
    threads: int
    date: str
    versions: dict[str, str]
    timings: tuple[Timing, ...] = ()

    @classmethod
    def now(cls) -> Measured:
        """The circumstances of this moment, without timings."""
        return cls(commit(), processor_name(), 1, f"{datetime.now(UTC):%Y-%m-%d}", versions())

    @classmethod
    def load(cls, path: Path) -> Measured | None:
        """Read the file; None if there is none, a `StoreError` if it is damaged."""
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            timings = tuple(Timing(**each) for each in content.pop("timings"))
            return cls(**content, timings=timings)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"{path} is damaged ({error}); delete it and run 'fsgc tables efficiency'") from error

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        with replacing(path) as partial:
            partial.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def timing(self, dataset: str, shots: int, model: str) -> Timing | None:
        """The timing of a method, if there is one."""
        wanted = (dataset, shots, model)
        return next((each for each in self.timings if (each.dataset, each.shots, each.model) == wanted), None)

    def followed_by(self, other: Measured) -> Measured:
        """With newer timings added or in place of the old; those made under other circumstances are dropped."""
        alike = all(
            getattr(self, each.name) == getattr(other, each.name)
            for each in fields(self)
            if each.name not in ("timings", "date")
        )
        new = {(each.dataset, each.shots, each.model): each for each in other.timings}
        kept = [each for each in self.timings if alike and (each.dataset, each.shots, each.model) not in new]
        return Measured(**{**_circumstances(other), "timings": (*kept, *other.timings)})


def _circumstances(measured: Measured) -> dict[str, Any]:
    return {each.name: getattr(measured, each.name) for each in fields(measured)}


def processor_name() -> str:
    """The name of the CPU, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def refuse_if_busy() -> None:
    """A `FsgcError` if something else is computing on this machine."""
    load = load_average()
    if load > MOST_LOAD:
        raise FsgcError(
            f"the machine is busy: its load average is {load:.2f}, at most {MOST_LOAD} is quiet. Times would mean "
            f"nothing; wait until nothing else runs, or give --even-if-busy to try it out"
        )


def run(
    datasets: Sequence[str], models: Sequence[str], shots: int, budget: float, file: Path, tell: Callable[[str], None]
) -> Measured:
    """Measure methods on datasets, one after the other, and write what is there after each dataset.

    A method that fails is told and left out.
    """
    params = load_params(PARAMS_FILE) if PARAMS_FILE.exists() else {}
    workspace = Workspace(TABLES / "data") if TABLES.is_dir() else Workspace.find()
    measured, old = Measured.now(), Measured.load(file)
    for dataset in datasets:
        found = []
        for model in models:
            experiment = Experiment.from_params(params, dataset=dataset, shots=shots, model=model, seed=0)
            try:
                found.append(_in_a_process(workspace, experiment, budget))
            except FsgcError as error:
                tell(f"{dataset}, {model}: failed: {error}")
                continue
            tell(line(found[-1]))
        if found:
            measured = measured.followed_by(Measured(**{**_circumstances(measured), "timings": tuple(found)}))
            (old.followed_by(measured) if old else measured).save(file)
    return measured


def _in_a_process(workspace: Workspace, experiment: Experiment, budget: float) -> Timing:
    """Measure in a process of its own, which begins with an empty memory."""
    os.environ |= dict.fromkeys(THREAD_VARIABLES, "1")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            found = pool.submit(_on_one_thread, workspace, experiment, budget).result()
        except BrokenProcessPool as error:
            raise FsgcError("its process was killed, perhaps for want of memory") from error
    if isinstance(found, str):
        raise FsgcError(found)
    return found


def _on_one_thread(workspace: Workspace, experiment: Experiment, budget: float) -> Timing | str:
    """The timing, or why there is none: not every exception can be sent to another process."""
    import torch

    torch.set_num_threads(1)
    try:
        return measure(workspace, experiment, budget)
    except FsgcError as error:
        return str(error)


def line(timing: Timing) -> str:
    """A timing in a line."""
    training = (
        f"{timing.fit_seconds:.1f} s of training"
        if timing.epoch_seconds is None
        else f"{timing.epoch_seconds:.1f} s an epoch"
    )
    return (
        f"{timing.dataset}, {timing.model}: {timing.prepare_seconds:.1f} s once, {training}, a test episode "
        f"{timing.pooled_milliseconds:.3f} ms pooled and {timing.alone_milliseconds:.2f} ms alone, "
        f"{timing.peak_megabytes:.0f} MB"
    )


def disturbed(timings: Iterable[Timing]) -> list[str]:
    """The methods during whose measurement something else was computing."""
    return [f"{each.model} on {each.dataset}" for each in timings if each.load > 1 + MOST_LOAD]
