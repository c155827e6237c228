"""Adam in one operation for all weights; with one episode a step an operation per weight took a fifth of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

FUSED_ON = ("cpu", "cuda", "mps")
_ONE = torch.tensor(1.0, device="cpu")
"""A plain 1 would be made a tensor for each weight."""


def adam(weights: Iterable[nn.Parameter], lr: float, precision: str = "32-true") -> torch.optim.Adam:
    """Adam for the weights; the usual one on other devices, and in mixed precision.

    Lightning clips no gradients of a fused one in mixed precision.
    """
    listed = list(weights)
    fused = precision == "32-true" and all(weight.device.type in FUSED_ON for weight in listed)
    if fused and all(weight.is_cpu for weight in listed):
        return FusedAdam(listed, lr=lr, fused=True)
    return torch.optim.Adam(listed, lr=lr, fused=True if fused else None)


class FusedAdam(torch.optim.Adam):
    """PyTorch's fused Adam on the CPU, with little around its operation.

    PyTorch asks every weight in every step whether it is complex, sparse or in need of a graph, which took several
    times as long as the operation. The state is PyTorch's, and so are the first step and any that leaves a weight out.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step, and what the closure, called with gradients, has returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        weights = [weight for group in self.param_groups for weight in group["params"]]
        if all(weight.grad is not None and weight in self.state for weight in weights):
            for group in self.param_groups:
                self._step_together(group)
        else:
            super().step()
        return loss

    def _step_together(self, group: dict[str, Any]) -> None:
        states = [self.state[weight] for weight in group["params"]]
        means, squares, counts = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        torch._foreach_add_(counts, _ONE)
        torch._fused_adam_(
            group["params"],
            [weight.grad for weight in group["params"]],
            means,
            squares,
            [],
            counts,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=group["maximize"],
        )
