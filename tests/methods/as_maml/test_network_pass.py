"""The pass through the network against PyG's layers, one episode at a time; gradients and Hessians against autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from fsgc.data.graph_store import GraphStore
from fsgc.methods.as_maml.curvature import plus_curvature
from fsgc.methods.as_maml.network_pass import backward, forward, losses_of, node_information
from fsgc.methods.as_maml.pooled_graphs import PooledGraphs
from fsgc.methods.as_maml.sag_network import SagNetwork
from fsgc.methods.as_maml.stacked_weights import Layer, StackedWeights
from fsgc.nn.graph_tensors import GraphTensors
from tests.nn.oracle import features, mixed_store
from tests.oracles.as_maml import RATIO, PlainNetwork, plain_input

pytestmark = pytest.mark.usefixtures("double")
EPISODES = torch.tensor([[3, 9, 8, 2], [1, 0, 10, 5], [11, 7, 6, 9]])
"""Episodes of very different sizes, with a graph of one node, one without edges, and one that is in two episodes."""
LABELS = torch.tensor([[0, 1, 2, 0], [2, 2, 1, 0], [1, 0, 0, 2]])


class Case:
    """Networks of different weights, one an episode, stacked, and the same on PyG."""

    def __init__(self, levels: int, root_weight: bool) -> None:
        torch.manual_seed(0)
        store = mixed_store()
        x = features(store, 4)
        self.root_weight = root_weight
        networks = [SagNetwork(4, 6, levels, 3, root_weight) for _ in EPISODES]
        self.weights = self.stack(networks)
        self.graphs = PooledGraphs.make(GraphTensors(store, x), EPISODES, levels, RATIO, root_weight)
        self.direction = self.stack([SagNetwork(4, 6, levels, 3, root_weight) for _ in EPISODES])
        self.plain = [PlainNetwork(4, 6, levels, 3, root_weight) for _ in EPISODES]
        for plain, network in zip(self.plain, networks, strict=True):
            plain.load(network)
        self.inputs = [plain_input(store, x, graphs) for graphs in EPISODES]

    @staticmethod
    def stack(networks: list[SagNetwork]) -> StackedWeights:
        """One network an episode."""
        parts = [network.stacked(1) for network in networks]
        return StackedWeights(
            *(
                tuple(Layer(*map(torch.cat, zip(*same, strict=True))) for same in zip(*kinds, strict=True))
                for kinds in zip(*parts, strict=True)
            )
        )

    def of_episode(self, stacked: StackedWeights, episode: int) -> dict[str, Tensor]:
        """What stacked weights or gradients are for one episode, by PyG's names."""
        alone = StackedWeights(
            *(tuple(Layer(*(part[episode, None] for part in layer)) for layer in kind) for kind in stacked)
        )
        names = self.plain[episode].names()
        return {names[name]: value for name, value in alone.mean(self.root_weight).items()}


@pytest.mark.parametrize("root_weight", [True, False])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_pass_and_gradient_are_those_of_pyg(levels: int, root_weight: bool) -> None:
    case = Case(levels, root_weight)
    done = forward(case.weights, case.graphs, information=True)
    losses, grad = losses_of(done.logits, LABELS)
    moved, _ = backward(done, case.weights, grad, case.weights, -0.3)
    assert done.information is not None
    for episode, plain in enumerate(case.plain):
        logits, information, sizes = plain(*case.inputs[episode])
        torch.testing.assert_close(done.logits[episode], logits.detach())
        torch.testing.assert_close(done.information[episode], information.detach())
        for pooling, size in zip(case.graphs.poolings, sizes, strict=True):
            assert pooling.after.counts[episode].tolist() == size.tolist()
        loss = F.cross_entropy(logits, LABELS[episode])
        torch.testing.assert_close(losses[episode], loss.detach())
        loss.backward()  # type: ignore[no-untyped-call]
        mine = case.of_episode(moved, episode)
        assert set(mine) == set(plain.names().values())
        for name, value in mine.items():
            weight = plain.get_parameter(name)
            assert weight.grad is not None
            torch.testing.assert_close(value, (weight - 0.3 * weight.grad).detach())


@pytest.mark.parametrize("root_weight", [True, False])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_hessian_is_that_of_pyg_differentiated_twice(levels: int, root_weight: bool) -> None:
    case = Case(levels, root_weight)
    done = forward(case.weights, case.graphs)
    _, grad = losses_of(done.logits, LABELS)
    _, back = backward(done, case.weights, grad, case.weights, -0.3)
    curved = plus_curvature(done, back, case.weights, case.direction, 2.0)
    for episode, plain in enumerate(case.plain):
        weights: dict[str, Tensor] = {name: plain.get_parameter(name) for name in plain.names().values()}
        loss = F.cross_entropy(functional_call(plain, weights, case.inputs[episode])[0], LABELS[episode])
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        direction = case.of_episode(case.direction, episode)
        along = sum((grad * direction[name]).sum() for name, grad in zip(weights, grads, strict=True))
        assert isinstance(along, Tensor)
        twice = torch.autograd.grad(along, list(weights.values()))
        assert max(float(part.abs().max()) for part in twice) > 1e-3, "there must be something to compare"
        mine = case.of_episode(curved, episode)
        for name, part in zip(weights, twice, strict=True):
            torch.testing.assert_close(mine[name], direction[name] + 2 * part)


def test_an_episode_that_has_diverged_leaves_the_others_alone() -> None:
    case = Case(3, False)
    logits = forward(case.weights, case.graphs).logits
    case.weights.convs[0].weight[1] = math.nan
    spoiled = forward(case.weights, case.graphs).logits
    assert spoiled[1].isnan().all()
    torch.testing.assert_close(spoiled[[0, 2]], logits[[0, 2]])


def test_node_information_on_a_path() -> None:
    """Three nodes in a row with x = (1, 2, 4): |1 - 2/√2| + |2 - 1/√2 - 4/√2| + |4 - 2/√2|, over three nodes."""
    sizes, source, target, y = (np.array(values) for values in ([3, 1], [0, 1], [1, 2], [0, 0]))
    store = GraphStore.from_edges(sizes, source, target, y)
    x = torch.tensor([[1.0], [2.0], [4.0], [100.0]])
    graphs = PooledGraphs.make(GraphTensors(store, x), torch.tensor([[0], [1]]), 1, 1.0, root=False)
    root = math.sqrt(2)
    expected = (abs(1 - 2 / root) + abs(2 - 5 / root) + abs(4 - 2 / root)) / 3
    rows = graphs.poolings[0].after.place(x)
    information = node_information(rows, graphs.near, graphs.poolings[0])
    torch.testing.assert_close(information, torch.tensor([expected, 100.0]))
