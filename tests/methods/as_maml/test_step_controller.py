from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from fsgc.methods.as_maml.step_controller import StepController, log_scaled, policy_loss, steps_of


@pytest.mark.parametrize(
    ("stop", "steps"),
    [(1.0, 6), (0.51, 6), (0.5, 7), (0.34, 7), (0.25, 9), (0.125, 13), (0.1, 15), (0.01, 15), (0.0, 15)],
)
def test_steps_follow_the_rule(stop: float, steps: int) -> None:
    assert steps_of(stop, 5, 15) == steps


def test_steps_have_a_ceiling() -> None:
    assert steps_of(0.2, 5, 8) == 8
    assert steps_of(1.0, 5, 5) == 5


def test_numbers_are_scaled_by_their_logarithm_down_to_minus_one() -> None:
    values = torch.tensor([1.0, -math.e, math.exp(-5), 0.0, 1e-6])
    torch.testing.assert_close(log_scaled(values), torch.tensor([0.0, 0.1, -0.5, -1.0, -1.0]), atol=1e-6, rtol=1e-6)


def test_the_controller_is_an_lstm_cell_and_a_linear_layer() -> None:
    torch.manual_seed(0)
    controller = StepController()
    lstm = nn.LSTM(2, 20)
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(lstm, f"{kind}_l0").data = getattr(controller.cell, kind).data
    losses, information = torch.rand(4, 3) * 2, torch.rand(4, 3) * 50
    state, logits = None, []
    for step in range(4):
        logit, state = controller(losses[step], information[step], state)
        logits.append(logit)
    first = (controller.hidden.expand(1, 3, 20).contiguous(), controller.memory.expand(1, 3, 20).contiguous())
    whole, _ = lstm(torch.stack([losses.log() / 10, information.log() / 10], 2), first)
    torch.testing.assert_close(torch.stack(logits), controller.out(whole).squeeze(2))


def test_a_state_that_is_not_carried_begins_anew() -> None:
    controller = StepController(carry_state=False)
    loss, information = torch.rand(2), torch.rand(2)
    first, state = controller(loss, information, None)
    torch.testing.assert_close(controller(loss, information, state)[0], first)


def test_the_policy_loss_is_that_of_loops_over_episodes_and_steps() -> None:
    torch.manual_seed(0)
    logits, accuracies, least, penalty = torch.randn(12, 3), torch.rand(12, 3), 5, 0.001
    steps = torch.tensor([6, 12, 9])
    ours = policy_loss(logits, accuracies, steps, least, penalty)
    for episode, count in enumerate(steps.tolist()):
        expected = 0.0
        for t, step in enumerate(range(least - 1, count)):
            stop = float(logits[step, episode].sigmoid())
            gain = float(accuracies[count - 1, episode] - accuracies[step, episode]) - (math.exp(t) - 1) * penalty
            expected -= math.log(1 - stop) * gain
        assert ours[episode].item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("early", "final", "sign"), [(0.4, 0.9, 1), (0.9, 0.4, -1)])
def test_the_gradient_goes_the_right_way(early: float, final: float, sign: int) -> None:
    """Where later steps helped, a step against the gradient makes stopping early less likely; where not, more."""
    logits = torch.zeros(7, 1, requires_grad=True)
    accuracies = torch.full((7, 1), early)
    accuracies[-1] = final
    policy_loss(logits, accuracies, torch.tensor([7]), 5, 0.001).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert (logits.grad[:4] == 0).all(), "before it may stop, nothing is to be learned"
    assert logits.grad[4].sign() == sign


def test_where_nothing_is_gained_later_steps_raise_the_probability_to_stop() -> None:
    """Nothing gained: the later the step, the more its probability to stop rises."""
    logits = torch.zeros(9, 1, requires_grad=True)
    policy_loss(logits, torch.full((9, 1), 0.5), torch.tensor([9]), 5, 0.001).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    late = logits.grad[4:, 0].tolist()
    assert late[0] == 0
    assert late == sorted(late, reverse=True)
    assert late[-1] < 0
