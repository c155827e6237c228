from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import inf
from pathlib import Path

import numpy as np
import pytest

from fsgc.episodes.batches import Episodes
from fsgc.episodes.settings import EpisodeSettings
from fsgc.episodes.store import EpisodeStore, draw_episodes
from fsgc.methods.discriminant.metric import METRICS
from fsgc.methods.discriminant.search import TAUS, Choice, Fold, Part, Search, make_folds


def _classes(episodes: Episodes, fold: Fold) -> set[int]:
    return set(episodes.graphs.y[fold.graphs].tolist())


def test_base_classes_are_left_out_in_turn(episodes: Episodes) -> None:
    folds = make_folds(episodes, seed=0, folds=99, per_fold=5)
    base = episodes.split.base
    assert {tuple(sorted(_classes(episodes, fold))) for fold in folds} == set(combinations(base, 2))
    for fold in folds:
        assert fold.episodes.shape == (5, 2, 3 + 4)
        assert set(episodes.graphs.y[fold.known]) == set(base) - _classes(episodes, fold)
        assert not set(fold.known) & set(episodes.split.held_out)
        drawn = fold.graphs[fold.episodes.numpy()]
        assert all(len(set(episodes.graphs.y[graphs])) == 1 for graphs in drawn.reshape(-1, 7))
        assert all(len(set(graphs)) == 7 for graphs in drawn.reshape(-1, 7))


def test_few_folds_have_all_classes_about_equally_often(episodes: Episodes) -> None:
    folds = make_folds(episodes, seed=3, folds=2, per_fold=5)
    assert len(folds) == 2
    assert _classes(episodes, folds[0]) | _classes(episodes, folds[1]) == set(episodes.split.base)


def test_the_seed_decides_and_novel_classes_never_play(episodes: Episodes) -> None:
    one, same, other = (make_folds(episodes, seed, 3, 5) for seed in (0, 0, 1))
    assert all((a.episodes == b.episodes).all() for a, b in zip(one, same, strict=True))
    assert any(set(a.graphs) != set(b.graphs) for a, b in zip(one, other, strict=True))
    assert not any(_classes(episodes, fold) & set(episodes.split.novel) for fold in one)


def test_validation_classes_play_with_their_stored_episodes(episodes: Episodes, tmp_path: Path) -> None:
    *base, one, other = episodes.split.base
    split = replace(episodes.split, base=tuple(base), validation=(one, other), held_out=episodes.split.held_out[:0])
    settings = EpisodeSettings(queries=4, train_epochs=1, train_per_epoch=4, val=12, test=4)
    draw_episodes(tmp_path / "x.zarr", episodes.graphs, split, way=2, shots=3, seed=0, settings=settings)
    with_validation = replace(episodes, split=split, store=EpisodeStore.open(tmp_path / "x.zarr"))
    (fold,) = make_folds(with_validation, seed=0, folds=2, per_fold=5)
    np.testing.assert_array_equal(fold.graphs[fold.episodes.numpy()], with_validation.store.val[:10])
    assert set(episodes.graphs.y[fold.known]) == set(base)


def test_with_two_base_classes_nothing_is_left_to_fit_a_metric_on(episodes: Episodes) -> None:
    split = replace(episodes.split, base=episodes.split.base[:2])
    few = replace(episodes, split=split)
    (fold,) = make_folds(few, seed=0, folds=6, per_fold=20)
    assert len(fold.known) == 0
    choice = Search(_rows(few), few.graphs.y, [fold], lambda *_: None).run()
    assert choice.metric == METRICS[0]
    assert choice.parts


def _rows(episodes: Episodes) -> dict[tuple[str, str], np.ndarray]:
    """A view that tells the parity of a class, one that tells its half, and noise."""
    rng = np.random.default_rng(0)
    y = episodes.graphs.y.astype(float)
    noise = rng.normal(size=(len(y), 3))
    return {
        ("noise", "plain"): rng.normal(size=(len(y), 20)),
        ("parity", "plain"): (y % 2)[:, None] * 3 + noise[:, :1],
        ("half", "plain"): (y > 4)[:, None] * 3 + noise[:, 1:2],
    }


def test_views_that_help_are_found_and_noise_is_not(episodes: Episodes) -> None:
    folds = make_folds(episodes, 0, 6, 40)
    told: list[tuple[Choice, Choice]] = []
    search = Search(_rows(episodes), episodes.graphs.y, folds, lambda tried, best: told.append((tried, best)))
    choice = search.run()
    assert {part.view for part in choice.parts} == {"parity", "half"}
    assert choice.accuracy >= max(tried.accuracy for tried, _ in told) - search.gain
    best = [so_far.accuracy for _, so_far in told]
    assert best == sorted(best)
    assert best[-1] == choice.accuracy
    again = search.evaluate(choice.parts, (choice.metric,))
    assert again == choice


def test_the_accuracy_is_that_of_a_plain_nearest_mean(episodes: Episodes) -> None:
    """Without metric and shrinkage, an episode and a query at a time."""
    folds = make_folds(episodes, 0, 2, 10)
    rows = _rows(episodes)
    search = Search(rows, episodes.graphs.y, folds, lambda *_: None, taus=(inf,))
    found = search.evaluate((Part("parity", "plain"), Part("half", "plain", 0.5)), METRICS[:1])
    x = np.concatenate([rows["parity", "plain"], 0.5 * rows["half", "plain"]], axis=1)
    right = []
    for fold in folds:
        for episode in fold.graphs[fold.episodes.numpy()]:
            means = x[episode[:, :3]].mean(axis=1)
            for label, queries in enumerate(episode[:, 3:]):
                right += [((x[query] - means) ** 2).sum(axis=1).argmin() == label for query in queries]
    assert found.accuracy == pytest.approx(np.mean(right))
    assert (found.metric, found.tau) == (METRICS[0], inf)


def test_limits_are_kept(episodes: Episodes) -> None:
    folds = make_folds(episodes, 0, 2, 10)
    rows = _rows(episodes)
    one = Search(rows, episodes.graphs.y, folds, lambda *_: None, max_views=1).run()
    assert len(one.parts) == 1
    greedy = Search(rows, episodes.graphs.y, folds, lambda *_: None, gain=0.9).run()
    assert len(greedy.parts) == 1


def test_a_choice_is_a_row() -> None:
    choice = Choice((Part("paths", "norm"), Part("nodes", "plain", 0.5)), METRICS[2], TAUS[1], 0.75)
    assert choice.row() == {
        "views": "paths (norm), nodes (plain, weight 0.5)",
        "gamma": 0.5,
        "epsilon": 0.1,
        "rho": 0.1,
        "tau": 0.1,
        "accuracy": 0.75,
    }
