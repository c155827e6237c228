"""Counter-based random generators: a stream is named by a key, not by what was drawn before it."""

from __future__ import annotations

import hashlib
import json

import numpy as np


def generator(*key: str | int, block: int = 0) -> np.random.Generator:
    """The generator of block `block` of the stream named by `key`.

    Philox is a function of (key, counter): every block of every stream can be drawn on its own, in any order and on any
    machine, and comes out the same.
    """
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    words = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
    counter = np.array([0, 0, 0, block], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=words, counter=counter))
