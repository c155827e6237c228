"""The file of a trained model: read with suspicion, since models are passed around.

Its digest tells damage. What its maker may have put into it is checked besides: that it is an archive which does not
grow when read, that its pickle builds plain data and tensors, and that every field has a value that makes sense, before
any of them is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fsgc.data.features import FEATURES
from fsgc.data.pickle_inspection import inspect
from fsgc.errors import FsgcError, StoreError
from fsgc.files import replacing
from fsgc.integrity import read_sealed, sealed, unsealed, write_sealed
from fsgc.methods.registry import stored_entry
from fsgc.training.report import FitReport

KIND = "fsgc.model"
VERSION = 4
_REMEDY = "train it again"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Model = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]{0,99}|[^:\x00-\x1f]{1,300}\.py:[A-Za-z_][A-Za-z0-9_]{0,99})$")
]
Value = bool | int | float | str | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class _Shape(_Strict):
    num_features: Annotated[int, Field(ge=1, le=10**6)]
    way: Annotated[int, Field(ge=2, le=10**4)]
    base_classes: Annotated[int, Field(ge=1, le=10**6)]


class _Encoder(_Strict):
    names: Annotated[list[str], Field(min_length=1, max_length=100)]
    encodings: Annotated[list[dict[str, Any]], Field(max_length=100)]
    num_attributes: Annotated[int, Field(ge=0, le=10**6)]


class _Vocabulary(_Strict):
    labels: list[str] | None
    attributes: list[str]


class _Inputs(_Strict):
    encoder: _Encoder
    vocabulary: _Vocabulary


class _Fields(_Strict):
    """What a model file holds; `shots` and `seed` are 0 where the training does not vary with them."""

    kind: str
    version: int
    model: Model
    dataset: Name
    shots: Annotated[int, Field(ge=0, le=10**6)]
    seed: Annotated[int, Field(ge=0, lt=2**31)]
    features: Annotated[list[str], Field(min_length=1, max_length=100)]
    settings: dict[str, Value | list[Value]]
    shape: _Shape
    inputs: _Inputs
    state: dict[str, Any]


def report_path(model: Path) -> Path:
    """The file beside a model that tells what its training took."""
    return model.with_suffix(".json")


def write_model(path: Path, content: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Write a model, and beside it what its training took, which names the model by its digest."""
    buffer = io.BytesIO()  # saved to a path, the archive would carry the name of that path
    torch.save(_unshared({"kind": KIND, "version": VERSION, **content}), buffer)
    data = sealed(buffer.getvalue(), KIND)
    with replacing(report_path(path)) as partial:
        write_sealed(partial, {**report, "model_sha256": hashlib.sha256(data).hexdigest()})
    with replacing(path) as partial:
        partial.write_bytes(data)


def _unshared(content: Any) -> Any:
    """The same with every dictionary and list made anew: a reader refuses those that are used twice."""
    if isinstance(content, Mapping):
        return {key: _unshared(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_unshared(value) for value in content]
    return content


def read_model(path: Path) -> dict[str, Any]:
    """What a model file holds, every field checked.

    Raises:
        StoreError: it is missing, damaged, of another version, or a field is missing or makes no sense.
    """
    try:
        data = unsealed(path.read_bytes(), KIND, path, _REMEDY)
        _check_archive(data)
        content = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist; train a model with 'dvc repro' or 'fsgc train'") from None
    except StoreError:
        raise
    except Exception as error:  # whatever is wrong with a file makes its readers raise nearly anything
        raise StoreError(f"{path} is not a model file that can be trusted ({error}); {_REMEDY}") from error
    if not isinstance(content, dict) or (content.get("kind"), content.get("version")) != (KIND, VERSION):
        raise StoreError(f"{path} is not a model of this version of fsgc; {_REMEDY}")
    try:
        _Fields.model_validate(content)
        stored_entry(content["model"])
        unknown = [name for name in content["features"] if name not in FEATURES]
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"][:2]))
        raise StoreError(f"{path}: the field {key} cannot be used ({first['msg']}); {_REMEDY}") from None
    except FsgcError as error:
        raise StoreError(f"{path} cannot be used: {error}") from None
    if unknown:
        raise StoreError(f"{path}: the field features names {unknown[0]!r}, which is no feature; {_REMEDY}")
    return content


def read_report(model: Path, bound: bool = False) -> FitReport:
    """What the training of a model file took; with `bound`, it must name this very model."""
    path = report_path(model)
    try:
        content = read_sealed(path, _REMEDY)
        digest = content.pop("model_sha256", None)
        report = TypeAdapter(FitReport).validate_json(json.dumps(content), strict=True)
        if bound and digest != hashlib.sha256(model.read_bytes()).hexdigest():
            raise StoreError(f"{path} tells of another model than {model}; {_REMEDY}")
    except FileNotFoundError:
        raise StoreError(f"{path}, the report of the training, does not exist; {_REMEDY}") from None
    except ValidationError as error:
        raise StoreError(
            f"{path} is not a report of this version of fsgc ({error.errors()[0]['msg']}); {_REMEDY}"
        ) from None
    return report


def _check_archive(data: bytes) -> None:
    """Refuse what grows when it is read: compressed members, and pickles that are bombs."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member is compressed")
        if sum(member.file_size for member in members) > len(data):
            raise ValueError("members overlap")
        for member in members:
            if member.filename.endswith(".pkl"):
                inspect(archive.read(member), persistent=True)
