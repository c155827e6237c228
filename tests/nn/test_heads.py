from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fsgc.nn import heads
from fsgc.nn.heads import HeadWeights, MLPHead, apply_heads, fine_tune, fresh_head, head_gradients

WIDTH, HIDDEN, WAY, ROWS, EPISODES = 7, 6, 3, 9, 5
LABELS = torch.arange(WAY).repeat_interleave(ROWS // WAY)


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _features(seed: int = 1) -> Tensor:
    return torch.randn(EPISODES, ROWS, WIDTH, generator=_generator(seed))


def _module(weights: HeadWeights) -> MLPHead:
    module = MLPHead(WIDTH, HIDDEN, WAY)
    with torch.no_grad():
        for parameter, weight in zip(module.parameters(), weights, strict=True):
            parameter.copy_(weight)
    return module


def _plain_adam(module: nn.Module, z: Tensor, labels: Tensor, steps: int, lr: float) -> None:
    optimiser = torch.optim.Adam(module.parameters(), lr=lr)
    for _ in range(steps):
        optimiser.zero_grad()
        F.cross_entropy(module(z), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("labels_per_episode", [False, True])
@pytest.mark.parametrize("at_once", [2, 64])
def test_ten_steps_are_those_of_an_adam_per_episode(
    monkeypatch: pytest.MonkeyPatch, at_once: int, labels_per_episode: bool
) -> None:
    monkeypatch.setattr(heads, "HEADS_AT_ONCE", at_once)
    start, z = fresh_head(WIDTH, HIDDEN, WAY, _generator()), _features()
    turns = torch.arange(EPISODES) if labels_per_episode else torch.zeros(EPISODES, dtype=torch.int64)
    labels = (LABELS + turns[:, None]) % WAY
    tuned = fine_tune(start, z, labels if labels_per_episode else LABELS, steps=10, lr=1e-2)
    for episode in range(EPISODES):
        module = _module(start)
        _plain_adam(module, z[episode], labels[episode], 10, 1e-2)
        for ours, theirs in zip(tuned, module.parameters(), strict=True):
            torch.testing.assert_close(ours[episode], theirs.detach(), rtol=1e-10, atol=1e-12)


def test_it_starts_from_stacked_weights_as_well() -> None:
    z = _features()
    starts = [fresh_head(WIDTH, HIDDEN, WAY, _generator(seed)) for seed in range(EPISODES)]
    stacked = HeadWeights(*(torch.stack(parts) for parts in zip(*starts, strict=True)))
    before = [weight.clone() for weight in stacked]
    tuned = fine_tune(stacked, z, LABELS, steps=3, lr=1e-2)
    for episode, start in enumerate(starts):
        alone = fine_tune(start, z[episode : episode + 1], LABELS, steps=3, lr=1e-2)
        for together, single in zip(tuned, alone, strict=True):
            torch.testing.assert_close(together[episode], single[0])
    for weight, old in zip(stacked, before, strict=True):
        assert torch.equal(weight, old)


def test_applying_stacked_heads_is_applying_each() -> None:
    starts = [fresh_head(WIDTH, HIDDEN, WAY, _generator(seed)) for seed in range(EPISODES)]
    stacked = HeadWeights(*(torch.stack(parts) for parts in zip(*starts, strict=True)))
    z = _features()
    logits = apply_heads(stacked, z)
    for episode, start in enumerate(starts):
        torch.testing.assert_close(logits[episode], _module(start)(z[episode]))


def test_fine_tuning_runs_without_gradients_around_and_leaves_none() -> None:
    with torch.no_grad():
        tuned = fine_tune(fresh_head(WIDTH, HIDDEN, WAY, _generator()), _features(), LABELS, 10, 1e-1)
    assert not any(weight.requires_grad for weight in tuned)
    before = apply_heads(fresh_head(WIDTH, HIDDEN, WAY, _generator()).stacked(EPISODES), _features())
    labels = LABELS.repeat(EPISODES)
    after = F.cross_entropy(apply_heads(tuned, _features()).flatten(0, 1), labels)
    assert after < 0.5 * F.cross_entropy(before.flatten(0, 1), labels)


def test_a_dropped_row_of_the_hidden_layer_is_worked_out_by_hand() -> None:
    """Hidden units 1 and 2 for the input 1; with the first dropped and the other doubled the logit is 4."""
    weights = HeadWeights(
        torch.tensor([[[1.0], [2.0]]]), torch.zeros(1, 2), torch.tensor([[[1.0, 1.0]]]), torch.zeros(1, 1)
    )
    logit = apply_heads(weights, torch.ones(1, 1, 1), torch.tensor([[0.0, 2.0]]))
    assert logit.item() == 4.0


def test_a_fresh_head_has_the_spread_of_a_linear_layer() -> None:
    start = fresh_head(400, 300, 50, _generator())
    for weight, inputs in zip(start, (400, 400, 300, 300), strict=True):
        assert weight.abs().max() <= inputs**-0.5
        assert weight.std().item() == pytest.approx((3 * inputs) ** -0.5, rel=0.25)
    again = fresh_head(400, 300, 50, _generator())
    assert all(torch.equal(a, b) for a, b in zip(start, again, strict=True))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("dropout", [False, True])
def test_written_out_gradients_are_those_of_autograd(dropout: bool) -> None:
    weights = HeadWeights(
        *(w.clone().requires_grad_() for w in fresh_head(WIDTH, HIDDEN, WAY, _generator()).stacked(5))
    )
    z = _features().double().requires_grad_()
    keep = 2.0 * torch.randint(2, (ROWS, HIDDEN), generator=_generator(2)).double() if dropout else None
    logits = apply_heads(weights, z, keep)
    loss = F.cross_entropy(logits.flatten(0, 1), LABELS.repeat(EPISODES), reduction="sum") / ROWS
    *expected, at_z = torch.autograd.grad(loss, [*weights, z])
    with torch.no_grad():
        target = F.one_hot(LABELS.expand(EPISODES, ROWS), WAY).double().mT
        grads, at_hidden = head_gradients(weights, z, target, keep)
        torch.testing.assert_close(list(grads), expected)
        torch.testing.assert_close(at_hidden @ weights.hidden_weight, at_z)
