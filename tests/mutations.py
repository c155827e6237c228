"""Damaging a file at random."""

from __future__ import annotations

import numpy as np

_TOKENS = (
    b"-1",
    b"0",
    b"999999999999999999999",
    b"4294967296",
    b"nan",
    b"inf",
    b"1e400",
    b"x",
    b"\xff",
    b"\x00",
    b"",
    b",",
)


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """`data` after one to three random changes: of bytes, of tokens, of lines, of the end."""
    for _ in range(rng.integers(1, 4)):
        data = _change(data, rng)
    return data


def _change(data: bytes, rng: np.random.Generator) -> bytes:
    kind = rng.integers(7)
    position = int(rng.integers(len(data) + 1))
    if kind == 0:  # a byte becomes another
        return data[:position] + bytes([rng.integers(256)]) + data[position + 1 :]
    if kind == 1:  # some bytes are lost
        return data[:position] + data[position + int(rng.integers(1, 9)) :]
    if kind == 2:  # the file is cut off
        return data[:position]
    if kind == 3:  # a token is inserted
        return data[:position] + _TOKENS[rng.integers(len(_TOKENS))] + data[position:]
    lines = data.split(b"\n")
    line = int(rng.integers(len(lines)))
    if kind == 4:  # a line is lost
        del lines[line]
    elif kind == 5:  # a line comes twice
        lines.insert(line, lines[line])
    else:  # a token of a line becomes another
        tokens = lines[line].split(b" ")
        tokens[rng.integers(len(tokens))] = _TOKENS[rng.integers(len(_TOKENS))]
        lines[line] = b" ".join(tokens)
    return b"\n".join(lines)
