"""Model files from strangers: every field is checked before it is used."""

from __future__ import annotations

import copy
import io
import json
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.integrity import read_sealed, sealed, write_sealed
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.registry import METHODS
from fsgc.training.checkpoint import ModelInputs, Origin, TrainedModel, check_size
from fsgc.training.model_file import KIND, read_model, read_report, write_model
from fsgc.training.report import FitReport
from fsgc.training.run import make_method
from fsgc.training.settings import Training, TrainSettings
from tests.methods.conftest import make_episodes

SETTINGS = PrototypicalSettings(width=8)
REPORT = FitReport(3, 2, 0.5, 10.0, 1000, 99)


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")


@pytest.fixture
def model(tmp_path: Path, episodes: Episodes) -> Path:
    shape = TaskShape.of(episodes)
    method = make_method(Training("pn", SETTINGS, TrainSettings()), shape, seed=0)
    origin = Origin("pn", "enzymes", 3, 0, episodes.feature_names)
    TrainedModel(origin, SETTINGS, REPORT, method, shape, ModelInputs.of(episodes)).save(tmp_path / "model.pt")
    return tmp_path / "model.pt"


def _rewrite(model: Path, changes: Mapping[str, Any], drop: str = "") -> None:
    """What a stranger can do: other content, with a digest that is right."""
    content = {**read_model(model), **changes}
    content.pop(drop, None)
    data = io.BytesIO()
    torch.save(content, data)
    model.write_bytes(sealed(data.getvalue(), KIND))


FIELDS = ("kind", "version", "model", "dataset", "shots", "seed", "features", "settings", "shape", "inputs", "state")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [None, "x", -1, 2**40, 0.5, [], {}, ["a"], {"a": 1}, True, "../../x", "drop"])
def test_every_field_is_checked(model: Path, episodes: Episodes, field: str, value: Any) -> None:
    _rewrite(model, {} if value == "drop" else {field: value}, drop=field if value == "drop" else "")
    with pytest.raises(StoreError, match=r"model\.pt"):
        TrainedModel.load(model, episodes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": "/../../x"}, r"the field seed cannot be used \(Input should be a valid integer\)"),
        ({"seed": 2**31}, "the field seed cannot be used"),
        ({"shots": True}, "the field shots cannot be used"),
        ({"dataset": "../../outside"}, "the field dataset cannot be used"),
        ({"model": "os:system"}, "the field model cannot be used"),
        ({"features": ["attributes", "weight"]}, "names 'weight', which is no feature"),
        ({"settings": {"width": [[1]]}}, "the field settings.width cannot be used"),
        (
            {"shape": {"num_features": 10**9, "way": 2, "base_classes": 4}},
            "the field shape.num_features cannot be used",
        ),
        ({"more": 1}, "the field more cannot be used"),
    ],
)
def test_the_message_names_the_field(model: Path, changes: Mapping[str, Any], message: str) -> None:
    _rewrite(model, changes)
    with pytest.raises(StoreError, match=message):
        read_model(model)


@pytest.mark.parametrize("settings", [{"width": 16_000}, {"num_convs": 3}, {"gin_mlp_layers": 40}])
def test_settings_that_do_not_fit_the_weights_take_no_memory(
    model: Path, episodes: Episodes, settings: Mapping[str, Any]
) -> None:
    _rewrite(model, {"settings": {**read_model(model)["settings"], **settings}})
    with pytest.raises(StoreError, match="its settings ask for the shape"):
        TrainedModel.load(model, episodes)


@pytest.mark.parametrize("known", [{}, {"vocabulary": [2**80]}, {"vocabulary": "x"}, {"vocabulary": [[], 1]}])
def test_what_new_graphs_must_become_is_checked(model: Path, episodes: Episodes, known: Mapping[str, Any]) -> None:
    inputs = read_model(model)["inputs"]
    encodings = [copy.deepcopy(known) for _ in inputs["encoder"]["encodings"]]
    _rewrite(model, {"inputs": {**inputs, "encoder": {**inputs["encoder"], "encodings": encodings}}})
    with pytest.raises(StoreError, match=r"model\.pt does not fit this version of pn"):
        TrainedModel.load(model, episodes)


