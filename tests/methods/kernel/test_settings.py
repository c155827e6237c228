from __future__ import annotations

from typing import Any

import pytest

from fsgc.errors import SettingsError
from fsgc.experiment import Experiment
from fsgc.methods.kernel.settings import KernelSettings


def _settings(params: dict[str, Any], dataset: str) -> Any:
    return Experiment.from_params(params, dataset=dataset, model="wl").preparation


def test_a_dataset_overrides_the_default() -> None:
    params = {"kernel": {"default": {"wl_iterations": 3}, "reddit": {"graphlet_size": 3}}}
    assert _settings(params, "reddit") == KernelSettings(wl_iterations=3, graphlet_size=3)
    assert _settings(params, "enzymes") == KernelSettings(wl_iterations=3)
    assert _settings({}, "enzymes") == KernelSettings(), "without a section the defaults"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"graphlet_size": 6}, r"kernel\.default\.graphlet_size must be 3, 4 or 5, got 6"),
        (
            {"node_labels": "tag"},
            r"kernel\.default\.node_labels must be 'auto', 'degree', 'label' or 'attributes', got 'tag'",
        ),
        ({"graphlet_counts": "some"}, r"kernel\.default\.graphlet_counts must be 'grakel' or 'exact', got 'some'"),
        ({"wl_iterations": 0}, r"kernel\.default\.wl_iterations must be at least 1, got 0"),
        ({"wl_iterations": "5"}, r"kernel\.default\.wl_iterations must be a whole number, got '5'"),
        ({"wl_iteration": 5}, r"kernel\.default\.wl_iteration is unknown; did you mean 'wl_iterations'\?"),
    ],
)
def test_bad_values_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{message}"):
        _settings({"kernel": {"default": values}}, "enzymes")
