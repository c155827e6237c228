"""Damage to the files of a directory: what disks, copies and people do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.mutations import mutated

Files = Mapping[Path, bytes]
Damage = Callable[[Path, Files, np.random.Generator], None]


def flip_a_bit(root: Path, files: Files, rng: np.random.Generator) -> None:
    _flip(root, files, rng, 1)


def flip_many_bits(root: Path, files: Files, rng: np.random.Generator) -> None:
    _flip(root, files, rng, int(rng.integers(2, 200)))


def truncate(root: Path, files: Files, rng: np.random.Generator) -> None:
    file = _pick(files, rng)
    (root / file).write_bytes(files[file][: int(rng.integers(len(files[file])))])


def lengthen(root: Path, files: Files, rng: np.random.Generator) -> None:
    file = _pick(files, rng)
    (root / file).write_bytes(files[file] + rng.bytes(int(rng.integers(1, 100))))


def overwrite(root: Path, files: Files, rng: np.random.Generator) -> None:
    """Zeros in place of a part, as a crash can leave them, or of the whole."""
    file = _pick(files, rng)
    start, end = sorted(rng.integers(len(files[file]) + 1, size=2))
    (root / file).write_bytes(files[file][:start] + bytes(int(end - start)) + files[file][end:])


def edit(root: Path, files: Files, rng: np.random.Generator) -> None:
    """Bytes, numbers and lines lost, repeated, replaced."""
    file = _pick(files, rng)
    (root / file).write_bytes(mutated(files[file], rng))


def delete(root: Path, files: Files, rng: np.random.Generator) -> None:
    (root / _pick(files, rng)).unlink()


def delete_a_directory(root: Path, files: Files, rng: np.random.Generator) -> None:
    parent = (root / _pick(files, rng)).parent
    if parent == root:
        delete(root, files, rng)
    else:
        shutil.rmtree(parent)


def exchange(root: Path, files: Files, rng: np.random.Generator) -> None:
    """Two files change places."""
    first, second = _pick(files, rng), _pick(files, rng)
    (root / first).write_bytes(files[second])
    (root / second).write_bytes(files[first])


def make_a_directory(root: Path, files: Files, rng: np.random.Generator) -> None:
    file = root / _pick(files, rng)
    file.unlink()
    file.mkdir()


DAMAGES: tuple[Damage, ...] = (
    flip_a_bit, flip_many_bits, truncate, lengthen, overwrite, edit, delete, delete_a_directory, exchange,
    make_a_directory,
)  # fmt: skip


@contextmanager
def damaged(root: Path, files: Files, damage: Damage, rng: np.random.Generator) -> Iterator[None]:
    """Do some damage, and undo it in the end."""
    try:
        damage(root, files, rng)
        yield
    finally:
        shutil.rmtree(root)
        put(root, files)


def put(root: Path, files: Files) -> None:
    """Make a directory hold these files."""
    for file, content in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(content)


def take(root: Path) -> dict[Path, bytes]:
    """All files of a directory, by their path in it."""
    return {file.relative_to(root): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def _flip(root: Path, files: Files, rng: np.random.Generator, count: int) -> None:
    file = _pick(files, rng)
    data = bytearray(files[file])
    for bit in rng.integers(8 * len(data), size=count):
        data[bit // 8] ^= 1 << bit % 8
    (root / file).write_bytes(data)


def _pick(files: Files, rng: np.random.Generator) -> Path:
    return list(files)[int(rng.integers(len(files)))]
