from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fsgc.data.catalog import dataset
from fsgc.data.splits import make_split
from fsgc.errors import SettingsError, StoreError
from fsgc.methods.gsm.clustering import find_superclasses
from fsgc.methods.gsm.prepare import make_superclasses
from fsgc.methods.gsm.superclass_settings import SuperClassSettings
from fsgc.methods.gsm.superclasses import SuperClasses
from fsgc.settings import from_mapping
from tests.graphs import random_store


def test_a_store_comes_back_and_is_refused_for_other_graphs(tmp_path: Path) -> None:
    graphs = random_store(3, graphs=120, classes=15)
    split = make_split(dataset("letter_high"), graphs.y)
    found, path = find_superclasses(graphs, split), tmp_path / "x.zarr"
    found.save(path)
    read = SuperClasses.open(path)
    for name in ("classes", "prototypes", "costs", "members"):
        np.testing.assert_array_equal(getattr(read, name), getattr(found, name))
    read.check(path, graphs, split)
    other = random_store(4, graphs=120, classes=15)
    with pytest.raises(StoreError, match=r"x\.zarr was made from other graphs"):
        read.check(path, other, split)


def test_the_number_of_super_classes_is_checked() -> None:
    members = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 2]])
    found = SuperClasses(np.array([3, 5, 9]), np.zeros(3, np.int64), np.zeros((3, 3)), members)
    assert found.of_classes(2).tolist() == [0, 1, 1]
    assert found.of_classes(3).tolist() == [0, 1, 2]
    for count in (0, 4):
        with pytest.raises(SettingsError, match=rf"gsm\.super_classes: {count} .* 3 base classes; use 1 to 3"):
            found.of_classes(count)


def test_the_maker_stores_the_clusters_of_the_base_classes(tmp_path: Path) -> None:
    graphs = random_store(3, graphs=120, classes=15)
    split = make_split(dataset("letter_high"), graphs.y)
    made = {}
    for order in (SuperClassSettings(order=1), SuperClassSettings(order=2)):
        said = make_superclasses(tmp_path / "x.zarr", graphs, split, order)
        made[order.order] = SuperClasses.open(tmp_path / "x.zarr")
        np.testing.assert_array_equal(made[order.order].costs, find_superclasses(graphs, split, order.order).costs)
    assert said == f"{len(split.base)} base classes clustered"
    assert made[2].classes.tolist() == sorted(split.base)
    assert (made[1].costs != made[2].costs).any()


def test_what_is_not_there_or_not_allowed_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        SuperClasses.open(tmp_path / "y.zarr")
    with pytest.raises(SettingsError, match=r"^superclasses\.order must be 1 or 2, got 3$"):
        from_mapping("superclasses", SuperClassSettings, {"order": 3})
