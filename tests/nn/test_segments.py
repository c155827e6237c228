from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap
from torch_geometric.nn import global_add_pool, global_mean_pool

from fsgc.nn.segments import Segments
from tests.nn.oracle import assert_same


def _segments(sizes: list[int]) -> Segments:
    return Segments.from_sizes(torch.tensor(sizes), sum(sizes))


@given(st.lists(st.integers(1, 8), min_size=1, max_size=9))
def test_pooling_equals_pyg(sizes: list[int]) -> None:
    segments = _segments(sizes)
    x = torch.randn(sum(sizes), 3, generator=torch.Generator().manual_seed(0))
    index = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    assert torch.equal(segments.index, index)
    assert_same(segments.sum, lambda v: global_add_pool(v, index), x)
    assert_same(segments.mean, lambda v: global_mean_pool(v, index), x)
    assert_same(segments.spread, lambda v: v[index], x[: len(sizes)])


def test_empty_segments_sum_to_zero() -> None:
    segments = _segments([2, 0, 1])
    x = torch.tensor([[1.0], [2.0], [4.0]])
    assert segments.sum(x).tolist() == [[3.0], [0.0], [4.0]]
    assert segments.mean(x).tolist() == [[1.5], [0.0], [4.0]]


def test_second_derivatives_are_those_of_finite_differences() -> None:
    segments = _segments([1, 3, 2])
    x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda v: segments.spread(segments.mean(v)).square() * v, x)


def test_sums_and_spreading_under_vmap_are_those_of_a_loop() -> None:
    segments = _segments([1, 3, 2])
    x = torch.randn(6, 5, 2, generator=torch.Generator().manual_seed(0))
    looped = torch.stack([segments.spread(segments.sum(v)) for v in x.unbind(1)])
    torch.testing.assert_close(vmap(lambda v: segments.spread(segments.sum(v)), in_dims=1)(x), looped)


def test_pieces_are_consecutive_and_small() -> None:
    sizes = torch.tensor([1, 4, 2, 7, 3])
    segments = _segments(sizes.tolist())
    x = torch.randn(17, 6, generator=torch.Generator().manual_seed(0))
    assert [len(piece.segments.sizes) for piece in segments.pieces(1000)] == [5]
    for most in (1, 6, 9):
        pieces = segments.pieces(most)
        assert len(pieces) > 1
        assert torch.cat([x[piece.rows] for piece in pieces]).equal(x)
        assert torch.cat([piece.segments.sum(x[piece.rows]) for piece in pieces]).equal(segments.sum(x))
        assert torch.cat([sizes[piece.graphs] for piece in pieces]).equal(sizes)
        assert max(int(piece.segments.sizes.sum()) for piece in pieces) <= most + 7
    assert Segments.from_sizes(sizes[:0], 0).pieces(6) == []
