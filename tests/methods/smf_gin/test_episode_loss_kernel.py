"""The compiled loss of SMF-GIN against the same in PyTorch, in float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.smf_gin.episode_loss_kernel import EpisodesOfRows, distinct_graphs, episode_loss, is_compiled_for

GRAPHS, LAYERS, WIDTH = 14, 3, 16


@pytest.fixture(autouse=True)
def _needs_the_library() -> None:
    if not is_compiled_for(torch.zeros(1, LAYERS * WIDTH), LAYERS):
        pytest.skip("fsgc was installed without a compiler, or the processor has no AVX2")


def plain(found: Tensor, fusion: Tensor | None, rows: EpisodesOfRows) -> tuple[Tensor, Tensor]:
    """Loss and accuracy by the equations, episode after episode."""
    x = found if rows.keep is None else found * rows.keep
    if rows.local_weight is not None:
        halves = x[GRAPHS:].view(GRAPHS, 2, -1).mean(1)
        x = (1 - rows.local_weight) * x[:GRAPHS] + rows.local_weight * halves
    if fusion is not None:
        x = (x.view(GRAPHS, LAYERS, WIDTH) * fusion[:, None]).sum(1)
    losses, right = [], []
    for episode in rows.place:
        prototypes = torch.stack([x[graphs[: rows.shots]].mean(0) for graphs in episode])
        for label, graphs in enumerate(episode):
            for query in x[graphs[rows.shots :]]:
                distances = (query - prototypes).norm(dim=1)
                losses.append(F.cross_entropy(-distances, torch.tensor(label)))
                right.append(float(distances.argmin() == label))
    return torch.stack(losses).mean(), torch.tensor(right).mean()


@pytest.mark.parametrize("episodes", [1, 3])
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("has_fusion", [False, True])
@pytest.mark.parametrize("local_weight", [None, 0.0, 0.3])
def test_loss_accuracy_and_gradients_are_those_of_the_equations(
    episodes: int, dropout: bool, has_fusion: bool, local_weight: float | None
) -> None:
    draw = torch.Generator().manual_seed(0)
    count = GRAPHS if local_weight is None else 3 * GRAPHS
    found = torch.randn(count, LAYERS * WIDTH, generator=draw)
    keep = torch.randint(2, found.shape, generator=draw).float() * 1.5 if dropout else None
    fusion = torch.rand(LAYERS, generator=draw) if has_fusion else None
    place = torch.stack([torch.randperm(GRAPHS, generator=draw)[:12].view(3, 4) for _ in range(episodes)])
    results = []
    for kind, function in ((torch.float64, plain), (torch.float32, episode_loss)):
        given = [part if part is None else part.to(kind).requires_grad_() for part in (found, fusion)]
        rows = EpisodesOfRows(place, 2, LAYERS, local_weight, None if keep is None else keep.to(kind))
        assert given[0] is not None
        loss, right = function(given[0], given[1], rows)
        grads = torch.autograd.grad(2.5 * loss, [part for part in given if part is not None])
        results.append([part.double() for part in (loss.detach(), right, *grads)])
    for exact, mine in zip(*results, strict=True):
        torch.testing.assert_close(mine, exact, rtol=1e-5, atol=1e-6)


def test_a_query_that_is_its_prototype_has_no_gradient_from_it() -> None:
    found = torch.zeros(4, LAYERS * WIDTH).requires_grad_()
    rows = EpisodesOfRows(torch.arange(4).view(1, 2, 2), 1, LAYERS, None, None)
    loss, _ = episode_loss(found, None, rows)
    (grad,) = torch.autograd.grad(loss, [found])
    assert loss.item() == pytest.approx(torch.tensor(2.0).log().item())
    assert not grad.any()


def test_distinct_graphs_are_those_of_pytorch() -> None:
    graphs = torch.randint(30, (2, 3, 7), generator=torch.Generator().manual_seed(0))
    for mine, other in zip(distinct_graphs(graphs), torch.unique(graphs, return_inverse=True), strict=True):
        assert torch.equal(mine, other)
