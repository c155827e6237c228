from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from fsgc.episodes.batches import Episodes
from fsgc.errors import SettingsError
from fsgc.methods.faith.tasks import BasePools, TrainingNoise, noise_of_supports


@pytest.fixture(scope="module")
def pools(episodes: Episodes) -> BasePools:
    return BasePools(episodes.graphs, episodes.split)


def _noise(pools: BasePools, size: int, tasks: int = 3, **changes: int) -> TrainingNoise:
    return TrainingNoise(pools, tasks, 2, size, **{"per_epoch": size, "seed": 0, "epoch": 0, **changes})


def test_tasks_are_distinct_training_graphs_of_distinct_base_classes(episodes: Episodes, pools: BasePools) -> None:
    (noise,) = _noise(pools, 50)
    classes, graphs = pools.draw(torch.zeros(50, 4), noise, per_class=7)
    assert graphs.shape == (50, 3, 2, 7)
    usable = episodes.split.pools(episodes.graphs.y, "train")
    for chosen, drawn in zip(classes.flatten(0, 1).tolist(), graphs.flatten(0, 1).tolist(), strict=True):
        assert len(set(chosen)) == 2
        for c, members in zip(chosen, drawn, strict=True):
            assert len(set(members)) == 7
            assert set(members) <= set(usable[episodes.split.base[c]].tolist())


def test_classes_come_as_often_as_a_draw_without_replacement_has_them(pools: BasePools) -> None:
    """The ordered pairs that `np.random.choice(…, p=p, replace=False)` would draw."""
    p = torch.tensor([0.1, 0.2, 0.3, 0.4])
    (noise,) = _noise(pools, 20_000, tasks=1)
    classes, graphs = pools.draw(p.log().expand(20_000, -1), noise, per_class=1)
    found = np.bincount((4 * classes[:, 0, 0] + classes[:, 0, 1]).numpy(), minlength=16).reshape(4, 4)
    share = p.numpy().astype(float)
    expected = np.outer(share, share) / (1 - share)[:, None]
    off = ~np.eye(4, dtype=bool)
    assert found[~off].sum() == 0
    assert chisquare(found[off], 20_000 * expected[off] / expected[off].sum()).pvalue > 0.01
    for c, size in enumerate(pools.sizes.tolist()):
        times = np.unique(graphs[:, 0, :, 0][classes[:, 0] == c].numpy(), return_counts=True)[1]
        assert len(times) == size
        assert chisquare(times).pvalue > 0.01


def test_the_noise_of_a_training_depends_on_seed_epoch_and_place(pools: BasePools) -> None:
    two = list(_noise(pools, 4, per_epoch=6))
    assert [len(noise.graphs) for noise in two] == [4, 2]
    assert len(_noise(pools, 4, per_epoch=6)) == 2
    again = list(_noise(pools, 4, per_epoch=6))
    assert all(
        torch.equal(a.graphs, b.graphs) and torch.equal(a.classes, b.classes) for a, b in zip(two, again, strict=True)
    )
    others = [two[1], *(next(iter(_noise(pools, 4, **change))) for change in ({"seed": 1}, {"epoch": 1}))]
    assert not any(torch.equal(two[0].classes[:2], other.classes[:2]) for other in others)


def test_the_noise_of_an_episode_is_a_function_of_its_supports(episodes: Episodes, pools: BasePools) -> None:
    supports = next(episodes.batches("test", 6)).support
    noise = noise_of_supports(pools, supports, tasks=3)
    for same in (supports.flip(1), supports.flip(2), supports.flip(1, 2)):
        assert torch.equal(noise_of_supports(pools, same, 3).graphs, noise.graphs)
    alone = noise_of_supports(pools, supports[2:3], 3)
    assert torch.equal(alone.graphs[0], noise.graphs[2])
    assert torch.equal(alone.classes[0], noise.classes[2])
    assert not torch.equal(noise.classes[0], noise.classes[1])


def test_queries_shrink_to_what_the_smallest_class_has(pools: BasePools) -> None:
    smallest = int(pools.sizes.min())
    assert pools.queries(3, 4) == 4
    assert pools.queries(smallest - 2, 4) == 2
    with pytest.raises(SettingsError, match=f"shots: {smallest} leave no query"):
        pools.queries(smallest, 4)
