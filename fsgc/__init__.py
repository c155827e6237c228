"""Few-shot graph classification: datasets, episodes and methods that can be compared.

The names of `__all__` are loaded on first use, so that `import fsgc.<module>` pulls in nothing it does not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsgc.api import load_episodes, load_graphs, load_split, read_graphs
    from fsgc.data.graph_store import GraphStore
    from fsgc.data.splits import Split
    from fsgc.dataset import Dataset, evaluate, train
    from fsgc.episodes.batches import EpisodeBatch, Episodes
    from fsgc.episodes.settings import EpisodeSettings
    from fsgc.episodes.store import EpisodeStore
    from fsgc.prediction.classifier import FewShotClassifier

__all__ = [
    "Dataset",
    "EpisodeBatch",
    "EpisodeSettings",
    "EpisodeStore",
    "Episodes",
    "FewShotClassifier",
    "GraphStore",
    "Split",
    "evaluate",
    "load_episodes",
    "load_graphs",
    "load_split",
    "read_graphs",
    "train",
]

_HOME = {
    "Dataset": "fsgc.dataset",
    "FewShotClassifier": "fsgc.prediction.classifier",
    "evaluate": "fsgc.dataset",
    "train": "fsgc.dataset",
    "EpisodeBatch": "fsgc.episodes.batches",
    "EpisodeSettings": "fsgc.episodes.settings",
    "EpisodeStore": "fsgc.episodes.store",
    "Episodes": "fsgc.episodes.batches",
    "GraphStore": "fsgc.data.graph_store",
    "Split": "fsgc.data.splits",
    "load_episodes": "fsgc.api",
    "load_graphs": "fsgc.api",
    "load_split": "fsgc.api",
    "read_graphs": "fsgc.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fsgc' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
