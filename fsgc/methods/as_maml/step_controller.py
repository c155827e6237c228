"""AS-MAML's step controller: how many steps an episode needs, learned by policy gradient (Ma et al. 2020)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST_STOP = 0.1
"""Below it a probability to stop counts as this."""
State = tuple[Tensor, Tensor]


def log_scaled(value: Tensor, decades: float = 10.0) -> Tensor:
    """`log |v| / p`, or -1 where `|v| < e^-p`: numbers of very different size between -1 and about 1."""
    size = value.abs()
    return torch.where(size < math.exp(-decades), -1.0, (size + 1e-10).log() / decades)


def steps_of(stop: float, least: int, most: int) -> int:
    """The steps of the next episode, given the probability to stop at the end of the last one."""
    if math.isnan(stop):
        return least  # the episode has diverged; its loss is NaN as well, and training stops with a message
    return min(most, least + math.floor(1 / max(stop, LEAST_STOP)))


class StepController(nn.Module):
    """An LSTM cell over an episode's steps and a linear layer to the logit of stopping.

    Args:
        width: of the LSTM's state.
        carry_state: whether the state is carried from step to step, or begins anew at each (the released code).
    """

    def __init__(self, width: int = 20, carry_state: bool = True) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(2, width)
        self.out = nn.Linear(width, 1)
        nn.init.zeros_(self.out.bias)
        self.hidden = nn.Parameter(torch.randn(width))
        self.memory = nn.Parameter(torch.randn(width))
        self.carry_state = carry_state

    def forward(self, loss: Tensor, information: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The logits of stopping of `B` episodes, `[B]`, and the state for the next step.

        Args:
            loss: `[B]`, of the supports before the step.
            information: `[B]`, the average node information of the supports.
            state: that of the step before.
        """
        inputs = log_scaled(torch.stack([loss, information], 1).detach())
        if state is None or not self.carry_state:
            state = self.hidden.expand(len(inputs), -1), self.memory.expand(len(inputs), -1)
        state = self.cell(inputs, state)
        return self.out(state[0]).squeeze(1), state


def policy_loss(logits: Tensor, accuracies: Tensor, steps: Tensor, least: int, penalty: float) -> Tensor:
    """REINFORCE: `Σ -log(1 - p_t) · (a_T - a_t - (e^t - 1) · penalty)` over the last steps of each episode, `[B]`.

    `t` counts from 0 at step `least` - 1, the first after which an episode may stop, to its last. Where later
    steps made it better, the loss falls with the probability to stop.

    Args:
        logits: `[T, B]`, logits of stopping at each step.
        accuracies: `[T, B]`, on the queries after each step.
        steps: int64 `[B]`, how many steps each episode takes; at most `T`.
        least: fewest steps of an episode.
        penalty: cost of steps.
    """
    step = torch.arange(len(logits), device=logits.device).unsqueeze(1)
    final = accuracies.gather(0, steps.unsqueeze(0) - 1)
    late = (step - (least - 1)).clamp(min=0).to(accuracies.dtype)
    gain = final - accuracies - (late.exp() - 1) * penalty
    counts = (step >= least - 1) & (step < steps)
    # -log(1 - sigmoid(z)) = softplus(z)
    return torch.where(counts, F.softplus(logits) * gain.detach(), 0.0).sum(0)
