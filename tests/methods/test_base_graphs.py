from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from fsgc.episodes.batches import Episodes
from fsgc.methods.base_graphs import GraphBatches, base_graphs


def test_held_out_graphs_are_those_of_the_split(episodes: Episodes) -> None:
    train, held_out = base_graphs(episodes)
    np.testing.assert_array_equal(held_out, episodes.split.held_out)
    assert set(episodes.graphs.y[train]) == set(episodes.split.base)
    assert len(train) + len(held_out) == np.isin(episodes.graphs.y, episodes.split.base).sum()


def test_with_validation_classes_a_share_of_every_base_class_is_held_out(episodes: Episodes) -> None:
    *base, validation = episodes.split.base
    split = replace(episodes.split, base=tuple(base), validation=(validation,), held_out=episodes.split.held_out[:0])
    train, held_out = base_graphs(replace(episodes, split=split))
    y = episodes.graphs.y
    assert not set(train) & set(held_out)
    for c in base:
        count = (y == c).sum()
        assert (y[held_out] == c).sum() == round(0.2 * count)
        assert (y[train] == c).sum() == count - round(0.2 * count)
    assert set(y[np.concatenate([train, held_out])]) == set(base)
    again = base_graphs(replace(episodes, split=split))
    np.testing.assert_array_equal(again[1], held_out)


def test_an_epoch_has_every_graph_once_with_the_position_of_its_class(episodes: Episodes) -> None:
    train, _ = base_graphs(episodes)
    turned = replace(episodes, split=replace(episodes.split, base=episodes.split.base[::-1]))
    plan = GraphBatches(turned, train, 7)
    batches = list(plan.shuffled(seed=3, epoch=2))
    assert len(batches) == len(plan) == -(-len(train) // 7)
    graphs = torch.cat([batch.graphs for batch in batches]).numpy()
    labels = torch.cat([batch.labels for batch in batches]).numpy()
    np.testing.assert_array_equal(np.sort(graphs), train)
    assert not (graphs == train).all()
    np.testing.assert_array_equal(np.array(turned.split.base)[labels], episodes.graphs.y[graphs])
    other = torch.cat([batch.graphs for batch in plan.shuffled(seed=3, epoch=1)]).numpy()
    assert not (graphs == other).all()
