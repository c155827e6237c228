from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fsgc.data.encodings import FeatureTable
from fsgc.methods.maml.hessian import hessian_product
from fsgc.methods.maml.scorer import cross_entropy_error
from fsgc.nn.graph_tensors import GraphTensors
from tests.methods.maml.written_out import LABELS, VARIANTS, WAY, Setting
from tests.nn.episode_nets import make_tensors
from tests.nn.oracle import mixed_store

pytestmark = pytest.mark.usefixtures("double")


def _compare(setting: Setting, plain: GraphTensors) -> None:
    target = F.one_hot(LABELS, WAY).double()
    run = setting.network.run(setting.vectors(setting.weights))
    torch.testing.assert_close(run.scored.logits, setting.plain_logits(plain).detach(), rtol=1e-9, atol=1e-10)
    error, share = cross_entropy_error(run.scored.logits, target, WAY)
    grad, pull = setting.network.gradient(run, error)
    theirs = setting.plain_gradients(plain)
    setting.same(grad, theirs)
    direction = {name: torch.randn_like(weight) for name, weight in setting.weights.items()}
    along = torch.stack([(a * b).sum() for a, b in zip(theirs, direction.values(), strict=True)]).sum()
    product = hessian_product(setting.network, run, pull, share, WAY, setting.vectors(direction))
    setting.same(product, list(torch.autograd.grad(along, list(setting.weights.values()))))


@pytest.mark.parametrize("changes", [variant for variant in VARIANTS if variant.get("norm") != "episode"])
def test_logits_gradients_and_hessian_products_are_those_of_autograd(changes: dict[str, Any]) -> None:
    tensors = make_tensors()
    _compare(Setting(tensors, **changes), tensors)


def test_the_norm_over_whole_episodes_as_well() -> None:
    tensors = make_tensors()
    _compare(Setting(tensors, norm="episode"), tensors)


@pytest.mark.parametrize("one_hot", [True, False])
def test_wide_features_as_codes_are_the_same_as_rows(one_hot: bool) -> None:
    store = mixed_store()
    codes = np.arange(int(store.node_ptr[-1])) % 70
    table = (torch.eye(70) if one_hot else torch.randn(70, 66, generator=torch.Generator().manual_seed(0))).numpy()
    tensors = GraphTensors(store, FeatureTable(table, codes))
    assert tensors.features.code is not None
    _compare(Setting(tensors, one_hot), GraphTensors(store, torch.from_numpy(table[codes])))
