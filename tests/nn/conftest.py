from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def double() -> Iterator[None]:
    """Makes double precision the type of all new tensors, so that a comparison can be strict."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(params=["single", "double"])
def precision(request: pytest.FixtureRequest) -> torch.dtype:
    """Runs a test in single and in double precision."""
    if request.param == "double":
        request.getfixturevalue("double")
    return torch.get_default_dtype()
