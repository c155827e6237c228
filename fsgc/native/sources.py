"""Naming compiled libraries after what they are compiled from.

`setup.py` runs this file as well, before the package is installed: it must not import anything of it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_INCLUDE = re.compile(rb'#include "([^"]+)"')


def library_name(source: Path, processor: str) -> str:
    """The stem of the library of a C++ file for a kind of processor: `_gin_kernel_avx512_1a2b3c4d`.

    It ends in a digest of the file and of what it includes, so that a library of an older version is not found: its
    functions may take other arguments.
    """
    return f"_{source.stem}_{processor}_{hashlib.sha256(_text(source)).hexdigest()[:8]}"


def _text(source: Path) -> bytes:
    text = source.read_bytes()
    return b"".join([text, *(_text(source.parent / name.decode()) for name in _INCLUDE.findall(text))])
