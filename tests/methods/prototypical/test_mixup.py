from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from fsgc.errors import SettingsError
from fsgc.methods.prototypical.method import PrototypicalSettings
from fsgc.methods.prototypical.mixup import LatentMixup, Mask
from fsgc.settings import from_mapping


def _similarity(prototypes: Tensor) -> object:
    return lambda x: -torch.cdist(x, prototypes).square()


def test_an_all_ones_mask_gives_zero_loss() -> None:
    first, second, prototypes = torch.randn(3, 2, 5), torch.randn(3, 2, 5), torch.randn(3, 4, 5)
    ones = torch.ones(3, 2, 5)
    penalty = LatentMixup().penalty_of(first, second, ones, ones[..., :1], _similarity(prototypes))  # type: ignore[arg-type]
    assert penalty == 0


def test_the_squared_penalty_against_a_loop_over_pairs() -> None:
    torch.manual_seed(0)
    first, second, prototypes = (torch.randn(3, 2, 5, dtype=torch.float64) for _ in range(3))
    mask = torch.randint(2, (3, 2, 5)).double()
    share = mask.mean(-1, keepdim=True)
    similarity = _similarity(prototypes)
    expected = 0.0
    for episode, pair in itertools.product(range(3), range(2)):
        s1, s2, sigma = first[episode, pair], second[episode, pair], mask[episode, pair]

        def rho(x: Tensor, episode: int = episode) -> Tensor:
            return torch.softmax(-((x - prototypes[episode]) ** 2).sum(-1), 0)

        lam = sigma.sum() / 5
        target = lam * rho(s1) + (1 - lam) * rho(s2)
        expected += float(((rho(sigma * s1 + (1 - sigma) * s2) - target) ** 2).sum()) / 3
    ours = LatentMixup().penalty_of(first, second, mask, share, similarity)  # type: ignore[arg-type]
    assert ours.item() == pytest.approx(expected, rel=1e-9)


def test_every_pair_of_classes_takes_one_support_of_each() -> None:
    """Embeddings that name their class and place make visible what was taken."""
    way, shots, per_class = 4, 3, 7
    z = torch.zeros(50, way, per_class, 2)
    z[..., 0] = torch.arange(way).view(1, way, 1)
    z[..., 1] = torch.arange(per_class)
    torch.manual_seed(0)
    first, second = LatentMixup()._pairs(z, shots)
    pairs = list(itertools.combinations(range(way), 2))
    assert first[0, :, 0].tolist() == [a for a, _ in pairs]
    assert second[0, :, 0].tolist() == [b for _, b in pairs]
    assert set(first[..., 1].flatten().tolist()) == set(range(shots)), "supports only, all of them sometimes"
    first, second = LatentMixup(source="query")._pairs(z, shots)
    assert set(first[..., 1].flatten().tolist()) == {shots}, "the authors' code: always the first query"


@pytest.mark.parametrize(("mask", "share"), [("bernoulli", 0.5), ("blocks", 0.29)])
def test_masks_have_the_share_they_should(mask: Mask, share: float) -> None:
    """0.29 is what was measured of the authors' code with d = 64."""
    torch.manual_seed(0)
    like, alpha = torch.zeros(2000, 3, 64), torch.rand(2000, 3, 1)
    drawn = LatentMixup(mask=mask)._masks(like, alpha)
    assert set(drawn.flatten().tolist()) == {0.0, 1.0}
    assert drawn.mean().item() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("mixup_source", "proto", "'support' or 'query'"),
        ("mixup_mask", "stripes", "'bernoulli' or 'blocks'"),
        ("mixup_ratio", "half", "'mask' or 'uniform'"),
        ("mixup_loss", "l1", "'squared' or 'cross_entropy'"),
    ],
)
def test_unknown_settings_are_refused(key: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingsError, match=f"^{key} must be {allowed}, got '{value}'$"):
        from_mapping("", PrototypicalSettings, {key: value}, {key: key})
