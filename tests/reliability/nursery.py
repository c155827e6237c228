"""A process that starts steps in children of its own, to be killed.

Importing PyTorch takes longer than a small step; a child that is forked from a process which has imported it begins at
once. The process reads a step from standard input and prints the child's process id; at the next line it waits for the
child and prints how it ended.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

from fsgc.experiment import Experiment
from fsgc.steps import download, episodes, evaluate, graphs, prepare, split, train
from fsgc.workspace import Workspace

STEPS = ("download", "graphs", "split", "episodes", "prepare", "train", "evaluate")
COUNTS = {"queries": 5, "train_epochs": 4, "train_per_epoch": 60, "val": 40, "test": 200}
LOOP = {"max_epochs": 4, "patience": 4, "batch_size": 20, "accelerator": "cpu"}
PARAMS = {"episodes": COUNTS, "train": {"default": LOOP}, "prototypical": {"default": {"width": 16}}}
DATASET = "triangles_gen"


def target(step: str, root: Path) -> Path:
    """What a step makes."""
    data = Workspace(root)
    experiment = Experiment.from_params(PARAMS, dataset=DATASET, model="wl", shots=5, seed=0)
    return {
        "download": data.raw(DATASET),
        "graphs": data.graphs(DATASET),
        "split": data.split(DATASET, 0),
        "episodes": data.episodes(DATASET, 5, 0),
        "prepare": (prepare.store_of(data, experiment) or root).parent,
        "train": root / "results" / "model.pt",
        "evaluate": root / "results" / "scores.zarr",
    }[step]


def run(step: str, root: Path, **counts: int) -> None:
    """Run a step as its commands do; `counts` are other numbers of episodes."""
    data, results = Workspace(root), root / "results"
    model = "wl" if step == "prepare" else "pn"
    params = {**PARAMS, "episodes": {**COUNTS, **counts}}
    experiment = Experiment.from_params(params, dataset=DATASET, model=model, shots=5, seed=0)
    if step == "train":
        train.run(data, experiment, results / "model.pt", results / "curves", "a run")
    elif step == "evaluate":
        evaluate.run(data, experiment, results / "model.pt", results, {})
    else:
        plain = {"download": download, "graphs": graphs, "split": split, "episodes": episodes, "prepare": prepare}
        plain[step].run(data, experiment)


def _child(step: str, root: Path, counts: dict[str, int]) -> None:
    with (root.parent / "output").open("a", encoding="utf-8") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        try:
            run(step, root, **counts)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


def main() -> None:
    """Serve until standard input ends."""
    for module in ("fsgc.methods.prototypical.method", "fsgc.methods.kernel.prepare", "dvclive.live", "torch._dynamo"):
        import_module(module)
    print("ready", flush=True)
    for line in sys.stdin:
        step, where, *counts = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            _child(step, Path(where), {name: int(value) for name, value in (each.split("=") for each in counts)})
        print(child, flush=True)
        sys.stdin.readline()  # until then one that has ended keeps its process id, so that no other can be killed
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
