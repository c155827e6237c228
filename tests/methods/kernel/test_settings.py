from __future__ import annotations

from typing import Any

import pytest

from fsgc.errors import SettingsError
from fsgc.methods.kernel.settings import KernelSettings


def test_a_dataset_overrides_the_default() -> None:
    params = {"kernel": {"default": {"wl_iterations": 3}, "reddit": {"graphlet_size": 3}}}
    assert KernelSettings.from_params(params, "reddit") == KernelSettings(wl_iterations=3, graphlet_size=3)
    assert KernelSettings.from_params(params, "enzymes") == KernelSettings(wl_iterations=3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"graphlet_size": 6}, "kernel.graphlet_size: 6 does not fit; it must be 3, 4 or 5"),
        ({"node_labels": "tag"}, "kernel.node_labels: 'tag' is unknown; allowed are degree, label, attributes"),
        ({"graphlet_counts": "some"}, "kernel.graphlet_counts: 'some' is unknown; allowed are grakel, exact"),
        ({"wl_iterations": 0}, "kernel.wl_iterations: 0 does not fit"),
        ({"wl_iterations": "5"}, "kernel.wl_iterations: '5' is not of type int"),
        ({"iterations": 5}, "kernel.iterations: unknown"),
    ],
)
def test_bad_values_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        KernelSettings.from_params({"kernel": {"default": values}}, "enzymes")


def test_a_missing_section_is_named() -> None:
    with pytest.raises(SettingsError, match=r"kernel\.default: the section is missing"):
        KernelSettings.from_params({}, "enzymes")
