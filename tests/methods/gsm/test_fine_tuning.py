from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.gsm.fine_tuning import Masks, Tuner
from fsgc.methods.gsm.receptive_field import Group, groups
from fsgc.methods.gsm.super_graph import AttentionWeights, Links, SuperAttention, attend, link_bias, link_matrix
from fsgc.nn.heads import fresh_head
from tests.methods.gsm.links import made_up_links, mask_matrix

EPISODES, GRAPHS, SUPPORTS, WAY, NEIGHBOURS, HEADS, STEPS, LR = 5, 20, 6, 3, 3, 2, 8, 1e-2


def _tuner(dropout: float, normalise: bool) -> Tuner:
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(1)
    layers = [SuperAttention(in_width, 6, HEADS, 0.1, dropout) for in_width in (7, 6)]
    masks = Masks.draw((STEPS, NEIGHBOURS, HEADS, GRAPHS, SUPPORTS, 5), dropout, draw)
    return Tuner(layers[0], layers[1], fresh_head(6, 5, WAY, draw), STEPS, LR, normalise, masks)


def _by_autograd(tuner: Tuner, x: Tensor, links: Links, group: Group, row: int, labels: Tensor) -> Tensor:
    """One episode, all of its graphs, autograd and torch.optim.Adam; masks find their graphs by the order."""
    episode = int(group.episodes[row])
    own = Links(links.source[episode : episode + 1], links.taken[episode : episode + 1])
    bias = link_bias(link_matrix(own))
    layers = [[weight.detach().clone() for weight in layer.stacked(1)] for layer in (tuner.first, tuner.second)]
    head = [weight.clone() for weight in tuner.head]
    parameters = [weight.requires_grad_() for weight in (*layers[0], *layers[1], *head)]
    optimiser = torch.optim.Adam(parameters, lr=LR)
    place = torch.arange(GRAPHS)
    place[group.order[row]] = torch.arange(group.order.shape[1])

    def logits(step: int | None) -> Tensor:
        h = x[episode : episode + 1]
        for number, weights in enumerate(layers):
            keep = None
            if step is not None:
                mask = (tuner.masks.first, tuner.masks.second)[number][step] * HEADS
                # Beyond the supports the second layer does not count.
                where = place if number == 0 else torch.arange(GRAPHS).clamp(max=SUPPORTS - 1)
                keep = mask_matrix(own, GRAPHS, mask[:, where])
            h = attend(AttentionWeights(*weights), h, bias, 0.1, keep)
            h = F.normalize(h, dim=2) if tuner.normalise else h
        hidden = torch.relu(h[0] @ head[0].T + head[1])
        if step is not None:
            hidden = hidden[:SUPPORTS] * tuner.masks.head[step]
        return hidden @ head[2].T + head[3]

    for step in range(STEPS):
        optimiser.zero_grad()
        F.cross_entropy(logits(step), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return logits(None).detach()


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("settings", [{}, {"dropout": 0.5}, {"dropout": 0.5, "normalise": True}])
def test_steps_are_those_of_autograd_and_adam(settings: dict[str, Any]) -> None:
    """With dropout, too: every link, in every step, has the mask of its graph and place."""
    tuner = _tuner(**{"dropout": 0.0, "normalise": False, **settings})
    links, labels = made_up_links(EPISODES, GRAPHS, NEIGHBOURS), torch.arange(WAY).repeat_interleave(SUPPORTS // WAY)
    x = torch.randn(EPISODES, GRAPHS, 7)
    seen = 0
    for group in groups(links, SUPPORTS, 2):
        scores = tuner.scores(x[group.episodes], link_matrix(links)[group.episodes], group, labels)
        for row, ours in enumerate(scores):
            torch.testing.assert_close(ours, _by_autograd(tuner, x, links, group, row, labels))
            seen += 1
    assert seen == EPISODES


def test_masks_drop_their_share_and_keep_the_mean() -> None:
    masks = Masks.draw((200, 2, 2, 30, 10, 16), 0.25, torch.Generator().manual_seed(0))
    for mask, heads in ((masks.first, 2), (masks.second, 2), (masks.head, 1)):
        assert float((mask == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
        assert float(mask.mean()) * heads == pytest.approx(1.0, abs=0.02)
