"""Running a method over stored episodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from fsgc.data.splits import Part
from fsgc.episodes.batches import Episodes
from fsgc.errors import FsgcError
from fsgc.methods.contract import Method

Scores = npt.NDArray[np.float32]


@torch.no_grad()
def predict_scores(method: Method, episodes: Episodes, part: Part = "test") -> Scores:
    """Scores of all queries of all episodes of a part, float32 `[E, N·Q, N]`."""
    batches = list(episodes.batches(part, method.episodes_at_once))
    shown = tqdm(batches, desc=f"{part} episodes", unit="batch", disable=None)
    scores = np.concatenate([method.predict(batch).float().cpu().numpy() for batch in shown])
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=(1, 2)))
    if len(bad):
        raise FsgcError(f"the scores of {part} episode {bad[0]} (and {len(bad) - 1} more) are not finite numbers")
    return scores
