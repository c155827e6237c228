from __future__ import annotations

from pathlib import Path

import pytest

from fsgc.data.catalog import load_catalog
from fsgc.errors import CatalogError
from fsgc.report.choices import choices_table, load_choices
from fsgc.report.render import latex, markdown


def test_every_choice_says_what_was_known_and_why() -> None:
    choices = load_choices()
    table = choices_table(choices)
    assert [row.title for row in table.rows] == [choice.what for choice in choices]
    assert all(value.text for row in table.rows for value in row.values)
    assert table.frame["known"].to_list() == [choice.known for choice in choices]
    titles = {entry.title.removesuffix(" (re-created)") for entry in load_catalog().values()}
    settings = [choice.where for choice in choices if choice.group in ("Settings", "Inputs")]
    assert {name for where in settings for name in where.split(", ")} - {"all datasets"} <= titles


def test_words_begin_at_the_left() -> None:
    table = choices_table(load_choices())
    assert "\n| --- | --- | --- | --- |\n" in markdown(table)
    assert r"\begin{tabular}{@{}llll@{}}" in latex(table)


@pytest.mark.parametrize("text", ["choices = 3", "[[choices]]\nwhat = 'half'", "[[choices", "[other]"])
def test_a_malformed_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "choices.toml"
    path.write_text(text)
    with pytest.raises(CatalogError, match=r"choices\.toml is malformed"):
        load_choices(path)
