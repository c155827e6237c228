"""Counter-based random generators: a stream is named by a key, not by what was drawn before it."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def generator(*key: str | int, block: int = 0) -> np.random.Generator:
    """The generator of block `block` of the stream named by `key`.

    Philox is a function of (key, counter): every block of every stream can be drawn on its own, in any order and on any
    machine, and comes out the same.
    """
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    words = np.frombuffer(digest[:16], dtype="<u8").astype(np.uint64)
    counter = np.array([0, 0, 0, block], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=words, counter=counter))


def keyed_uniform(keys: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.float32]:
    """`count` numbers of each of many streams, uniform between 0 and 1, neither included: `[B]` to `[B, count]`.

    SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014): number `i` of a stream is a
    function of its key and `i` alone, and thousands of streams need no loop. Keys should come from `mixed`.
    """
    steps = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
    bits = mixed(keys[:, None] + steps) >> np.uint64(41)
    return ((bits.astype(np.float32) + np.float32(0.5)) * np.float32(2**-23)).astype(np.float32)


def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's scrambling of 64-bit numbers, one to one: neighbours become unrelated."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
