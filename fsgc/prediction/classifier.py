"""`FewShotClassifier`: labels for new graphs from a few labelled ones, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from fsgc.arrays import Floats, Ints
from fsgc.data.formats.raw import NamedGraphs, RawGraphs
from fsgc.data.vocabulary import GraphVocabulary
from fsgc.errors import DataFormatError, FsgcError
from fsgc.prediction.contract import Engine
from fsgc.prediction.engines import engine_of
from fsgc.prediction.inputs import Graphs, as_raw, in_terms_of
from fsgc.statistics.calibration import score_scale

MOST_FOLDS = 200


@dataclass(frozen=True, eq=False)
class LeftOut:
    """How a classifier does on its own labelled graphs, each classified by the others.

    Attributes:
        graphs: int64 `[L]`, the graphs that could be left out: those that are not the only one of their class.
        scores: float64 `[L, C]`.
        right: bool `[L]`.
        at_a_time: how many graphs were left out at a time, at most; 1 for up to 200 labelled graphs, if not too large.
    """

    graphs: Ints
    scores: Floats
    right: npt.NDArray[np.bool_]
    at_a_time: int

    @property
    def predictions(self) -> Ints:
        """Places in `classes_`, int64 `[L]`."""
        return np.asarray(self.scores.argmax(axis=1), dtype=np.int64)

    @property
    def confidence(self) -> Floats:
        """The probability that each prediction was given, before any calibration, `[L]`."""
        return np.asarray(softmax(self.scores, axis=1).max(axis=1))

    @property
    def accuracy(self) -> float:
        """The share of graphs classified right; NaN if none could be left out."""
        return float(self.right.mean()) if len(self.right) else float("nan")


class FewShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify graphs by a few labelled ones of each class.

    Graphs are a sequence of networkx graphs or PyG `Data`, a `GraphStore`, or what `fsgc.data.formats.read` gives.
    There may be any number of classes, and of labelled graphs in each. Labels may be of any hashable type.

    Args:
        model: a model file of `fsgc train`, or the name of a method that needs no training: `discriminant`, `wl`, `sp`
            or `graphlet`.
        calibrate: whether to scale the scores, all by the same number, so that probabilities fit how often labelled
            graphs that were left out are classified right. No prediction changes by it.

    Attributes:
        classes_: the labels, `[C]`: sorted if they can be, else in the order in which they came.
        engine_: what classifies.

    Example:
        >>> classifier = FewShotClassifier("discriminant").fit(graphs, labels)  # doctest: +SKIP
        >>> classifier.predict(new_graphs), classifier.predict_proba(new_graphs)  # doctest: +SKIP
    """

    def __init__(self, model: str | Path = "discriminant", calibrate: bool = False) -> None:
        self.model = model
        self.calibrate = calibrate

    def fit(self, graphs: Graphs, labels: Sequence[Hashable] | npt.NDArray[Any]) -> FewShotClassifier:
        """Take the labelled graphs; nothing is trained."""
        raw = as_raw(graphs)
        if len(labels) != len(raw):
            raise FsgcError(f"{len(labels)} labels for {len(raw)} graphs")
        classes, y = _coded(labels)
        if len(classes) < 2:
            raise FsgcError("labelled graphs of at least two classes are needed; there is one")
        engine: Engine = engine_of(self.model)
        engine.check(len(classes))
        vocabulary = engine.vocabulary or raw.vocabulary
        known = _understood(raw, engine, vocabulary)
        # All of it last: a fit that fails leaves the classifier as it was.
        self.classes_, self._y, self._known = classes, y, known
        self.engine_, self._vocabulary = engine, vocabulary
        self._left_out: LeftOut | None = None
        return self

    def decision_function(self, graphs: Graphs) -> Floats:
        """Scores of every graph for every class, `[M, C]`; the largest decides."""
        new = self._new(graphs)
        count = len(self._known.store)
        self.engine_.attach(self._known.store.followed_by(new.store))
        scores = self.engine_.scores(np.arange(count), self._y, count + np.arange(len(new.store)))
        if not np.isfinite(scores).all():
            raise FsgcError("some scores are NaN or infinite: the model and these graphs do not go together")
        return scores

    def predict_proba(self, graphs: Graphs) -> Floats:
        """Probabilities of the classes, `[M, C]`: the softmax of the scores, as in training.

        How far they can be believed differs between methods and numbers of labelled graphs; the confidences of
        `leave_one_out` tell how it is with these. `calibrate` scales the scores accordingly.
        """
        self._check_fitted()
        scale = self.score_scale() if self.calibrate else 1.0
        return np.asarray(softmax(scale * self.decision_function(graphs), axis=1))

    def score_scale(self) -> float:
        """The number that scores are multiplied with to be calibrated; see `fsgc.statistics.calibration.score_scale`.

        It is found on the scores that labelled graphs get when they are left out; 1 if none can be left out.
        """
        left_out = self.leave_one_out()
        return score_scale(left_out.scores, self._y[left_out.graphs]) if len(left_out.graphs) else 1.0

    def predict(self, graphs: Graphs) -> npt.NDArray[Any]:
        """The label of every graph, `[M]`."""
        places = self.decision_function(graphs).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[places]
        return labels

    def leave_one_out(self) -> LeftOut:
        """Classify each labelled graph by the others: what to expect of new graphs like them."""
        self._check_fitted()
        if self._left_out is None:
            self._left_out = self._leave_out()
        return self._left_out

    def _leave_out(self) -> LeftOut:
        self.engine_.attach(self._known.store)
        able = np.flatnonzero(np.bincount(self._y)[self._y] > 1)
        # Every n-th graph of a class together, so that a fold never holds all graphs of a class.
        order = able[np.argsort(self._y[able], kind="stable")]
        count = min(MOST_FOLDS, self.engine_.most_folds() or MOST_FOLDS, len(order))
        folds = [order[first::count] for first in range(count)]
        scores = np.zeros((len(self._y), len(self.classes_)))
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(self._y)), fold)
            scores[fold] = self.engine_.scores(rest, self._y[rest], fold)
        at_a_time = max((len(fold) for fold in folds), default=1)
        return LeftOut(able, scores[able], scores[able].argmax(axis=1) == self._y[able], at_a_time)

    def nearest(self, graphs: Graphs, count: int = 3) -> Ints:
        """The labelled graphs nearest to each graph, as the method sees them, nearest first: int64 `[M, count]`."""
        new, known = self._new(graphs), len(self._known.store)
        joined = self._known.store.followed_by(new.store)
        self.engine_.attach(joined)
        vectors = self.engine_.vectors(np.arange(known), self._y, np.arange(len(joined)))
        if vectors is None:
            vectors = _structure(self._known, new)
        distance = (vectors[known:] ** 2).sum(1)[:, None] - 2 * vectors[known:] @ vectors[:known].T
        distance += (vectors[:known] ** 2).sum(1)
        return np.argsort(distance, axis=1, kind="stable")[:, :count]

    def _new(self, graphs: Graphs) -> NamedGraphs:
        self._check_fitted()
        return _understood(as_raw(graphs), self.engine_, self._vocabulary)

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError("this classifier has no labelled graphs yet; call fit first")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs are no matrix
        tags.no_validation = True
        return tags