def test_a_damaged_file_is_not_given_to_torch(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 4
    model.write_bytes(data)

    def loaded(*_: object, **__: object) -> None:
        raise AssertionError("damaged bytes were read")

    monkeypatch.setattr(torch, "load", loaded)
    with pytest.raises(
        StoreError, match=r"model\.pt is damaged: its content and its SHA-256 do not agree; train it again"
    ):
        read_model(model)


def test_an_archive_that_grows_when_read_is_refused(model: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for member in archive.infolist():
            out.writestr(member.filename, archive.read(member))
    model.write_bytes(sealed(packed.getvalue(), KIND))
    with pytest.raises(StoreError, match=r"cannot|can be trusted \(a member is compressed\)"):
        read_model(model)


@pytest.mark.parametrize("bomb", [b"\x80\x02})" + 60 * b"2\x86" + b"K\x01s.", b"\x80\x02})" + 10**5 * b"\x85" + b"Ns."])
def test_a_bomb_in_the_pickle_is_refused(model: Path, bomb: bytes) -> None:
    assert pickle.HIGHEST_PROTOCOL >= 2
    packed = io.BytesIO()
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(packed, "w") as out:
        for member in archive.infolist():
            out.writestr(member.filename, bomb if member.filename.endswith("data.pkl") else archive.read(member))
    model.write_bytes(sealed(packed.getvalue(), KIND))
    with pytest.raises(StoreError, match="is not admitted"):
        read_model(model)


def test_the_report_is_of_this_model_and_as_it_was_written(model: Path, episodes: Episodes) -> None:
    assert read_report(model, bound=True) == REPORT
    content = read_sealed(model.with_suffix(".json"))
    write_sealed(model.with_suffix(".json"), {**content, "best_epoch": "2"})
    with pytest.raises(StoreError, match="not a report of this version"):
        read_report(model)
    write_sealed(model.with_suffix(".json"), {**content, "model_sha256": 64 * "0"})
    with pytest.raises(StoreError, match="tells of another model"):
        TrainedModel.load(model, episodes)
    text = json.dumps({**json.loads(model.with_suffix(".json").read_text()), "best_epoch": 1})
    model.with_suffix(".json").write_text(text)
    with pytest.raises(StoreError, match=r"model\.json is damaged"):
        read_report(model)
    model.with_suffix(".json").unlink()
    with pytest.raises(StoreError, match=r"model\.json, the report of the training, does not exist"):
        read_report(model)


def test_what_a_method_holds_twice_is_written_twice(model: Path) -> None:
    """Readers refuse a container that is used twice, with which bombs are made."""
    content, shared = read_model(model), [1, 2]
    write_model(model, {**content, "state": {"a": shared, "b": {"c": shared}}}, asdict(REPORT))
    assert read_model(model)["state"] == {"a": [1, 2], "b": {"c": [1, 2]}}


def test_writing_the_same_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    content = {"state": {"a": torch.arange(3)}}
    for name in "ab":
        write_model(tmp_path / f"{name}.pt", content, {})
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()


@pytest.mark.parametrize("name", METHODS)
def test_the_weights_of_every_method_fit_its_own_settings(name: str) -> None:
    entry, shape = METHODS[name], TaskShape(num_features=5, way=3, base_classes=7)
    settings = entry.method().settings_type()
    method = entry.make(shape, settings)
    state = method.state_dict() if isinstance(method, LearnedMethod) else {}
    check_size(entry, shape, settings, state)
    if state:
        with pytest.raises(RuntimeError, match="its settings ask for the shape"):
            check_size(entry, TaskShape(num_features=6, way=3, base_classes=7), settings, state)
