from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from fsgc.data.encodings import FeatureTable
from fsgc.nn.inputs import as_features


def test_a_table_with_codes_stands_for_its_rows() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(90, 91)).astype(np.float32)
    code = rng.integers(0, 90, size=1000)
    x = torch.from_numpy(table[code])
    features = as_features(FeatureTable(table, code))
    assert features.code is not None
    assert len(features) == 1000
    assert features.width == 91
    assert torch.equal(features.rows(), x)
    weight = torch.randn(7, 91, generator=torch.Generator().manual_seed(1), requires_grad=True)
    bias = torch.arange(7.0)
    torch.testing.assert_close(features.project(weight, bias), functional.linear(x, weight, bias))
    ours = torch.autograd.grad(features.project(weight).sin().sum(), weight)
    theirs = torch.autograd.grad(functional.linear(x, weight).sin().sum(), weight)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
    some = torch.tensor([5, 3, 3])
    assert torch.equal(features.select(some).rows(), x[some])
    assert torch.equal(features.to(torch.device("cpu")).rows(), x)


def test_plain_rows_are_wrapped_once() -> None:
    features = as_features(torch.ones(2, 3))
    assert features.code is None
    assert as_features(features) is features
