from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

from fsgc.data.own import Choices, add_dataset
from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.training.seen_classes import check_unseen, seen_path, write_seen
from tests.shapes import bare_shapes


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


def test_of_datasets_of_ones_own_it_is_told_that_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape_episodes: Episodes
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSGC_DATASETS", raising=False)
    mine = [
        nx.node_link_data(graph, edges="links") | {"graph": {"label": y}}
        for graph, y in zip(*bare_shapes(30), strict=True)
    ]
    Path("mine.json").write_text(json.dumps(mine))
    add_dataset("mine.json", "mine", Choices())
    Path("x.pt").write_bytes(b"a model")
    told = check_unseen(Path("x.pt"), replace(shape_episodes.split, dataset="mine"), shape_episodes.graphs)
    assert "nothing tells which classes of mine x.pt was trained on" in told
