"""One HTML file with everything in it: tables to sort, details of every figure, comparisons, figures."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from fsgc.files import replacing
from fsgc.report.provenance import origin_notes
from fsgc.report.scores import Results
from fsgc.report.table import Heading, Row, Table, Value

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Picture:
    """A figure of the page: an SVG, and what it shows in words."""

    key: str
    title: str
    caption: str
    svg: bytes


def write_page(path: Path, results: Results, tables: Sequence[Table], data: Any, pictures: Sequence[Picture]) -> None:
    """Write the page; it loads nothing, and its policy forbids the browser to.

    Args:
        path: the file.
        results: for the summary.
        tables: to show.
        data: as made by `fsgc.report.details.page_data`.
        pictures: to show.
    """
    parts = {
        "style": _asset("page.css"),
        "script": _asset("page.js"),
        "summary": escape(_summary(results)),
        "navigation": _navigation(tables, pictures),
        "tables": "\n".join(_section(table) for table in tables),
        "figures": _figures(pictures),
        # "<" is all that could end the script element; as an escape it is the same JSON.
        "data": json.dumps(_finite(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    page = _asset("page.html")
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _finite(data: Any) -> Any:
    """The same data with `None` for what JSON has no word for: infinities and what is not a number."""
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8").rstrip("\n")


def _summary(results: Results) -> str:
    states = Counter(cell.state.value for cell in results.cells)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items())) or "none"
    scores = list(results.scores.values())
    return f"Cells: {counted}. {' '.join(origin_notes(scores))}"


def _navigation(tables: Sequence[Table], pictures: Sequence[Picture]) -> str:
    links = [(table.key, table.title) for table in tables] + [("compare", "Compare two methods")]
    links += [("figures", "Figures")] if pictures else []
    return "".join(f'<li><a href="#{escape(key)}">{escape(title)}</a></li>' for key, title in links)


def _section(table: Table) -> str:
    key, title = escape(table.key), escape(table.title)
    hint = f'<p class="hint">{escape(table.hint)}</p>' if table.hint else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    body = "\n".join(
        f"<tbody>{_group(group, len(table.headings))}{''.join(_row(row) for row in rows)}</tbody>"
        for group, rows in groupby(table.rows, key=lambda row: row.group)
    )
    return (
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{hint}'
        f'<div class="scroll" role="region" aria-labelledby="{key}-title" tabindex="0"><table class="figures">'
        f"<thead>{_head(table)}</thead>{body}</table></div>"
        f'<ul class="notes">{notes}</ul></section>'
    )


def _group(group: str, columns: int) -> str:
    return f'<tr class="group"><th colspan="{columns + 1}">{escape(group)}</th></tr>' if group else ""


def _head(table: Table) -> str:
    def sorter(text: str, column: int) -> str:
        return f'<th scope="col" data-column="{column}"><button type="button">{escape(text)}</button></th>'

    below = "".join(sorter(text, i) for i, text in enumerate([table.label, *(h.text for h in table.headings)]))
    if not any(heading.over for heading in table.headings):
        return f"<tr>{below}</tr>"
    over = "".join(_over(common, len(list(group))) for common, group in groupby(table.headings, key=_common))
    return f"<tr><td></td>{over}</tr><tr>{below}</tr>"


def _common(heading: Heading) -> str:
    return heading.over


def _over(text: str, columns: int) -> str:
    return f'<th scope="colgroup" colspan="{columns}">{escape(text)}</th>'


def _row(row: Row) -> str:
    return f'<tr><th scope="row">{escape(row.title)}</th>{"".join(_cell(value) for value in row.values)}</tr>'


def _cell(value: Value) -> str:
    text = f"<b>{escape(value.text)}</b>" if value.best else escape(value.text)
    if value.interval:
        text += f' <span class="interval">± {escape(value.interval)}</span>'
    if value.tie:
        text += ' <span title="not separated from the best">≈</span>'
    if value.name:
        text = f'<button type="button" data-name="{escape(value.name)}">{text}</button>'
    elif value.is_gap:
        text = f'<span class="gap">{text}</span>'
    beside = [f"seeds {value.seeds}"] if value.seeds else []
    beside += [f"paper {', '.join(filter(None, (value.paper, value.difference)))}"] if value.paper else []
    below = f'<span class="beside">{escape("; ".join(beside))}</span>' if beside else ""
    number = "" if value.number is None else f' data-number="{value.number:.10g}"'
    return f"<td{number}>{text}{below}</td>"


def _figures(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return ""
    shown = "\n".join(
        f'<figure id="figure-{escape(p.key)}"><h3>{escape(p.title)}</h3>'
        f'<img alt="{escape(p.caption)}" src="data:image/svg+xml;base64,{base64.b64encode(p.svg).decode()}">'
        f"<figcaption>{escape(p.caption)}</figcaption></figure>"
        for p in pictures
    )
    return f'<section id="figures" aria-labelledby="figures-title"><h2 id="figures-title">Figures</h2>{shown}</section>'
