"""`fsgc predict`: labels for new graphs from a few labelled ones."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fsgc.arrays import Floats
    from fsgc.data.formats.raw import RawGraphs
    from fsgc.prediction.classifier import FewShotClassifier

PRINTED = 20


@click.command()
@click.argument("model")
@click.option("--support", "known", required=True, type=click.Path(path_type=Path), help="The labelled graphs.")
@click.option("--query", "new", required=True, type=click.Path(path_type=Path), help="The graphs to classify.")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="A CSV file to write.")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="A page to write, with drawings.")
@click.option(
    "--nearest", default=3, show_default=True, type=click.IntRange(1, 20), help="Labelled graphs on the page."
)
@click.option(
    "--format", "format_name", help="tu, csv, smiles, smiles_bonds, xml, json or pyg; recognised if not given."
)
@click.option("--drop-empty", is_flag=True, help="Leave out graphs without nodes.")
@click.option("--calibrate", is_flag=True, help="Scale the probabilities to fit how often left-out graphs are right.")
@click.option("--method", help="Allow the code in FILE.PY:CLASS, if the model was trained with it.")
def predict(
    model: str, known: Path, new: Path, out: Path | None, report: Path | None, nearest: int, format_name: str | None,
    drop_empty: bool, calibrate: bool, method: str | None,
) -> None:  # fmt: skip
    """Classify the graphs at --query by the labelled ones at --support, each a file, a folder or a zip.

    MODEL is a model file of 'fsgc train', or a method that needs no training: discriminant, wl, sp, graphlet. There
    may be any number of classes, and of labelled graphs in each. What to expect is told first: how well each labelled
    graph is classified by the others, and how sure the model is of it. Where the two differ much, --calibrate helps;
    it changes no prediction.

    \b
    Example:
      fsgc predict discriminant --support labelled.csv --query new.csv -o predictions.csv --report page.html
    """  # noqa: D301
    from fsgc.data.formats.read import read_graphs
    from fsgc.errors import DataFormatError
    from fsgc.methods.registry import method_entry
    from fsgc.prediction.classifier import FewShotClassifier

    _refuse_overwriting({"-o": out, "--report": report}, {"MODEL": Path(model), "--support": known, "--query": new})
    if method:
        method_entry(method)
    labelled, unlabelled = read_graphs(known, format_name), read_graphs(new, format_name)
    if drop_empty:
        labelled, unlabelled = labelled.without_empty(), unlabelled.without_empty()
    if None in labelled.classes:
        nameless = labelled.names[labelled.classes.index(None)]
        raise DataFormatError(f"the graph {nameless!r} has no label; every graph of --support needs one", file=known)
    labels = [str(c) for c in labelled.classes]
    with _told_plainly():
        classifier = FewShotClassifier(model, calibrate).fit(labelled, labels)
        summary = _expectation(classifier, labels)
        for sentence in summary:
            click.echo(sentence)
        probabilities = classifier.predict_proba(unlabelled)
    about = _summary(classifier, unlabelled, probabilities)
    for sentence in about:
        click.echo(sentence)
    summary += about
    if out:
        _write(out, classifier, unlabelled, probabilities)
        click.echo(f"predictions written to {out}")
    else:
        _print(classifier, unlabelled, probabilities)
    if report:
        _write_page(report, classifier, summary, labelled, labels, unlabelled, probabilities, nearest)
        click.echo(f"page written to {report}")


def _refuse_overwriting(written: Mapping[str, Path | None], read: Mapping[str, Path]) -> None:
    """Refuse to write what is read, or two things to one file."""
    taken = {path.resolve(): option for option, path in read.items()}
    for option, path in written.items():
        if path is not None:
            other = taken.setdefault(path.resolve(), option)
            if other != option:
                raise click.UsageError(f"{option} and {other} name the same file, {path}; choose another one to write")
            for source in ("--support", "--query"):
                if path.exists() and _is_read(path, read[source]):
                    raise click.UsageError(
                        f"{option} would overwrite {path}, which is part of what {source} reads; choose another name"
                    )


def _is_read(path: Path, source: Path) -> bool:
    """Whether an existing file is in the folder `source`, or beside the file `source` and read with it."""
    if not source.is_dir():
        return path.resolve() in [source.with_name(name).resolve() for name in ("nodes.csv", "labels.csv")]
    if (path.parent.resolve() / path.name).is_relative_to(source.resolve()):  # a link, too, which would be replaced
        return True
    return any(path.samefile(file) for file in source.rglob("*") if file.is_symlink() and file.exists())


@contextmanager
def _told_plainly() -> Iterator[None]:
    """Warnings of ours as sentences on standard error, without the place in our code that they come from."""
    from fsgc.prediction.inputs import UnknownLabelsWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLabelsWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, UnknownLabelsWarning):
            click.echo(f"Warning: {warning.message}", err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _expectation(classifier: FewShotClassifier, labels: list[str]) -> list[str]:
    left_out, counts = classifier.leave_one_out(), Counter(labels)
    alone = sum(count == 1 for count in counts.values())
    told = f"{len(labels)} labelled graphs of {len(counts)} classes"
    if not len(left_out.graphs):
        return [f"{told}; each is the only one of its class, so that nothing can be said about what to expect"]
    largest = max(counts.values()) / len(left_out.graphs)
    how = "the others" if left_out.at_a_time == 1 else f"others, {left_out.at_a_time} left out at a time"
    but = f", but for {alone} alone in {'its class' if alone == 1 else 'their classes'}" if alone else ""
    sentences = [
        (
            f"{told}; classified by {how}{but}, {left_out.accuracy:.1%} of them are right "
            f"(always naming the largest class: {largest:.1%})"
        )
    ]
    if classifier.calibrate:
        sentences.append(
            f"probabilities are calibrated on these {len(left_out.graphs)} graphs: scores are multiplied by "
            f"{classifier.score_scale():.3g}"
        )
    else:
        sentences.append(
            f"the mean probability of these predictions is {left_out.confidence.mean():.1%}; compare it with the share "
            f"that is right"
        )
    return sentences


def _summary(classifier: FewShotClassifier, new: RawGraphs, probabilities: Floats) -> list[str]:
    best = probabilities.argmax(axis=1)
    counts = Counter(str(classifier.classes_[c]) for c in best)
    found = ", ".join(f"{name} {count}" for name, count in counts.most_common(10))
    told = f"{len(new)} graph{'s' * (len(new) != 1)} classified: {found}"
    sentences = [f"{told}; mean probability of the prediction {probabilities.max(1).mean():.1%}"]
    if classifier.engine_.transductive:
        sentences.append("this model looks at all new graphs together: other company may change a prediction")
    classes = {str(c) for c in classifier.classes_}
    known = [number for number, c in enumerate(new.classes) if c in classes]
    others = Counter(str(c) for c in new.classes if c is not None and c not in classes)
    if known:
        right = sum(str(classifier.classes_[best[number]]) == new.classes[number] for number in known)
        sentences.append(
            f"{len(known)} of them came with a label, which was not looked at: {right / len(known):.1%} are right"
        )
    if others:
        shown = ", ".join(list(others)[:4]) + (", …" if len(others) > 4 else "")
        sentences.append(f"{others.total()} of them came with a label that no labelled graph has ({shown})")
    return sentences


def _write(out: Path, classifier: FewShotClassifier, new: RawGraphs, probabilities: Floats) -> None:
    import polars as pl

    from fsgc.files import replacing

    columns: dict[str, object] = {"graph": list(new.names), "prediction": _predictions(classifier, probabilities)}
    columns |= {f"p({c})": probabilities[:, number] for number, c in enumerate(classifier.classes_)}
    with replacing(out) as partial:
        pl.DataFrame(columns).write_csv(partial, float_precision=6)


def _print(classifier: FewShotClassifier, new: RawGraphs, probabilities: Floats) -> None:
    from fsgc.commands.console import print_table

    predictions = _predictions(classifier, probabilities)
    rows = [[new.names[i], predictions[i], f"{probabilities[i].max():.1%}"] for i in range(min(PRINTED, len(new)))]
    print_table("Predictions", ["graph", "prediction", "probability"], rows, ("probability",))
    if len(new) > PRINTED:
        click.echo(f"… and {len(new) - PRINTED} more; -o FILE.csv writes all")


def _predictions(classifier: FewShotClassifier, probabilities: Floats) -> list[str]:
    return [str(classifier.classes_[c]) for c in probabilities.argmax(axis=1)]


def _write_page(
    report: Path, classifier: FewShotClassifier, summary: list[str], labelled: RawGraphs, labels: list[str],
    new: RawGraphs, probabilities: Floats, nearest: int,
) -> None:  # fmt: skip
    from fsgc.files import replacing
    from fsgc.prediction.inputs import UnknownLabelsWarning
    from fsgc.prediction.page import page

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelsWarning)  # it has been told
        nearest_graphs = classifier.nearest(new, nearest)
    html = page(
        f"{len(new)} graphs classified by {Path(str(classifier.model)).name}",
        summary,
        [str(c) for c in classifier.classes_],
        labelled.named(),
        labels,
        new.named(labelled.vocabulary),
        probabilities,
        nearest_graphs,
    )
    with replacing(report) as partial:
        partial.write_text(html, encoding="utf-8")
