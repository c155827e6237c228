"""How many episodes of what shape."""

from __future__ import annotations

from fsgc.settings import Count, Seed, settings


@settings
class EpisodeSettings:
    """The section `episodes` of `params.yaml`; the defaults are the paper's.

    Attributes:
        queries: Q; lowered for a part of the split whose smallest class has fewer than K + Q graphs.
        train_epochs: epochs of training episodes to store, each new.
        train_per_epoch: training episodes of an epoch.
        val: validation episodes.
        test: test episodes.
        test_seed: what the test episodes are drawn with, whatever the training seed.
    """

    queries: Count = 15
    train_epochs: Count = 40
    train_per_epoch: Count = 2000
    val: Count = 500
    test: Count = 5000
    test_seed: Seed = 0
