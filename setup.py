"""Compiled code: every C++ file of the package becomes a library beside it; all else is in pyproject.toml.

Where there is no compiler the install goes on without: what is compiled, Python does as well, only slower.
"""

from pathlib import Path

from setuptools import Extension, setup

FLAGS = ["-O3", "-std=c++17", "-fno-math-errno", "-Wno-psabi"]
HEADERS = sorted(map(str, Path("fsgc").rglob("*.h")))

setup(
    ext_modules=[
        Extension(
            ".".join([*path.parent.parts, f"_{path.stem}"]),
            [str(path)],
            depends=HEADERS,
            extra_compile_args=FLAGS,
            optional=True,
        )
        for path in sorted(Path("fsgc").rglob("*.cpp"))
    ]
)
