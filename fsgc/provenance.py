"""Under what a result came about: versions, commit, threads, compiled code."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("fsgc", "torch", "pytorch-lightning", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that decide a result."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a directory of sources
            found[name] = ""
    return found


def commit() -> str:
    """The commit of the repository that this code is in, with `+` if files differ from it; empty if there is none."""
    git, here = shutil.which("git"), Path(__file__).parent
    if git is None:
        return ""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def ask(*words: str) -> str:
        done = subprocess.run([git, *words], cwd=here, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip() if done.returncode == 0 else ""

    name = ask("rev-parse", "--short=12", "HEAD")
    return f"{name}+" if name and ask("status", "--porcelain", "--untracked-files=no", "--", ".") else name


def circumstances() -> dict[str, Any]:
    """All of it, as a result records it."""
    import torch

    from fsgc.native.library import at_hand

    threads = torch.get_num_threads()
    return {"commit": commit(), "versions": versions(), "threads": threads, "compiled": at_hand()}
