"""The pretended device behaves as a device does: by that, tests on it mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from tests.pretend_device import NAME, Far, pretend_device


@pytest.fixture
def waits() -> Iterator[Counter[str]]:
    with pretend_device() as waits:
        yield waits


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(3, device=NAME),
        lambda: torch.arange(3, device=NAME),
        lambda: torch.tensor([1, 2], device=NAME),
        lambda: torch.as_tensor([1.0, 2.0], device=NAME),
        lambda: torch.randn(2, 3).to(NAME),
        lambda: torch.nn.Linear(2, 3).to(NAME).weight,
        lambda: torch.rand_like(torch.zeros(3, device=NAME)),
        lambda: torch.zeros(3, device=NAME).new_ones(2),
        lambda: torch.ones(4, device=NAME).view(2, 2)[1:].T.sum(0),
    ],
)
@pytest.mark.usefixtures("waits")
def test_what_is_made_on_it_is_on_it(make: Callable[[], Tensor]) -> None:
    made = make()
    assert isinstance(made, Far)
    assert made.device.type == NAME
    assert not isinstance(made.cpu(), Far)


@pytest.mark.parametrize(
    "mix",
    [
        lambda far: far + torch.ones(3),
        lambda far: torch.cat([far, torch.ones(3)]),
        lambda far: torch.ones(2, 3) @ far,
        lambda far: torch.arange(9).view(3, 3)[far.long()],
        lambda far: torch.nn.functional.cross_entropy(far.view(1, 3), torch.zeros(1, dtype=torch.int64)),
        lambda far: far.index_add(0, torch.arange(3), far),
        lambda far: torch.where(far > 0, far, torch.zeros(3)),
    ],
)
@pytest.mark.usefixtures("waits")
def test_tensors_of_the_host_are_refused(mix: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(RuntimeError, match="of the host meets tensors of the device"):
        mix(torch.ones(3, device=NAME))


@pytest.mark.usefixtures("waits")
def test_numpy_does_not_get_it_and_numbers_may_meet_it() -> None:
    far = torch.ones(3, device=NAME)
    with pytest.raises(Exception, match=r"[Cc]an't|[Cc]annot|numpy"):
        far.numpy()
    assert (2 * far + torch.tensor(1.0)).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("wait", "name"),
    [
        (lambda far: float(far.sum()), "_local_scalar_dense"),
        (lambda far: bool((far > 0).all()), "_local_scalar_dense"),
        (lambda far: far.tolist(), "tolist"),
        (lambda far: far.cpu(), "copy to the host"),
        (lambda far: torch.zeros(3).copy_(far), "copy to the host"),
        (lambda far: far + torch.ones(3).to(NAME), "copy to the device"),
        (lambda far: far[torch.tensor([0, 1])], "index of the host"),
        (lambda far: far[far > 0], "mask"),
        (lambda far: far.nonzero(), "nonzero"),
        (lambda far: torch.unique(far), "_unique2"),
        (lambda far: torch.bincount(far.long()), "bincount"),
        (lambda far: far.masked_select(far > 0), "masked_select"),
        (lambda far: far.repeat_interleave(far.long()), "repeat_interleave"),
    ],
)
def test_what_makes_the_host_wait_is_counted(wait: Callable[[Tensor], object], name: str, waits: Counter[str]) -> None:
    far = torch.ones(3, device=NAME)
    waits.clear()
    wait(far)
    assert waits == {name: 1}


@pytest.mark.parametrize(
    "work",
    [
        lambda far: (far * 2).relu().sum().backward(),
        lambda far: far.repeat_interleave(torch.arange(3, device=NAME), output_size=3),
        lambda far: far[torch.arange(2, device=NAME)] + far.detach().topk(2).values,
        lambda far: torch.func.vmap(torch.sin)(far),
        lambda far: torch.where(far > 0, far, 0.0).masked_fill(far > 1, 3.0),
    ],
)
def test_work_that_stays_on_it_waits_for_nothing(work: Callable[[Tensor], object], waits: Counter[str]) -> None:
    far = torch.ones(3, device=NAME).requires_grad_()
    waits.clear()
    work(far)
    assert waits == {}


@pytest.mark.usefixtures("waits")
def test_a_network_learns_on_it_as_on_the_host() -> None:
    def weights(device: str) -> Tensor:
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.LSTMCell(4, 2))
        x = torch.randn(5, 3)
        network.to(device)
        optimiser = torch.optim.Adam(network.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            hidden, cell = network(x.to(device))
            (hidden.square().sum() + cell.sum()).backward()
            optimiser.step()
        return torch.cat([each.detach().cpu().flatten() for each in network.state_dict().values()])

    torch.testing.assert_close(weights(NAME), weights("cpu"), rtol=1e-5, atol=1e-6)
