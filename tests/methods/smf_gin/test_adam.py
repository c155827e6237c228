from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from fsgc.episodes.batches import Episodes
from fsgc.methods.faith.method import FaithSettings
from fsgc.methods.smf_gin.adam import adam
from fsgc.methods.smf_gin.method import SmfGinSettings
from fsgc.training.settings import Training, TrainSettings
from tests.fitting import fit


@pytest.mark.usefixtures("double")
def test_its_steps_are_those_of_the_formula() -> None:
    """Kingma and Ba, Adam, ICLR 2015, algorithm 1."""
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = adam([weight], lr=0.1)
    expected, first, second = weight.detach().clone(), torch.zeros(2), torch.zeros(2)
    for step in range(1, 4):
        optimiser.zero_grad()
        (weight**3).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        gradient = 3 * expected**2
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        expected -= 0.1 * (first / (1 - 0.9**step)) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
        torch.testing.assert_close(weight.detach(), expected)


def test_its_steps_are_those_of_pytorch_bit_by_bit_even_where_a_weight_is_left_out_or_the_state_is_loaded() -> None:
    start = [torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in ((3, 5), (4,), (1,))]
    pairs = [[nn.Parameter(value.clone()) for value in start] for _ in range(2)]
    ours, theirs = adam(pairs[0], lr=0.1), torch.optim.Adam(pairs[1], lr=0.1, fused=True)
    for step in range(6):
        for optimiser, weights in ((ours, pairs[0]), (theirs, pairs[1])):
            optimiser.zero_grad()
            used = weights[:-1] if step == 3 else weights
            torch.stack([weight.square().sum() for weight in used]).sum().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        assert all(torch.equal(mine, other) for mine, other in zip(*pairs, strict=True))
        if step == 4:
            state = ours.state_dict()
            ours = adam(pairs[0], lr=0.1)
            ours.load_state_dict(state)


def test_a_closure_is_called_with_gradients() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimiser = adam([weight], lr=0.1)

    def closure() -> float:
        optimiser.zero_grad()
        loss = weight.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    assert optimiser.step(closure) == 2
    assert optimiser.step(closure) == pytest.approx(1.8)


@pytest.mark.usefixtures("outside_any_repository")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("smf_gin", SmfGinSettings(width=8, convs=2)),
        ("faith", FaithSettings(support_tasks=2, gin_width=8, convs=2, width=8)),
    ],
)
def test_mixed_precision_trains_with_clipped_gradients(
    tmp_path: Path, episodes: Episodes, name: str, settings: SmfGinSettings | FaithSettings
) -> None:
    loop = TrainSettings(max_epochs=1, batch_size=4, episodes_per_epoch=8, accelerator="cpu", precision="bf16-mixed")
    _, report = fit(Training(name, settings, loop), episodes, 0, tmp_path / "state", tmp_path / "curves")
    assert report.epochs == 1
