"""The compiled average over neighbours against products of whole matrices in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fsgc.methods.faith import attention as attention_module
from fsgc.methods.faith.attention import attention, average_over_neighbours
from fsgc.methods.faith.hierarchy import Layout
from fsgc.methods.faith.neighbour_kernel import find_neighbours, is_compiled_for

LAYOUT = Layout(tasks=4, way=3, shots=2, queries=3, other_queries=3)
DISTINCT, WIDTH = 45, 32


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    if not is_compiled_for(torch.zeros(2, 16), torch.zeros(1, 2, dtype=torch.int64)):
        pytest.skip("fsgc was installed without a compiler, or the processor has no AVX2")
    yield
    torch.set_num_threads(threads)


def inputs(values: int = 21) -> tuple[Tensor, Tensor, Tensor]:
    """Unit vectors around a few others, one of them zero; values; the places of rows, some graphs more than once."""
    draw = torch.Generator().manual_seed(0)
    centres = torch.randn(6, WIDTH, generator=draw)
    vectors = centres[torch.randint(6, (DISTINCT,), generator=draw)] + 0.6 * torch.randn(
        DISTINCT, WIDTH, generator=draw
    )
    unit = F.normalize(vectors, dim=-1)
    unit[7] = 0
    place = torch.cat([torch.arange(DISTINCT), torch.randint(DISTINCT, (LAYOUT.rows - DISTINCT,), generator=draw)])
    place = place[torch.randperm(LAYOUT.rows, generator=draw)]
    return unit, torch.randn(DISTINCT, values, generator=draw), place.unsqueeze(0)


def edges_of(kind: str) -> Tensor:
    device = torch.device("cpu")
    return (LAYOUT.released_edges if kind == "released" else LAYOUT.class_edges)(device)


@pytest.mark.parametrize("kind", ["supports", "released"])
@pytest.mark.parametrize("values", [1, 16, 21, 301])
def test_averages_and_gradients_are_those_of_whole_matrices(kind: str, values: int) -> None:
    given = inputs(values)
    unit, value = (part.double().requires_grad_() for part in given[:2])
    place, edges = given[2], edges_of(kind)
    rows = unit[place]
    expected = attention(rows @ rows.mT + edges, 0.7) @ value[place]
    grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    theirs = torch.autograd.grad((expected * grad).sum(), [unit, value])

    unit, value = (part.requires_grad_() for part in given[:2])
    neighbours = find_neighbours(unit, place[0], edges, 0.7)
    assert neighbours is not None
    found = neighbours.average(unit, value)
    ours = torch.autograd.grad((found * grad[0]).sum(), [unit, value])
    torch.testing.assert_close(found.double(), expected[0], rtol=1e-5, atol=1e-6)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.double(), other, rtol=1e-4, atol=1e-5)


def test_weights_sum_to_one_and_a_row_like_nothing_is_as_near_to_all() -> None:
    unit, _, place = inputs()
    found = find_neighbours(unit, place[0], torch.zeros(LAYOUT.rows, LAYOUT.rows), 0.7)
    assert found is not None
    row = torch.repeat_interleave(torch.arange(LAYOUT.rows), found.pointer.diff())
    sums = torch.zeros(LAYOUT.rows).index_add(0, row, found.weight[: found.pointer[-1]])
    torch.testing.assert_close(sums, torch.ones(LAYOUT.rows))
    alone = place[0] == 7
    assert torch.equal(found.connected == 0, alone)
    assert torch.equal(found.pointer.diff()[alone], torch.full((int(alone.sum()),), DISTINCT))


def test_many_neighbours_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    unit, values, place = inputs()
    edges = edges_of("supports")
    assert find_neighbours(unit, place[0], edges, 0.0) is None
    found = average_over_neighbours(unit, values, place, edges, 0.0)
    monkeypatch.setattr(attention_module, "is_compiled_for", lambda *_: False)
    assert torch.equal(found, average_over_neighbours(unit, values, place, edges, 0.0))


def test_several_episodes_and_several_threads_are_left_to_pytorch() -> None:
    unit, _, place = inputs()
    assert is_compiled_for(unit, place)
    assert not is_compiled_for(unit, place.expand(2, -1))
    assert not is_compiled_for(unit.double(), place)
    torch.set_num_threads(2)
    assert not is_compiled_for(unit, place)


def test_the_same_every_time() -> None:
    unit, values, place = inputs()
    first, second = (average_over_neighbours(unit, values, place, edges_of("supports"), 0.7) for _ in range(2))
    assert torch.equal(first, second)
