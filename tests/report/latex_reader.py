"""A small reader of LaTeX tables, written against the language rather than against our writer: balanced groups and
environments, known commands only, and a grid whose rows all fill the columns that the preamble declares."""

from __future__ import annotations

import re

# What article, booktabs and graphicx define, of what a table of numbers may need.
COMMANDS = frozenset(
    re.findall(
        r"\w+",
        "documentclass usepackage begin end centering resizebox textwidth toprule midrule bottomrule cmidrule "
        "multicolumn emph textbf scriptsize pm approx dagger times surd cdot gamma varepsilon rho tau infty "
        "caption label textbackslash textasciitilde textasciicircum textless textgreater",
    )
)
_TOKEN = re.compile(r"\\(?P<name>[A-Za-z]+)(?P<argument>\{[a-z*]+\})?|\\(?P<escaped>.)|(?P<plain>.)", re.DOTALL)


def check_syntax(source: str) -> None:
    """Groups, mathematics and environments are balanced; every command is known; no character is special unawares."""
    assert not re.search(r"[^\x00-\xff]", source), "a character that pdfLaTeX does not know"
    environments: list[str] = []
    for token in _TOKEN.finditer(source):
        name, near = token["name"], source[max(0, token.start() - 20) : token.end() + 20]
        assert name is None or name in COMMANDS, near
        assert token["escaped"] is None or token["escaped"] in "&%$#_{}\\", near
        if name == "begin":
            environments.append(token["argument"])
        elif name == "end":
            assert environments.pop() == token["argument"], near
        assert token["plain"] is None or token["plain"] not in "_^#~", near
        assert token["plain"] != "&" or "{tabular}" in environments, near
        # A comment may only swallow the line break.
        assert token["plain"] != "%" or source[token.end()] == "\n", near
    assert environments == []
    bare = re.sub(r"\\.", "", source, flags=re.DOTALL)
    assert bare.count("$") % 2 == 0
    while (fewer := re.sub(r"\{[^{}]*\}", "", bare)) != bare:
        bare = fewer
    assert "{" not in bare, "a group that does not end"
    assert "}" not in bare, "a group that does not begin"


def _group(source: str, place: int) -> tuple[str, int]:
    """The content of the group that opens at `place`, and where it ends."""
    assert source[place] == "{", source[place : place + 20]
    depth = 0
    for end in range(place, len(source)):
        if source[end - 1] == "\\" and source[end - 2] != "\\":
            continue
        depth += {"{": 1, "}": -1}.get(source[end], 0)
        if depth == 0:
            return source[place + 1 : end], end + 1
    raise AssertionError("a group does not end")


def _width(cell: str) -> int:
    span = re.match(r"\s*\\multicolumn\{(\d+)\}", cell)
    return int(span[1]) if span else 1


def grid(source: str) -> tuple[str, list[list[str]]]:
    """The column letters of the only tabular, and its rows of cells; each row fills all columns."""
    start = source.index(r"\begin{tabular}") + len(r"\begin{tabular}")
    preamble, place = _group(source, start)
    letters = re.sub(r"@\{[^}]*\}", "", preamble)
    assert set(letters) <= set("lcr"), letters
    body = source[place : source.index(r"\end{tabular}")]
    for first, last in re.findall(r"\\cmidrule\(lr\)\{(\d+)-(\d+)\}", body):
        assert 2 <= int(first) <= int(last) <= len(letters)
    body = re.sub(r"\\(top|mid|bottom)rule|\\cmidrule\(lr\)\{[^}]*\}", "", body)
    parts = body.split(r"\\")
    assert not parts[-1].strip(), "the last row ends"
    rows = [re.split(r"(?<!\\)&", part) for part in parts[:-1]]
    for row in rows:
        assert sum(_width(cell) for cell in row) == len(letters), row
    return letters, [[cell.strip() for cell in row] for row in rows]
