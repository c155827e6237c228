from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from fsgc.methods.maml.descent import MeanLoss, ascend, descend
from fsgc.methods.maml.episode_network import EpisodeNetwork
from fsgc.methods.maml.side_by_side import EpisodeGraphs
from tests.methods.maml.written_out import LABELS, WAY, Setting
from tests.nn.episode_nets import GRAPHS, make_tensors

pytestmark = pytest.mark.usefixtures("double")


def test_parts_of_the_graphs_add_up_to_all_of_them() -> None:
    tensors = make_tensors()
    setting = Setting(tensors)
    target = F.one_hot(LABELS, WAY).double()
    slices = [slice(0, 1), slice(1, WAY)]
    networks = [
        EpisodeNetwork(EpisodeGraphs.make(tensors, GRAPHS[:, part]), setting.settings, setting.layout, False)
        for part in slices
    ]
    whole = MeanLoss([setting.network], [target])
    parts = MeanLoss(networks, [target[part] for part in slices])
    start, grad = setting.vectors(setting.weights), torch.randn_like(setting.vectors(setting.weights))
    expected, kept = descend(whole, start, 3, 0.1, keep=True)
    found, kept_of_parts = descend(parts, start, 3, 0.1, keep=True)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(
        ascend(parts, grad, kept_of_parts, 0.1), ascend(whole, grad, kept, 0.1), rtol=1e-9, atol=1e-10
    )
    assert kept == kept_of_parts == []


def test_nothing_is_kept_unless_asked_for() -> None:
    setting = Setting(make_tensors())
    loss = MeanLoss([setting.network], [F.one_hot(LABELS, WAY).double()])
    _, kept = descend(loss, setting.vectors(setting.weights), 2, 0.1)
    assert kept == []
