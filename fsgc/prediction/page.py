"""The page of `fsgc predict --report`: each new graph, what it was taken for, and the labelled graphs nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from fsgc.arrays import Floats, Ints
from fsgc.data.formats.raw import NamedGraphs
from fsgc.prediction.drawing import draw

MOST_GRAPHS = 300
SHOWN_CLASSES = 6
STYLE = """
:root { --ground: #fff; --ink: #1b1f24; --faint: #59636e; --line: #d0d6dd; --bar: #0072b2; --raised: #f4f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --ink: #e6e9ed; --faint: #9ba6b2; --line: #3a434d; --bar: #56b4e9; --raised: #1e2329; }
}
body { margin: 0 auto; max-width: 72rem; padding: 0 1rem 3rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
article { display: flex; flex-wrap: wrap; gap: 1rem 2rem; padding: 1rem 0; border-top: 1px solid var(--line); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
figure { margin: 0; width: 150px; } figcaption { font-size: .8rem; color: var(--faint); overflow-wrap: anywhere; }
svg { background: #fff; border: 1px solid var(--line); border-radius: 6px; }
.near { display: flex; flex-wrap: wrap; gap: 1rem; }
.words { flex: 1 1 16rem; } table { border-collapse: collapse; font-size: .85rem; }
td { padding: .1rem .6rem .1rem 0; } meter { width: 8rem; }
.faint { color: var(--faint); } .unsure { outline: 2px solid #d55e00; outline-offset: 4px; border-radius: 2px; }
"""


def page(
    title: str,
    summary: Sequence[str],
    classes: Sequence[str],
    known: NamedGraphs,
    known_labels: Sequence[str],
    new: NamedGraphs,
    probabilities: Floats,
    nearest: Ints,
) -> str:
    """The page as HTML that needs nothing else; everything that is a user's is escaped.

    Args:
        title: of the page.
        summary: sentences at its top.
        classes: the names of the C classes.
        known: the labelled graphs.
        known_labels: their classes.
        new: the new graphs, `M`; the first 300 are shown.
        probabilities: `[M, C]`.
        nearest: int64 `[M, k]`, places among the labelled graphs.
    """
    shown = range(min(len(new.names), MOST_GRAPHS))
    articles = [
        _article(number, classes, known, known_labels, new, probabilities[number], nearest[number]) for number in shown
    ]
    if len(new.names) > MOST_GRAPHS:
        articles.append(f'<p class="faint">The first {MOST_GRAPHS} of {len(new.names)} graphs are shown.</p>')
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in summary)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>{sentences}{''.join(articles)}</main>"
        f"</body></html>\n"
    )


def _article(
    number: int, classes: Sequence[str], known: NamedGraphs, known_labels: Sequence[str], new: NamedGraphs,
    probabilities: Floats, nearest: Ints,
) -> str:  # fmt: skip
    order = np.argsort(-probabilities, kind="stable")
    best, labels = classes[order[0]], new.vocabulary.labels
    rows = "".join(
        f"<tr><td>{escape(classes[c])}</td><td><meter min='0' max='1' value='{probabilities[c]:.4f}'></meter></td>"
        f"<td>{probabilities[c]:.1%}</td></tr>"
        for c in order[:SHOWN_CLASSES]
    )
    figures = "".join(
        f"<figure>{draw(known.store, int(place), known.names[place], labels)}"
        f"<figcaption>{escape(known_labels[place])}<br>{escape(known.names[place])}</figcaption></figure>"
        for place in nearest
    )
    sure = "" if probabilities[order[0]] >= 0.5 else ' class="unsure" title="no class has half of the probability"'
    return (
        f'<article><figure>{draw(new.store, number, new.names[number], labels)}</figure><div class="words">'
        f"<h2>{escape(new.names[number])}: <span{sure}>{escape(best)}</span></h2><table>{rows}</table></div>"
        f'<section><p class="faint">nearest labelled graphs</p><div class="near">{figures}</div></section></article>'
    )
