"""Which classes a model has seen, in a file beside it, so that it is not tested on them as if they were new.

A model file names its dataset, but the classes of a user's own dataset can be moved between base, validation and novel
after the training.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fsgc.data.catalog import dataset as catalog_entry
from fsgc.data.graph_store import GraphStore
from fsgc.data.splits import Split
from fsgc.errors import FsgcError, StoreError
from fsgc.files import replacing
from fsgc.integrity import read_sealed, write_sealed

_REMEDY = "train it again"
OWN_READER = "own"  # of a dataset of the user's, in the catalog


def seen_path(model: Path) -> Path:
    """The file beside a model that tells which classes it has seen."""
    return model.with_suffix(".classes.json")


def write_seen(model: Path, split: Split, graphs: GraphStore) -> None:
    """Note the classes that a model was trained and chosen on."""
    content = {
        "model_sha256": _digest(model),
        "dataset": split.dataset,
        "graphs": graphs.fingerprint(),
        "seen": sorted({*split.base, *split.validation}),
    }
    with replacing(seen_path(model)) as partial:
        write_sealed(partial, content)


def check_unseen(model: Path, split: Split, graphs: GraphStore) -> str:
    """Refuse to test a model on classes it has seen.

    Returns:
        What to warn of: that this cannot be told, since the graphs have changed or there is no note; empty if there is
        nothing.

    Raises:
        StoreError: a novel class was one that it was trained or chosen on, or the note is damaged.
    """
    path = seen_path(model)
    try:
        content = read_sealed(path, _REMEDY)
    except FileNotFoundError:  # trained by DVC, where a changed split is a reason to train again, or not trained at all
        return _unknown(model, split.dataset)
    if content.get("model_sha256") != _digest(model):
        raise StoreError(f"{path} tells of another model than {model}; {_REMEDY}")
    if content.get("dataset") != split.dataset:
        return ""
    if content.get("graphs") != graphs.fingerprint():
        return f"the graphs of {split.dataset} have changed since {model} was trained; it may have seen novel ones"
    again = sorted(set(content["seen"]) & set(split.novel))
    if again:
        names = graphs.attributes.get("class_names")
        told = ", ".join(str(names[each] if names else each) for each in again)
        raise StoreError(
            f"{model} was trained or chosen on the class{'es' * (len(again) > 1)} {told} of "
            f"{split.dataset}, novel now: its accuracy would say nothing of new classes. Train it again, or move the "
            "classes back"
        )
    return ""


def _unknown(model: Path, dataset: str) -> str:
    """What to warn of where no note tells; the classes of the benchmark's datasets are not moved."""
    try:
        own = catalog_entry(dataset).reader == OWN_READER
    except FsgcError:
        own = False
    return (
        f"nothing tells which classes of {dataset} {model} was trained on; with one of them among the novel ones, its "
        "accuracy says nothing of new classes"
        if own
        else ""
    )


def _digest(model: Path) -> str:
    return hashlib.sha256(model.read_bytes()).hexdigest()
