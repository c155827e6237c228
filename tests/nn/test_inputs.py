from __future__ import annotations

import torch
from torch.nn import functional

from fsgc.nn.inputs import as_features, compress_rows


def test_wide_one_hot_rows_become_a_table() -> None:
    codes = torch.randint(0, 90, (1000,), generator=torch.Generator().manual_seed(0))
    x = torch.cat([functional.one_hot(codes, 90).float(), (codes % 2).unsqueeze(1) * 0.5], 1)
    features = compress_rows(x)
    assert features.code is not None
    assert len(features.table) <= 100
    assert torch.equal(features.rows(), x)
    weight = torch.randn(7, 91, generator=torch.Generator().manual_seed(1), requires_grad=True)
    torch.testing.assert_close(features.project(weight), functional.linear(x, weight))
    ours = torch.autograd.grad(features.project(weight).square().sum(), weight)
    torch.testing.assert_close(ours, torch.autograd.grad(functional.linear(x, weight).square().sum(), weight))
    some = torch.tensor([5, 3, 3])
    assert torch.equal(features.select(some).rows(), x[some])


def test_rows_that_do_not_repeat_stay_rows() -> None:
    for shape in ((1000, 90), (1000, 5)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        assert compress_rows(x).code is None
        assert compress_rows(x).rows() is x


def test_rows_the_projection_cannot_tell_apart() -> None:
    # Rows that differ by less than the projection's rounding: only the exact comparison sees it.
    x = torch.ones(1000, 90)
    x[::2, 0] = torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))
    assert torch.equal(compress_rows(x).rows(), x)


def test_plain_rows_are_wrapped_once() -> None:
    features = as_features(torch.ones(2, 3))
    assert as_features(features) is features
