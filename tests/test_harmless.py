"""Edits that are said to change no result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsgc import harmless
from fsgc.recipes import code_of


def test_a_harmless_edit_counts_as_the_version_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = code_of(["fsgc.random"])["fsgc.random"]
    edit = harmless.Edit("fsgc.random", own, "0" * 16, "a reason", ("a cell",))
    monkeypatch.setattr(harmless, "EDITS", (edit,))
    assert code_of(["fsgc.random"])["fsgc.random"] == "0" * 16
    monkeypatch.setattr(harmless, "EDITS", (replace(edit, digest="1" * 16),))
    assert code_of(["fsgc.random"])["fsgc.random"] == own, "a further edit ends it"
    monkeypatch.setattr(harmless, "EDITS", (replace(edit, counts_as=""),))
    assert "fsgc.random" not in code_of(["fsgc.random"]), "it counts as part of another module"


def test_every_harmless_edit_is_of_the_module_as_it_is_and_was_checked() -> None:
    for edit in harmless.EDITS:
        counted = code_of([edit.module]).get(edit.module, "")
        assert counted == edit.counts_as != edit.digest, f"{edit.module}: remove its entry"
        assert edit.why
        assert edit.checked
