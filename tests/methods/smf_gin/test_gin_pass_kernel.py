"""The compiled training pass against the one in PyTorch, which other tests compare with autograd and with PyG."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from fsgc.data.graph_store import GraphStore
from fsgc.methods.smf_gin import gin_pass
from fsgc.methods.smf_gin.gin_pass_kernel import is_compiled_for
from fsgc.nn.gin_read_outs import GINReadOuts
from fsgc.nn.graph_tensors import GraphTensors
from fsgc.nn.inputs import NARROW


class Case(NamedTuple):
    sizes: tuple[int, ...] = (7, 12, 5, 30, 1)
    chosen: tuple[int, ...] = (3, 0, 4, 3, 1)
    inputs: int = 5
    width: int = 16
    convs: int = 3
    edges: float = 0.4
    learnable_eps: bool = True


CASES = {
    "a graph twice": Case(),
    "ε fixed": Case(learnable_eps=False),
    "wide inputs": Case(inputs=NARROW + 3),
    "wide inputs, ε fixed": Case(inputs=NARROW + 3, learnable_eps=False),
    "inputs wider than layers": Case(inputs=NARROW),
    "one input": Case(inputs=1),
    "one convolution": Case(convs=1),
    "one convolution, wide inputs": Case(convs=1, inputs=NARROW + 1),
    "no edges": Case(edges=0.0),
    "two nodes": Case(sizes=(1, 1), chosen=(1, 0)),
    "larger than a block": Case(sizes=(150, 420, 61, 100), chosen=(0, 1, 2, 3), edges=0.02),
    "as SMF-GIN's": Case(sizes=(40,) * 30, chosen=tuple(range(30)), width=64, convs=4, edges=0.1),
    "as FAITH's": Case(sizes=(35,) * 30, chosen=tuple(range(30)), width=128, convs=4, edges=0.1),
    "an odd number of vectors": Case(width=112),
}


def _graphs(case: Case, dtype: torch.dtype) -> GraphTensors:
    draw = np.random.default_rng(0)
    sources, targets, first = [], [], 0
    for size in case.sizes:
        upper = np.triu(draw.random((size, size)) < case.edges, 1)
        source, target = np.nonzero(upper | upper.T)
        sources.append(source + first)
        targets.append(target + first)
        first += size
    labels = np.zeros(len(case.sizes), dtype=np.int64)
    store = GraphStore.from_edges(np.array(case.sizes), np.concatenate(sources), np.concatenate(targets), labels)
    return GraphTensors(store, torch.from_numpy(draw.normal(size=(first, case.inputs))).to(dtype))


def _network(case: Case, dtype: torch.dtype) -> GINReadOuts:
    torch.manual_seed(0)
    gin = GINReadOuts(case.inputs, case.width, case.convs, learnable_eps=case.learnable_eps)
    with torch.no_grad():
        for name, weight in gin.named_parameters():
            if "norm" in name or "eps" in name:  # which all begin with the same number
                weight.add_(0.3 * torch.randn(weight.shape))
    gin.norms[0].norm.momentum = None  # type: ignore[union-attr]
    return gin.to(dtype)


def _run(case: Case, dtype: torch.dtype) -> dict[str, Tensor]:
    """Read-outs, gradients and running statistics after two passes."""
    gin, graphs, chosen = _network(case, dtype), _graphs(case, dtype), torch.tensor(case.chosen)
    gin_pass.read_outs(gin, graphs, chosen.flip(0))
    found = gin_pass.read_outs(gin, graphs, chosen)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (found * weights.to(dtype)).sum().backward()  # type: ignore[no-untyped-call]
    result = {"read-outs": found.detach()} | dict(gin.named_buffers())
    for name, weight in gin.named_parameters():
        assert weight.grad is not None, name
        result[f"gradient of {name}"] = weight.grad
    return result


@pytest.fixture(autouse=True)
def _needs_the_library() -> None:
    case = CASES["two nodes"]
    if not is_compiled_for(_network(case, torch.float32), _graphs(case, torch.float32), torch.tensor(case.chosen)):
        pytest.skip("fsgc was installed without a compiler, or the processor has no AVX2")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_read_outs_gradients_and_running_statistics_are_as_exact_as_those_of_pytorch(
    monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    exact, found = _run(case, torch.float64), _run(case, torch.float32)
    monkeypatch.setattr(gin_pass, "is_compiled_for", lambda *_: False)
    usual = _run(case, torch.float32)
    assert found.keys() == exact.keys()
    usual_error: dict[str, float] = {}
    for name, value in exact.items():
        error = float((usual[name].double() - value.double()).norm())
        usual_error[_kind(name)] = max(error, usual_error.get(_kind(name), 0.0))
    for name, value in exact.items():
        error = float((found[name].double() - value.double()).norm())
        assert error <= 4 * usual_error[_kind(name)] + 2e-5 * float(value.double().norm()) + 2e-5, name


def _kind(name: str) -> str:
    """What a tensor is in every layer.

    Without edges, ε does nothing that batch norm would not undo: its gradient is one number, what rounding leaves of a
    cancellation. How much that is differs by a factor of ten between PyTorch's own layers.
    """
    return re.sub(r"\d+", "", name)


def test_the_same_every_time() -> None:
    first, second = (_run(CASES["as SMF-GIN's"], torch.float32) for _ in range(2))
    assert all(torch.equal(value, second[name]) for name, value in first.items())


def test_biases_in_front_of_batch_norm_have_no_gradient() -> None:
    found = _run(CASES["a graph twice"], torch.float32)
    for name in ("convs.0.first.bias", "convs.1.first.bias", "convs.2.others.0.bias"):
        assert not found[f"gradient of {name}"].any()


def test_two_passes_before_one_way_back_keep_apart() -> None:
    case = CASES["a graph twice"]
    gin, graphs = _network(case, torch.float32), _graphs(case, torch.float32)
    alone, both = [], []
    for chosen in (torch.tensor([3, 0]), torch.tensor([1, 3])):
        found = gin_pass.read_outs(gin, graphs, chosen)
        alone.append(torch.autograd.grad(found.square().sum(), list(gin.parameters())))
        both.append(gin_pass.read_outs(gin, graphs, chosen).square().sum())
    together = torch.autograd.grad(both[0] + both[1], list(gin.parameters()))
    for first, second, total in zip(*alone, together, strict=True):
        torch.testing.assert_close(first + second, total)


def test_large_passes_are_left_to_several_threads() -> None:
    case = CASES["as FAITH's"]
    gin, graphs, threads = _network(case, torch.float32), _graphs(case, torch.float32), torch.get_num_threads()
    few, many = torch.zeros(60, dtype=torch.int64), torch.zeros(500, dtype=torch.int64)
    try:
        for count, taken in ((1, True), (2, False)):
            torch.set_num_threads(count)
            assert is_compiled_for(gin, graphs, few)
            assert is_compiled_for(gin, graphs, many) is taken
    finally:
        torch.set_num_threads(threads)
