"""Taking over into DVC what was computed outside it: many stages at once.

`python -m fsgc.tables.record STAGE…`, in a DVC repository, does what `dvc commit --force STAGE…` does: it hashes the
dependencies and outputs of the stages, puts the outputs into the cache, and notes both in `dvc.lock`. DVC rewrites that
file for every stage, which with hundreds of cells takes seconds each; here it is written once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dvc.dvcfile import load_file
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.stage.serialize import to_lockfile
from dvc.utils.serialize import dump_yaml

from fsgc.files import replacing

PIPELINE, LOCK = "dvc.yaml", Path("dvc.lock")


def record(names: list[str]) -> list[str]:
    """Take over the stages with these names in the current repository; why any could not be."""
    failed = []
    with Repo(_wait_for_lock=True) as repo, repo.lock:  # as `dvc --wait-for-lock` makes it
        pipeline = load_file(repo, str(Path(PIPELINE).resolve()))
        stages = pipeline.stages  # read once; DVC's own lookup reads it each time
        content = {"schema": "2.0", "stages": {}} | pipeline.lockfile_contents
        for name in names:
            try:
                stage = stages[name]
                stage.save()
                stage.commit()
                content["stages"] |= to_lockfile(stage)
            except DvcException as error:
                failed.append(f"{name}: {error}")
        with replacing(LOCK) as partial:
            dump_yaml(partial, content)
    return failed


if __name__ == "__main__":
    problems = record(sys.argv[1:])
    for problem in problems:
        print(f"ERROR: {problem}")
    sys.exit(1 if problems else 0)
