from __future__ import annotations

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from fsgc.methods.spnp.process import Decoder, Gaussian, LatentPath, PairEncoder, SelfAttention


def _draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_divergence_is_that_of_torch() -> None:
    a, b = (Gaussian(_draw(3, 4 + i)[:, :4], 0.1 + _draw(3, 5 + i)[:, :4].abs()) for i in range(2))
    expected = kl_divergence(Normal(a.mean, a.deviation), Normal(b.mean, b.deviation)).sum(-1)
    torch.testing.assert_close(a.divergence(b), expected)
    torch.testing.assert_close(a.divergence(a), torch.zeros(3))


def test_the_pair_encoder_is_an_mlp_of_the_concatenation() -> None:
    encoder, h, code = PairEncoder(4), _draw(2, 3, 5, 4), _draw(2, 3, 4)
    first = nn.Linear(8, 4)
    first.weight.data = torch.cat([encoder.of_graph.weight, encoder.of_code.weight], 1)
    first.bias.data = encoder.of_graph.bias.data
    both = torch.cat([h, code.unsqueeze(2).expand_as(h)], -1)
    torch.testing.assert_close(encoder(h, code), encoder.out(torch.relu(first(both))))


def test_deviations_stay_between_a_tenth_and_one() -> None:
    path = LatentPath(4)
    for sign in (-1.0, 1.0):
        path.deviation.bias.data.fill_(sign * 100)
        deviation = path(_draw(2, 3, 5, 4), _draw(2, 3, 4)).deviation
        torch.testing.assert_close(deviation, torch.full((2, 4), 0.1 if sign < 0 else 1.0))


def test_decoder_and_attention_start_as_the_identity() -> None:
    h = _draw(2, 3, 5, 4)
    assert torch.equal(Decoder(4, 2)(h, _draw(6, 2, 8)), h.expand(6, *h.shape))
    assert torch.equal(SelfAttention(4)(h), h)


def test_attention_is_that_of_torch() -> None:
    """`nn.MultiheadAttention` with one head and the same matrices, on the layer-normed supports."""
    block, x = SelfAttention(4), _draw(6, 5, 4)
    nn.init.normal_(block.out.weight)
    theirs = nn.MultiheadAttention(4, 1, batch_first=True)
    assert theirs.in_proj_weight is not None
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = (
        block.in_projection.weight.data,
        block.in_projection.bias.data,
    )
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = block.out.weight.data, block.out.bias.data
    normed = block.norm(x)
    torch.testing.assert_close(block(x), x + theirs(normed, normed, normed)[0])
