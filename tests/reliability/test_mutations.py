"""Everything stored, damaged in every way: a reader gives what was written or our own error, never anything else.

`pytest tests/reliability --full-reliability` does it thousands of times; the counts are in `docs/reliability.md`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fsgc.errors import FsgcError
from tests.reliability.damage import DAMAGES, damaged, put, take
from tests.reliability.stored import NOTHING, Stored, everything

QUICK, FULL = 3, 90  # times that each damage is done to each kind


@pytest.fixture(scope="module")
def kinds() -> dict[str, Stored]:
    return {stored.name: stored for stored in everything()}


NAMES = ("graphs", "episodes", "split", "Gram matrix", "super-classes", "scores", "outcomes", "model", "training state")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A damaged training state is said in a line, here thousands of times."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", NAMES)
def test_no_damage_is_used(kinds: dict[str, Stored], name: str, tmp_path: Path, full: bool) -> None:
    stored, root, rng = kinds[name], tmp_path / "stored", np.random.default_rng(0)
    stored.write(root)
    expected, files, counts = stored.read(root), take(root), Counter[str]()
    for damage in DAMAGES:
        for _ in range(FULL if full else QUICK):
            with damaged(root, files, damage, rng):
                found = take(root)
                outcome = _outcome(stored, root, expected)
            assert outcome in ("unharmed", "refused", "taken for nothing"), (
                f"{damage.__name__} of {_changed(files, found)}: {outcome}"
            )
            counts[outcome] += 1
    assert stored.read(root) == expected, "the damage was undone"
    assert counts["unharmed"] < counts.total() / 4, "most mutations do harm"
    print(f"{name}: {counts.total()} mutations, {dict(counts)}")


def _outcome(stored: Stored, root: Path, expected: str) -> str:
    try:
        read = stored.read(root)
    except FsgcError as error:
        return "refused" if str(root) in str(error) else f"a message that names no file: {error}"
    if read == expected:
        return "unharmed"
    return "taken for nothing" if read == NOTHING and stored.or_nothing else "silently wrong"


def test_a_damage_is_undone(tmp_path: Path) -> None:
    """The harness itself: without this, one damage could hide the next."""
    put(tmp_path / "x", {Path("a"): b"abc", Path("d/b"): b"def"})
    files, rng = take(tmp_path / "x"), np.random.default_rng(1)
    for damage in DAMAGES:
        changed = False
        for _ in range(8):
            with damaged(tmp_path / "x", files, damage, rng):
                changed |= take(tmp_path / "x") != files
            assert take(tmp_path / "x") == files
        assert changed


def _changed(before: dict[Path, bytes], after: dict[Path, bytes]) -> list[str]:
    return [str(file) for file in before if before[file] != after.get(file)]
