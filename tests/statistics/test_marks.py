from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fsgc.statistics.marks import PairP, mark_table

FULL = {"pn": 0.6, "wl": 0.5, "gin": 0.58}


def _p(values: Mapping[str, float]) -> PairP:
    """A test that knows the p-value of each row against the best."""

    def p_value(first: str, second: str) -> float:
        assert first not in values
        return values[second]

    return p_value


def test_the_best_of_a_whole_column_is_bold_and_what_is_not_separated_is_tied() -> None:
    (marks,) = mark_table([FULL], [_p({"wl": 0.001, "gin": 0.3})])
    assert (set(marks.best), set(marks.tied)) == ({"pn"}, {"gin"})
    assert (marks.is_bold, marks.note) == (True, "")


def test_nothing_is_bold_where_a_row_is_missing() -> None:
    (marks,) = mark_table([{**FULL, "maml": None, "gsm": None}], [_p({"wl": 0.001, "gin": 0.3})])
    assert (set(marks.best), set(marks.tied)) == ({"pn"}, {"gin"})
    assert (marks.is_bold, marks.note) == (False, "best of 3 of 5")


def test_a_lone_accuracy_and_none_at_all_are_not_marked() -> None:
    for column in ({"pn": 0.6, "wl": None}, {"pn": None, "wl": None}, {"pn": 0.6}, {}):
        (marks,) = mark_table([column], [_p({})])
        assert (marks.best, marks.tied, marks.is_bold, marks.note) == (frozenset(), frozenset(), False, "")


def test_equal_accuracies_are_both_best() -> None:
    (marks,) = mark_table([{"pn": 0.6, "wl": 0.6, "gin": 0.5}], [_p({"gin": 0.01})])
    assert (set(marks.best), set(marks.tied)) == ({"pn", "wl"}, set())


def test_the_correction_is_over_the_rows_of_a_column() -> None:
    """3 % alone is significant; beside two more tests in its column it is not, and other columns do not matter."""
    (alone,) = mark_table([{"pn": 0.6, "wl": 0.5}], [_p({"wl": 0.03})])
    assert alone.tied == frozenset()
    crowded = {"pn": 0.6, "wl": 0.5, "sp": 0.5, "gin": 0.5}
    (marks,) = mark_table([crowded], [_p({"wl": 0.03, "sp": 0.5, "gin": 0.5})])
    assert marks.tied == {"wl", "sp", "gin"}
    columns = mark_table([{"pn": 0.6, "wl": 0.5}] * 6, [_p({"wl": 0.03}), *[_p({"wl": 0.5})] * 5])
    assert [set(column.tied) for column in columns] == [set(), *[{"wl"}] * 5]


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.floats(0, 1)), max_size=5))
def test_marks_are_of_rows_that_exist(columns: list[dict[str, float | None]]) -> None:
    for column, marks in zip(columns, mark_table(columns, [lambda *_: 0.5] * len(columns)), strict=True):
        present = {row for row, accuracy in column.items() if accuracy is not None}
        assert not marks.best & marks.tied
        assert (marks.best | marks.tied) in (present, frozenset()), "with p = 0.5 everything ties"
        assert bool(marks.best) == (len(present) > 1)
        assert not (marks.is_bold and marks.note)
