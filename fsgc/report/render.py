"""A table in Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

from itertools import groupby

from fsgc.report.table import Heading, Row, Table, Value

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "≈": r"$\approx$",
    "†": r"$\dagger$",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "—": "---",
    "·": r"$\cdot$",
    "γ": r"$\gamma$",
    "ε": r"$\varepsilon$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "∞": r"$\infty$",
}


def markdown(table: Table) -> str:
    """A heading, the table and its notes as Markdown."""
    lines = [f"## {table.title}", ""]
    if table.hint:
        lines += [f"{_escape_markdown(table.hint)}", ""]
    heads = [table.label, *(f"{h.over}, {h.text}" if h.over else h.text for h in table.headings)]
    lines += [_markdown_line(heads), _markdown_line(["---", *("---" if h.is_text else "---:" for h in table.headings)])]
    for group, rows in groupby(table.rows, key=lambda row: row.group):
        if group:
            lines.append(_markdown_line([f"*{_escape_markdown(group)}*", *[""] * len(table.headings)]))
        lines += [
            _markdown_line([_escape_markdown(row.title), *(_markdown_value(value) for value in row.values)])
            for row in rows
        ]
    lines += ["", *(f"- {_escape_markdown(note)}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_line(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _markdown_value(value: Value) -> str:
    text = f"**{value.text}**" if value.best else value.text
    return text + marks(value)


def marks(value: Value) -> str:
    """What follows an accuracy: interval, tie, staleness, what it is the best of, the paper's and the difference."""
    interval = f" ± {value.interval}" if value.interval else ""
    signs = (" ≈" if value.tie else "") + (" †" if value.stale else "")
    of = f" ({value.best_of})" if value.best_of else ""
    beside = f" [{', '.join(filter(None, (value.paper, value.difference)))}]" if value.paper else ""
    return interval + signs + of + beside


def _escape_markdown(text: str) -> str:
    for character in "\\`*_|<":
        text = text.replace(character, f"\\{character}")
    return text


def latex(table: Table) -> str:
    r"""A `table*` environment for a document that loads `booktabs` and `graphicx`.

    Every value takes two columns, ours and the paper's, so that both line up; a column that has none of the paper's
    takes one. The whole is scaled to the width of the text.
    """
    has_paper = [any(row.values[place].paper for row in table.rows) for place in range(len(table.headings))]
    kinds = ["l" if h.is_text else "rl" if beside else "r" for h, beside in zip(table.headings, has_paper, strict=True)]
    columns = "l" + "".join(kinds)
    width = len(columns)
    lines = [
        r"\begin{table*}",
        r"\centering",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        *_latex_head(table, has_paper),
        r"\midrule",
    ]
    for place, (group, rows) in enumerate(groupby(table.rows, key=lambda row: row.group)):
        if place:
            lines.append(r"\midrule")
        if group:
            lines.append(rf"\multicolumn{{{width}}}{{@{{}}l}}{{\emph{{{escape_latex(group)}}}}} \\")
        lines += [_latex_row(row, has_paper) for row in rows]
    caption = escape_latex(" ".join([f"{table.title}.", *filter(None, [table.hint]), *table.notes]))
    lines += [
        r"\bottomrule",
        r"\end{tabular}%",
        "}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.key.replace('_', '-')}}}",
    ]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def _latex_head(table: Table, has_paper: list[bool]) -> list[str]:
    """One line of heads, or two with rules between where columns stand below a common head."""
    spans = [2 if beside else 1 for beside in has_paper]
    texts = [
        rf"\multicolumn{{{span}}}{{c}}{{{escape_latex(h.text)}}}" for h, span in zip(table.headings, spans, strict=True)
    ]
    below = " & ".join([escape_latex(table.label), *texts]) + r" \\"
    if not any(h.over for h in table.headings):
        return [below]
    over, rules, start = [""], [], 2
    for common, group in groupby(zip(table.headings, spans, strict=True), key=_over):
        span = sum(width for _, width in group)
        over.append(rf"\multicolumn{{{span}}}{{c}}{{{escape_latex(common)}}}")
        if common:
            rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
        start += span
    return [" & ".join(over) + r" \\", " ".join(rules), below]


def _over(pair: tuple[Heading, int]) -> str:
    return pair[0].over


def _latex_row(row: Row, has_paper: list[bool]) -> str:
    texts = [escape_latex(row.title)]
    for value, beside in zip(row.values, has_paper, strict=True):
        number = escape_latex(value.text)
        text = rf"\textbf{{{number}}}" if value.best else number
        text += rf" {{\scriptsize $\pm$ {value.interval}}}" if value.interval else ""
        text += (r" $\approx$" if value.tie else "") + (r" $\dagger$" if value.stale else "")
        texts.append(text + (rf" {{\scriptsize ({value.best_of})}}" if value.best_of else ""))
        if beside:
            theirs = escape_latex(", ".join(filter(None, (value.paper, value.difference))))
            texts.append(rf"{{\scriptsize [{theirs}]}}" if theirs else "")
    return " & ".join(texts) + r" \\"


def escape_latex(text: str) -> str:
    """Plain text as LaTeX."""
    return "".join(_LATEX.get(character, character) for character in text)


def latex_document(body: str) -> str:
    """A whole document around tables, to look at them."""
    head = "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n\\usepackage{graphicx}\n"
    return f"{head}\\begin{{document}}\n{body}\\end{{document}}\n"


def csv(table: Table) -> str:
    """The values as data, a row each."""
    return table.frame.write_csv()
