"""The Hessian of each episode's support loss times a vector, written out: what second-order MAML needs of every step.

Forward over reverse (Pearlmutter, Fast Exact Multiplication by the Hessian, 1994): every quantity of the forward and
the backward pass has a tangent, and each linear step of either pass becomes two by the product rule. Both passes were
made and kept when the step was taken, so only tangents are computed, 18 products of node rows for two convolutions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fsgc.methods.maml import scorer
from fsgc.methods.maml.episode_network import EpisodeNetwork, Pull, Run
from fsgc.methods.maml.flat_weights import Pieces
from fsgc.methods.maml.weight_products import centred, dot, gradients_push, multiply_push, own, tangent_of_own


def hessian_product(
    network: EpisodeNetwork, at: Run, pull: Pull, share: Tensor, count: int, direction: Tensor
) -> Tensor:
    """The derivative, `[B, W]`, of the gradient at the weights in a direction, `[B, W]`.

    Args:
        network: the network on the supports.
        at: its forward pass.
        pull: its backward pass from the gradient of the cross-entropy.
        share: the softmax of the logits, `[B, M, N]`.
        count: what the cross-entropy is divided by.
        direction: the tangent of the weights.
    """
    tangents = network.layout.cut(direction)
    products = multiply_push(at.weights, tangents)

    # The forward pass.
    hidden, norm = network.norm.push(at.normed[0], network.inputs.mixed(products.first), tangents.norms[0])
    hiddens, norms, mixing = [hidden], [norm], list[Tensor]()
    for index, (matrix, tangent) in enumerate(zip(at.products.between, products.between, strict=True), 1):
        rows = torch.baddbmm(tangent[:, -1:], hiddens[-1], matrix[:, :-1])
        mixing.append(rows.baddbmm_(at.normed[index - 1].result, tangent[:, :-1]))
        rows = network.neighbours.mix(rows, own(at.weights, index))
        rows.addcmul_(at.mixing[index - 1], tangent_of_own(tangents, index))
        hidden, norm = network.norm.push(at.normed[index], rows, tangents.norms[index])
        hiddens.append(hidden)
        norms.append(norm)
    total = network.inputs.plain(products.jump[:, :-1], products.jump[:, -1:])
    for index, layer in enumerate(at.normed):
        total.baddbmm_(hiddens[index], at.products.jumps[index]).baddbmm_(layer.result, products.jumps[index])
    pooled, read = network.read.push(at.read, total, tangents.read)
    scored = scorer.push(at.scored, pooled, (tangents.embed, tangents.hidden, tangents.scores))

    # The backward pass.
    error = scorer.cross_entropy_push(share, scored.logits, count)
    pooled, of_head = scorer.push_back(at.scored, pull.scored, scored, error)
    total, of_read = network.read.push_back(at.read, pull.read, read, pooled)
    of_bias = total.sum(1, keepdim=True)
    hops: list[Tensor] = []
    of_norms: list[Tensor] = []
    of_own: list[Tensor] = []
    after: Tensor | None = None
    for index in reversed(range(len(at.normed))):
        kept, tangent = at.normed[index].result, hiddens[index]
        hop = centred(torch.cat([_both(kept, total, tangent, pull.total), of_bias], 1))
        of_hidden = torch.bmm(total, at.products.jumps[index].mT).baddbmm_(pull.total, products.jumps[index].mT)
        if after is not None:  # what comes from the next convolution
            at_after = pull.mixing[index]
            of_hidden.baddbmm_(after, at.products.between[index][:, :-1].mT)
            of_hidden.baddbmm_(at_after, products.between[index][:, :-1].mT)
            to_next = torch.cat([_both(kept, after, tangent, at_after), after.sum(1, keepdim=True)], 1)
            hop = torch.cat([to_next, hop], 2)
        rows, of_norm = network.norm.push_back(at.normed[index], pull.norms[index], norms[index], of_hidden)
        hops.append(hop)
        of_norms.append(of_norm)
        if index:
            after = network.neighbours.mix(rows, own(at.weights, index))
            after.addcmul_(pull.rows[index], tangent_of_own(tangents, index))
            of_own.append(dot(rows, at.mixing[index - 1]) + dot(pull.rows[index], mixing[index - 1]))
    for found in (hops, of_norms, of_own):
        found.reverse()
    first = network.inputs.mixed_adjoint(rows)
    jump = centred(torch.cat([network.inputs.plain_adjoint(total), of_bias], 1))
    factors = gradients_push(at.weights, tangents, pull.first, pull.hops, first, hops)
    eps = network.of_eps([factors.own, *of_own])
    return Pieces(eps, factors.first, of_norms, factors.lasts, factors.nexts, jump, of_read, *of_head).join()


def _both(rows: Tensor, tangent_of_grad: Tensor, tangent: Tensor, grad: Tensor) -> Tensor:
    """The tangent of `hᵀ G`."""
    return torch.bmm(rows.mT, tangent_of_grad).baddbmm_(tangent.mT, grad)
