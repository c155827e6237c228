"""A GIN with a read-out per layer as public code has it, on PyG's layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from fsgc.episodes.batches import Episodes
from fsgc.nn.convs import GINConv as OurConv
from fsgc.nn.gin_read_outs import GINReadOuts
from tests.oracles.embedder import plain_name


class PlainBatchNormMLP(nn.Module):
    """Two linear layers with batch norm and ReLU between them."""

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(in_width, width), nn.Linear(width, width)])
        self.norms = nn.ModuleList([_named_norm(width)])

    def forward(self, x: Tensor) -> Tensor:
        """`[n, in]` to `[n, width]`."""
        return self.linears[1](F.relu(self.norms[0]["norm"](self.linears[0](x))))  # type: ignore[index]


class PlainGIN(nn.Module):
    """The counterpart of `GINReadOuts` with batch norm, sums and MLPs of two layers; its weights are to be set."""

    def __init__(self, ours: GINReadOuts) -> None:
        super().__init__()
        width = ours.width
        convs = [conv for conv in ours.convs if isinstance(conv, OurConv)]
        self.convs = nn.ModuleList(
            GINConv(PlainBatchNormMLP(conv.first.in_features, width), train_eps=conv.eps is not None) for conv in convs
        )
        self.norms = nn.ModuleList(_named_norm(width) for _ in ours.convs)

    def forward(self, graphs: list[Data]) -> list[Tensor]:
        """The read-out of every layer, `[g, d]` each."""
        batch = Batch.from_data_list(graphs)
        h, read_outs = batch.x, []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = F.relu(norm["norm"](conv(h, batch.edge_index)))  # type: ignore[index]
            read_outs.append(global_add_pool(h, batch.batch))
        return read_outs


def _named_norm(width: int) -> nn.ModuleDict:
    """Batch norm under the name that ours has."""
    return nn.ModuleDict({"norm": nn.BatchNorm1d(width)})


def copy_state(ours: nn.Module, plain: nn.Module) -> None:
    """Give the oracle the weights and the running statistics of a network of ours."""
    mine = {plain_name(name): value for name, value in ours.state_dict().items()}
    kept = {name: value for name, value in plain.state_dict().items() if name in mine or not name.endswith(".eps")}
    # An ε that is not learned is a buffer of PyG's, 0, and nothing at all of ours.
    plain.load_state_dict({name: mine[name].reshape(value.shape) for name, value in kept.items()}, strict=False)


class DataCache:
    """The graphs of a dataset as PyG's `Data`, made when first asked for."""

    def __init__(self, episodes: Episodes, device: torch.device | str = "cpu") -> None:
        self.episodes, self.device = episodes, device
        self._made: dict[int, Data] = {}

    def __call__(self, graphs: Tensor) -> list[Data]:
        """The given graphs, of any shape, in order."""
        listed = graphs.flatten().tolist()
        for graph in listed:
            if graph not in self._made:
                data = self.episodes.graphs.to_data(graph, self.episodes.features)
                x = data.x.to(torch.get_default_dtype())
                self._made[graph] = Data(x=x, edge_index=data.edge_index).to(self.device)
        return [self._made[graph] for graph in listed]
