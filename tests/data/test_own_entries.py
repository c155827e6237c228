"""The files that tell of a user's own datasets: written whole, read with suspicion, told from those of other tools."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsgc.data.catalog import dataset, load_catalog, own_directory
from fsgc.data.own import Choices, add_dataset, remove_dataset
from fsgc.errors import CatalogError, SettingsError
from tests.data.own_shapes import run_fsgc


def test_an_entry_that_could_not_be_read_is_not_written(project: Path) -> None:
    add_dataset("shapes", "shapes", Choices())
    before = (project / "datasets" / "shapes.toml").read_bytes()
    kept = project / "data" / "graphs" / "shapes.zarr"
    kept.mkdir(parents=True)
    (project / "shapes").rename(project / os.fsdecode(b"sh\xffpes"))
    with pytest.raises(CatalogError, match=r"shapes.toml was not written, since it could not be read again .*; rename"):
        add_dataset(os.fsdecode(b"sh\xffpes"), "shapes", Choices(), replace=True)
    assert (project / "datasets" / "shapes.toml").read_bytes() == before
    assert kept.exists(), "nothing is forgotten before the new entry is sure to be written"


@pytest.mark.usefixtures("project")
def test_a_damaged_entry_is_named() -> None:
    add_dataset("shapes", "shapes", Choices())
    file = own_directory() / "shapes.toml"
    text = file.read_text()
    file.write_text(text.replace("way = 2", "way = 9"))
    with pytest.raises(CatalogError, match=r"shapes.toml: shapes: fewer classes than way=9; add the dataset again"):
        load_catalog()
    file.write_text(text + "x x")
    with pytest.raises(CatalogError, match=r"shapes.toml cannot be read .*; add the dataset again"):
        load_catalog()
    assert "removed" in run_fsgc("datasets", "remove", "shapes")


FOREIGN = {
    "config.toml": b'name = "x"\n',
    "My-Config.toml": b'name = "x"\nreader = "csv"\n',
    "broken.toml": b"[[[",
    "coil_del.toml": b"",
    "binary.toml": b"\xff\xfe\x00",
}


def _write_foreign(folder: Path) -> None:
    folder.mkdir()
    for name, content in FOREIGN.items():
        (folder / name).write_bytes(content)
    (folder / "directory.toml").mkdir()


def test_files_of_another_tool_above_are_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_foreign(project / "datasets")
    (project / "work").mkdir()
    monkeypatch.chdir(project / "work")
    assert own_directory() == project / "work" / "datasets"
    assert "COIL-DEL" in run_fsgc("datasets")
    assert "triangles_gen" in run_fsgc("build", "triangles_gen", "-k", "1")
    assert add_dataset("../shapes", "shapes", Choices()).file == project / "work" / "datasets" / "shapes.toml"


def test_files_of_another_tool_beside_ours_are_passed_over_and_stay(project: Path) -> None:
    _write_foreign(project / "datasets")
    add_dataset("shapes", "shapes", Choices())
    assert list(load_catalog())[-1] == "shapes"
    with pytest.raises(CatalogError, match=r"unknown dataset 'config': .*config.toml is not an entry of 'fsgc data"):
        dataset("config")
    for replace in (False, True):
        with pytest.raises(SettingsError, match=r"config.toml exists and is not an entry of 'fsgc datasets add'"):
            add_dataset("shapes", "config", Choices(), replace=replace)
    with pytest.raises(CatalogError, match=r"config.toml is not an entry of 'fsgc datasets add' and stays"):
        remove_dataset("config")
    assert {name: (project / "datasets" / name).read_bytes() for name in FOREIGN} == FOREIGN


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"# Written", b"# I have edited what was written", ""),  # the reader is left
        (b"reader = ", b"'reader'=", ""),
        (b'reader = "own"\n', b"", "is malformed"),  # the comment is left
        (b'reader = "own"', b'reader = "theirs"', "unknown reader 'theirs'"),
        (b"# Written by", b"[\n# Written by", "cannot be read"),
        (b"title = ", b"\xfftitle = ", "cannot be read"),
    ],
)
def test_an_edited_or_damaged_entry_is_still_ours(project: Path, old: bytes, new: bytes, message: str) -> None:
    """Seen from below the project, where the search upwards must not pass it over."""
    file = add_dataset("shapes", "shapes", Choices()).file
    content = file.read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new, 1))
    (project / "below").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project / "below")
        if message:
            with pytest.raises(CatalogError, match=rf"shapes\.toml.*{message}.*; add the dataset again"):
                load_catalog()
        else:
            assert "shapes" in load_catalog()


@pytest.mark.usefixtures("project")
def test_a_hand_written_entry_of_another_reader_is_ours() -> None:
    file = add_dataset("shapes", "shapes", Choices()).file
    file.write_text("\n".join(line for line in file.read_text().splitlines() if not line.startswith("#")))
    assert dataset("shapes").reader == "own"
    file.write_text(file.read_text().replace('reader = "own"', 'reader = "tu"'))
    assert dataset("shapes").reader == "tu"
