from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.methods.maml.written_out import VARIANTS, Setting
from tests.nn.episode_nets import make_tensors

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("changes", VARIANTS)
def test_named_weights_come_back_and_pieces_are_what_they_are_called(changes: dict[str, Any]) -> None:
    setting = Setting(make_tensors(), **changes)
    vectors, layout, weights = setting.vectors(setting.weights), setting.layout, setting.weights
    for episode, vector in enumerate(vectors):
        for ours, weight in zip(layout.unpack(vector), weights.values(), strict=True):
            assert torch.equal(ours, weight[episode])
    pieces = layout.cut(vectors)
    assert torch.equal(pieces.join(), vectors)
    assert torch.equal(pieces.first, weights["embedder.convs.0.first.weight"].mT)
    assert torch.equal(pieces.norms[0][:, 3], weights["embedder.convs.0.norms.0.mean_scale"])
    assert torch.equal(pieces.lasts[-1][:, -1], weights[f"embedder.convs.{layout.convs - 1}.others.0.bias"])
    assert torch.equal(pieces.scores[:, :-1], weights["head.out.weight"].mT)
    if not setting.settings.learnable_eps:
        assert torch.equal(pieces.eps, torch.zeros_like(pieces.eps))


def test_the_layout_is_no_part_of_a_saved_model() -> None:
    assert Setting(make_tensors()).layout.state_dict() == {}
