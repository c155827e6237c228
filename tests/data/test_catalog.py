from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fsgc.data.catalog import CATALOG_FILE, dataset, load_catalog
from fsgc.data.features import FEATURES
from fsgc.errors import CatalogError

SEVEN = ["triangles_gen", "triangles", "letter_high", "enzymes", "reddit", "coil_del", "graph_r52"]


def test_seven_datasets_and_variants_of_them() -> None:
    catalog = load_catalog()
    assert [key for key, entry in catalog.items() if not entry.variant_of] == SEVEN
    for entry in catalog.values():
        assert not entry.variant_of or entry.variant_of in SEVEN


@pytest.mark.parametrize("key", load_catalog())
def test_entries_are_complete(key: str) -> None:
    entry = dataset(key)
    assert entry.title
    assert entry.about
    assert entry.citation
    assert entry.terms
    assert set(entry.features) <= set(FEATURES)
    assert len(entry.classes) == entry.statistics.classes
    for file in entry.files:
        assert file.urls
        assert all(url.startswith("https://") for url in file.urls)
        # Pinned: to a commit, or else by the checksums of the members.
        assert all(re.search(r"/[0-9a-f]{40}/", url) for url in file.urls) or file.members
        for checksum in [member.sha256 for member in file.members] or [file.sha256]:
            assert re.fullmatch("[0-9a-f]{64}", checksum)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(CatalogError, match="unknown dataset 'coildel'; did you mean 'coil_del'"):
        dataset("coildel")
    with pytest.raises(CatalogError, match=r"unknown dataset 'zzz'\. The catalog has: triangles_gen"):
        dataset("zzz")


def test_malformed_entries_are_refused(tmp_path: Path) -> None:
    entry = dataset("enzymes")
    with pytest.raises(CatalogError, match="overlap"):
        replace(entry, novel=(1, 2))
    with pytest.raises(CatalogError, match="fewer classes than way=9"):
        replace(entry, way=9)
    with pytest.raises(CatalogError, match="unknown reader 'xml', known: gsm"):
        replace(entry, reader="xml")  # type: ignore[arg-type]
    broken = tmp_path / "catalog.toml"
    broken.write_text(CATALOG_FILE.read_text().replace("\nway = 3", "", 1))
    with pytest.raises(CatalogError, match=r"'triangles_gen' is malformed.*'way'"):
        load_catalog(broken)


def test_adding_a_dataset_is_one_entry(tmp_path: Path) -> None:
    extended = tmp_path / "catalog.toml"
    text = CATALOG_FILE.read_text()
    start, end = text.index("[enzymes]"), text.index("[reddit]")
    extended.write_text(text + text[start:end].replace("enzymes", "mine"))
    assert load_catalog(extended)["mine"] == replace(dataset("enzymes"), key="mine")
