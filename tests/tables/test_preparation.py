from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fsgc.tables.plan import load_works
from fsgc.tables.preparation import SECONDS, preparation_seconds
from fsgc.tables.worker import prepare_stores
from tests.small_tables import PARAMS


def test_what_is_prepared_is_timed_when_it_is_made_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = {"datasets": ["triangles_gen"], "shots": [2, 3], "models": ["wl", "untrained"], "seeds": [0]}
    (tmp_path / "tables").mkdir()
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    (tmp_path / "tables" / "params.yaml").write_text(yaml.safe_dump({"small": lists}))
    works = load_works(tmp_path)
    clock = count(100.0, 7.31)
    monkeypatch.setattr("fsgc.tables.preparation.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert prepare_stores(works, tmp_path) == []
    assert preparation_seconds(tmp_path) == {"triangles_gen-wl": 7.3}
    text = (tmp_path / SECONDS).read_text()
    assert prepare_stores(works, tmp_path) == []
    assert (tmp_path / SECONDS).read_text() == text, "nothing was made"
    shutil.rmtree(tmp_path / "tables" / "data" / "prepared")
    clock = count(500.0, 20.0)
    assert prepare_stores(works, tmp_path) == []
    assert preparation_seconds(tmp_path) == {"triangles_gen-wl": 20.0}


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": "long"}', "3", '{"a": null}'])
def test_what_cannot_be_read_is_not_known(tmp_path: Path, content: str) -> None:
    assert preparation_seconds(tmp_path) == {}
    (tmp_path / "tables").mkdir()
    (tmp_path / SECONDS).write_text(content)
    assert preparation_seconds(tmp_path) == {}
    (tmp_path / SECONDS).write_text(json.dumps({"a": 1, "b": 2.5, "c": -1}))
    assert preparation_seconds(tmp_path) == {"a": 1.0, "b": 2.5}
