from __future__ import annotations

import torch

from fsgc.nn.known_gradient import known_gradient


def test_backward_hands_the_gradients_on_times_what_comes_from_outside() -> None:
    weights = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    grads = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])]
    value = known_gradient(torch.tensor(7.0), grads, weights)
    assert value.item() == 7
    (-2 * value).backward()  # type: ignore[no-untyped-call]
    for weight, grad in zip(weights, grads, strict=True):
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad, -2 * grad)
