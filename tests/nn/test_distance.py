from __future__ import annotations

import torch

from fsgc.nn.distance import squared_distances


def test_distances_are_those_of_every_pair() -> None:
    draw = torch.Generator().manual_seed(0)
    x, prototypes = torch.randn(3, 5, 4, generator=draw), torch.randn(3, 2, 4, generator=draw)
    pairs = zip(x, prototypes, strict=True)
    expected = torch.tensor([[[float(((a - p) ** 2).sum()) for p in ps] for a in xs] for xs, ps in pairs])
    torch.testing.assert_close(squared_distances(x, prototypes), expected)
