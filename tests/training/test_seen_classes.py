from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.training.seen_classes import check_unseen, seen_path, write_seen


def test_only_the_same_classes_of_the_same_graphs_have_been_seen(tmp_path: Path, shape_episodes: Episodes) -> None:
    model, split, graphs = tmp_path / "x.pt", shape_episodes.split, shape_episodes.graphs
    model.write_bytes(b"a model")
    write_seen(model, split, graphs)
    assert check_unseen(model, split, graphs) == ""
    moved = replace(split, base=split.base[1:], novel=(split.base[0], *split.novel))
    with pytest.raises(StoreError, match="was trained or chosen on the class"):
        check_unseen(model, moved, graphs)
    assert check_unseen(model, replace(moved, dataset="others"), graphs) == ""
    assert "have changed since" in check_unseen(model, moved, graphs.select(range(10)))
    shutil.copy(seen_path(model), tmp_path / "y.classes.json")
    model.with_name("y.pt").write_bytes(b"another model")
    with pytest.raises(StoreError, match="tells of another model"):
        check_unseen(model.with_name("y.pt"), split, graphs)
    assert check_unseen(model.with_name("z.pt"), moved, graphs) == "", "nothing is known of it"
