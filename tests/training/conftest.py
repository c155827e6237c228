"""The episodes that the tests of training share."""

from __future__ import annotations

import pytest

from fsgc.episodes.batches import Episodes
from tests.methods.conftest import make_episodes


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    """Small episodes that every test here trains on."""
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")
