"""Models of the tables are known by what they were made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.tables.plan import load_works
from fsgc.tables.runner import by_model
from fsgc.tables.trained import MODEL, is_trained, trained_from

SHARED = "whatever was trained"


def test_all_cells_of_a_model_agree_on_what_it_was_made_from(tmp_path: Path) -> None:
    """The planned ones; a model that they disagreed on would be trained again for every cell."""
    (tmp_path / MODEL).write_text(SHARED)
    groups = by_model(load_works()).values()
    assert any(len(works) > 1 for works in groups)
    for works in groups:
        first, *others = (trained_from(tmp_path, work.experiment) for work in works)
        assert all(other == first for other in others), works[0].model


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04"])
def test_what_is_no_model_file_is_not_trained(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / MODEL).write_bytes(content)
    assert not is_trained(tmp_path, load_works()[0].experiment)
