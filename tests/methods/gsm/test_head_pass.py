from __future__ import annotations

import torch
import torch.nn.functional as F

from fsgc.methods.gsm.head_pass import HeadPass
from fsgc.nn.heads import HeadWeights

EPISODES, SUPPORTS, WIDTH, HIDDEN, WAY = 3, 6, 5, 7, 3


def test_gradients_are_those_of_autograd() -> None:
    torch.manual_seed(0)
    shapes = (EPISODES, HIDDEN, WIDTH), (EPISODES, HIDDEN), (EPISODES, WAY, HIDDEN), (EPISODES, WAY)
    weights = HeadWeights(*(torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes))
    labels = torch.arange(WAY).repeat_interleave(SUPPORTS // WAY)
    target = F.one_hot(labels.expand(EPISODES, SUPPORTS), WAY).double().mT
    grads = HeadWeights(*(torch.full_like(weight, torch.nan) for weight in weights))
    head = HeadPass(HeadWeights(*(weight.detach() for weight in weights)), grads, target)
    for _ in range(2):
        z = torch.randn(EPISODES, SUPPORTS, WIDTH, dtype=torch.float64, requires_grad=True)
        keep = 2.0 * torch.randint(2, (SUPPORTS, HIDDEN)).double()
        hidden = torch.relu(z @ weights.hidden_weight.mT + weights.hidden_bias.unsqueeze(1)) * keep
        logits = hidden @ weights.out_weight.mT + weights.out_bias.unsqueeze(1)
        loss = torch.stack([F.cross_entropy(rows, labels) for rows in logits]).sum()
        *expected, at_z = torch.autograd.grad(loss, [*weights, z])
        at_input = torch.empty_like(at_z)
        head.backward(z.detach(), keep, at_input)
        torch.testing.assert_close(at_input, at_z)
        for ours, wanted in zip(grads, expected, strict=True):
            torch.testing.assert_close(ours, wanted)
