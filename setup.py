"""Compiled code: every C++ file of the package becomes libraries beside it; all else is in pyproject.toml.

There is one for each kind of processor; which one is used is decided where it runs (`fsgc/native/library.py`).

Where there is no compiler the install goes on without: what is compiled, Python does as well, only slower.
"""

import runpy
from pathlib import Path

from setuptools import Extension, setup

FLAGS = ["-O3", "-std=c++17", "-fno-math-errno", "-Wno-psabi"]
# Python's own flags say that integers wrap around, which halves the speed of products with the registers of AVX2.
PROCESSORS = {"avx512": [], "avx2": ["-DFSGC_AVX2", "-fno-wrapv"]}
library_name = runpy.run_path("fsgc/native/sources.py")["library_name"]
HEADERS = sorted(map(str, Path("fsgc").rglob("*.h")))

setup(
    ext_modules=[
        Extension(
            ".".join([*path.parent.parts, library_name(path, processor)]),
            [str(path)],
            depends=HEADERS,
            extra_compile_args=[*FLAGS, *flags],
            optional=True,
        )
        for path in sorted(Path("fsgc").rglob("*.cpp"))
        for processor, flags in PROCESSORS.items()
    ]
)
