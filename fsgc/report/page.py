"""One HTML file with everything in it: tables to sort, details of every accuracy, comparisons, figures."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fsgc.files import replacing
from fsgc.report.figures.style import FigureSet
from fsgc.report.provenance import origin_notes
from fsgc.report.results import Results
from fsgc.report.table import Table


def write_page(path: Path, results: Results, tables: Sequence[Table], data: Any, figures: FigureSet) -> None:
    """Write the page; it loads nothing, and its policy forbids the browser to.

    Args:
        path: the file.
        results: for the summary.
        tables: to show.
        data: as made by `fsgc.report.details.page_data`.
        figures: to show.
    """
    template = _environment().get_template("page.html")
    page = template.render(summary=_summary(results), tables=tables, figures=figures, data=_finite(data))
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


@cache
def _environment() -> Environment:
    """Templates in which every value is escaped and a missing one is an error."""
    environment = Environment(
        loader=PackageLoader("fsgc.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"runs": _runs, "base64": lambda content: base64.b64encode(content).decode()}
    # `tojson` also escapes what could end the script element; the order of the models is the page's.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def _runs(items: Iterable[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Neighbours with an equal attribute, in their order; Jinja's own `groupby` would sort them."""
    return [(value, list(run)) for value, run in groupby(items, key=attrgetter(attribute))]


def _finite(data: Any) -> Any:
    """The same data with `None` for the numbers JSON cannot hold: infinities and NaN."""
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _summary(results: Results) -> str:
    states = Counter(cell.state.value for cell in results.cells)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "none"
    return f"Cells: {counted}. {' '.join(origin_notes(list(results.found.values())))}"