def _understood(raw: RawGraphs, engine: Engine, vocabulary: GraphVocabulary) -> NamedGraphs:
    what = "the model" if engine.vocabulary is not None else "the classifier, by its labelled graphs,"
    return in_terms_of(raw, vocabulary, engine.features, what)


def _coded(labels: Sequence[Hashable] | npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct labels, and the place of each label among them."""
    listed = list(labels)
    for label in listed:
        if isinstance(label, float | np.floating) and label != label:
            raise DataFormatError("a label is NaN, which is equal to nothing")
        try:
            hash(label)
        except TypeError:
            raise DataFormatError(f"the label {label!r} of type {type(label).__name__} is not hashable") from None
    distinct = list(dict.fromkeys(listed))
    try:
        distinct.sort()
    except TypeError:
        distinct = list(dict.fromkeys(listed))
    place = {label: number for number, label in enumerate(distinct)}
    plain = len({type(label) for label in distinct}) == 1 and isinstance(distinct[0], str | int | float | np.generic)
    classes: npt.NDArray[Any] = np.array(distinct) if plain else np.empty(len(distinct), dtype=object)
    if not plain:
        for number, label in enumerate(distinct):  # NumPy would take a tuple for a row
            classes[number] = label
    return classes, np.array([place[label] for label in listed], dtype=np.int64)


def _structure(known: NamedGraphs, new: NamedGraphs) -> Floats:
    """Normalised counts of neighbourhoods up to two steps, for methods without vectors of their own: `[G, d]`."""
    from sklearn.decomposition import TruncatedSVD

    from fsgc.methods.kernel.weisfeiler_lehman import wl_histograms

    joined = known.store.followed_by(new.store)
    labels = joined.node_label if joined.node_label.any() else joined.degree
    codes = np.unique(labels, return_inverse=True)[1]
    counts = wl_histograms(joined, codes.astype(np.int64), 2).astype(np.float64)
    width = min(64, counts.shape[1] - 1, len(joined) - 1)
    rows = TruncatedSVD(width, random_state=0).fit_transform(counts) if width > 1 else counts.toarray()
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
