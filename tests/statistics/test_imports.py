from __future__ import annotations

import pkgutil
import subprocess
import sys

import fsgc.statistics


def test_the_package_needs_neither_pytorch_nor_a_table_library() -> None:
    names = [f"fsgc.statistics.{module.name}" for module in pkgutil.iter_modules(fsgc.statistics.__path__)]
    assert "fsgc.statistics.panel" in names
    heavy = "{'torch', 'polars', 'zarr', 'sklearn', 'matplotlib', 'scipy.stats'}"
    code = f"import sys, {', '.join(names)}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
