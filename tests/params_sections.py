"""`params.yaml` of the project, and the settings class of each of its sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from fsgc.data.splits import SplitSettings
from fsgc.episodes.settings import EpisodeSettings
from fsgc.methods.registry import METHODS
from fsgc.nn.settings import EmbedderSettings
from fsgc.training.settings import TrainSettings

PARAMS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text())
SECTIONS = {
    "train": TrainSettings,
    "embedder": EmbedderSettings,
    **{entry.section: entry.method().settings_type for entry in METHODS.values()},
    **{
        wanted.section: wanted.settings_type
        for wanted in (entry.method().preparation for entry in METHODS.values())
        if wanted is not None
    },
}
FLAT = {"split": SplitSettings, "episodes": EpisodeSettings}
