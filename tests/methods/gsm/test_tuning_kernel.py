"""Compiled fine-tuning against that in PyTorch, whose steps other tests compare with autograd and torch.optim.Adam."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from fsgc.methods.gsm import fine_tuning
from fsgc.methods.gsm.fine_tuning import Masks, Tuner
from fsgc.methods.gsm.receptive_field import groups
from fsgc.methods.gsm.super_graph import SuperAttention, link_matrix
from fsgc.methods.gsm.tuning_kernel import is_compiled_for
from fsgc.nn.heads import fresh_head
from tests.methods.gsm.links import made_up_links

EPISODES = 3

pytestmark = pytest.mark.skipif(not is_compiled_for(torch.zeros(1)), reason="fsgc was installed without a compiler")


class Case(NamedTuple):
    graphs: int = 20
    way: int = 3
    shots: int = 2
    neighbours: int = 3
    heads: int = 2
    inputs: int = 7
    width: int = 6
    hidden: int = 5
    dropout: float = 0.5
    normalise: bool = False
    steps: int = 10


CASES = {
    "small": Case(),
    "normalised": Case(normalise=True),
    "no dropout, one head": Case(dropout=0.0, heads=1),
    "one shot, two links": Case(way=2, shots=1, neighbours=2),
    "every graph alone": Case(neighbours=1),
    "nothing but one support": Case(graphs=1, way=1, shots=1, neighbours=1),
    "three heads, odd widths": Case(heads=3, inputs=50, width=33, hidden=17),
    "more supports than a vector": Case(graphs=60, way=5, shots=7),
    "as in the paper": Case(graphs=60, shots=5, neighbours=2, inputs=512, width=128, hidden=64),
    "no step": Case(steps=0),
}


def _scores(case: Case, at_once: int) -> Tensor:
    """Scores of all graphs of all episodes, `at_once` of which are a group."""
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(1)
    supports = case.way * case.shots
    layers = [SuperAttention(width, case.width, case.heads, 0.1, case.dropout) for width in (case.inputs, case.width)]
    masks = Masks.draw(
        (case.steps, case.neighbours, case.heads, case.graphs, supports, case.hidden), case.dropout, draw
    )
    head = fresh_head(case.width, case.hidden, case.way, draw)
    tuner = Tuner(layers[0], layers[1], head, case.steps, 1e-3, case.normalise, masks)
    links, labels = (
        made_up_links(EPISODES, case.graphs, case.neighbours),
        torch.arange(case.way).repeat_interleave(case.shots),
    )
    x = torch.randn(EPISODES, case.graphs, case.inputs).relu()
    x[:, :, 1] = 0  # a column that compiled code leaves out
    x[1, :, 2:5] = 0
    scores = torch.empty(EPISODES, case.graphs, case.way)
    for group in groups(links, supports, at_once):
        scores[group.episodes] = tuner.scores(x[group.episodes], link_matrix(links)[group.episodes], group, labels)
    return scores


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_compiled_steps_are_those_of_pytorch(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = _scores(case, EPISODES)
    monkeypatch.setattr(fine_tuning, "is_compiled_for", lambda _: False)
    torch.testing.assert_close(compiled, _scores(case, EPISODES), rtol=1e-4, atol=2e-5)


def test_an_episode_depends_neither_on_its_group_nor_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["as in the paper"]
    together = _scores(case, EPISODES)
    torch.testing.assert_close(_scores(case, 1), together, rtol=1e-6, atol=1e-6)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert torch.equal(_scores(case, EPISODES), together)
