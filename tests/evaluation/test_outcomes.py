from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from fsgc.episodes.batches import Episodes
from fsgc.errors import StoreError
from fsgc.evaluation.outcomes import EpisodeStream, Outcomes
from fsgc.statistics.confusion import Scores
from tests.methods.conftest import make_episodes


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    return make_episodes(tmp_path_factory.mktemp("episodes") / "x.zarr")


@pytest.fixture(scope="module")
def scores(episodes: Episodes) -> Scores:
    test = episodes.store.test
    return np.random.default_rng(0).normal(size=(len(test), 8, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def outcomes(episodes: Episodes, scores: Scores) -> Outcomes:
    return Outcomes.of(scores, episodes)


def test_outcomes_are_what_the_scores_say(episodes: Episodes, scores: Scores, outcomes: Outcomes) -> None:
    truth = np.repeat([0, 1], 4)
    for episode, of_episode in enumerate(scores):
        assert outcomes.correct[episode].tolist() == [
            row.argmax() == t for row, t in zip(of_episode, truth, strict=True)
        ]
        assert outcomes.accuracy[episode] == np.mean(outcomes.correct[episode])
    of_place = episodes.graphs.y[episodes.store.test[:, :, 0]]
    true = np.repeat(of_place, 4, axis=1).reshape(-1)
    predicted = np.take_along_axis(of_place, scores.argmax(axis=2), axis=1).reshape(-1)
    np.testing.assert_array_equal(outcomes.confusion, confusion_matrix(true, predicted, labels=outcomes.classes))
    assert outcomes.test_episodes == episodes.test_fingerprint()


def test_a_file_gives_back_what_was_written(tmp_path: Path, outcomes: Outcomes) -> None:
    outcomes.save(tmp_path / "outcomes.bin")
    again = Outcomes.load(tmp_path / "outcomes.bin")
    np.testing.assert_array_equal(again.correct, outcomes.correct)
    np.testing.assert_array_equal(again.confusion, outcomes.confusion)
    assert (again.stream, again.classes, again.test_episodes) == (
        outcomes.stream,
        outcomes.classes,
        outcomes.test_episodes,
    )
    assert again.correct.dtype == bool
    assert [path.name for path in tmp_path.iterdir()] == ["outcomes.bin"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_whatever_is_smallest_is_read_back(tmp_path: Path, outcomes: Outcomes, share: float) -> None:
    """Graphs that are always right or wrong make the order by graph the smaller one; alike outcomes, the other."""
    ease = np.random.default_rng(1).random(sum(outcomes.stream.sizes)) < share
    correct = ease[outcomes.draw().query].reshape(outcomes.correct.shape)
    replace(outcomes, correct=correct).save(tmp_path / "o.bin")
    np.testing.assert_array_equal(Outcomes.load(tmp_path / "o.bin").correct, correct)


def test_graphs_are_those_of_the_stored_episodes(episodes: Episodes, outcomes: Outcomes) -> None:
    y = episodes.graphs.y
    by_class = np.concatenate([np.flatnonzero(y == c) for c in outcomes.classes])
    graphs = outcomes.graphs()
    np.testing.assert_array_equal(by_class[graphs], episodes.store.test)
    assert graphs.min() == 0
    assert graphs.max() == len(by_class) - 1
    np.testing.assert_array_equal(np.array(outcomes.classes)[outcomes.draw().classes], y[episodes.store.test[:, :, 0]])
    assert outcomes.draw() is outcomes.draw(), "drawn once"


def test_graphs_are_drawn_in_a_process_that_has_only_the_file(tmp_path: Path, outcomes: Outcomes) -> None:
    path = tmp_path / "outcomes.bin"
    outcomes.save(path)
    code = (
        "import sys; from pathlib import Path; from fsgc.evaluation.outcomes import Outcomes;"
        f"outcomes = Outcomes.load(Path({str(path)!r})); print(outcomes.graphs().tolist());"
        "print(sorted({'torch', 'zarr', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    graphs, loaded = done.stdout.splitlines()
    assert graphs == str(outcomes.graphs().tolist())
    assert loaded == "[]"


def test_every_changed_or_missing_byte_is_noticed(tmp_path: Path, outcomes: Outcomes) -> None:
    path = tmp_path / "cell" / "outcomes.bin"
    outcomes.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), size=200).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=r"cell/outcomes\.bin"):
            Outcomes.load(path)
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"cell/outcomes\.bin"):
            Outcomes.load(path)


def test_missing_files_and_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no\.bin does not exist; evaluate the model"):
        Outcomes.load(tmp_path / "no.bin")
    with pytest.raises(StoreError, match="cannot be read"):
        Outcomes.load(tmp_path)
    for content in (b"[1]\n", b"{}\n", b'{"kind": "fsgc.outcomes", "version": 99}\n', b"\xff\xfe"):
        (tmp_path / "other.bin").write_bytes(content)
        with pytest.raises(StoreError, match=r"other\.bin"):
            Outcomes.load(tmp_path / "other.bin")


def test_episodes_of_another_stream_are_refused(episodes: Episodes) -> None:
    other = replace(episodes, split=replace(episodes.split, dataset="reddit"))
    with pytest.raises(StoreError, match=r"x\.zarr holds other test episodes"):
        EpisodeStream.of(other)
