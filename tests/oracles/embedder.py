"""The embedder of the paper on plain PyG layers, and its weights under our names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, GraphNorm, global_add_pool, global_mean_pool

from fsgc.episodes.batches import Episodes
from fsgc.nn.settings import EmbedderSettings

Film = tuple[Tensor, Tensor]
_NAMES = (  # our name of a weight, that of the oracle
    (r"(convs\.\d+)\.first\.", r"\1.nn.linears.0."),
    (r"(convs\.\d+)\.others\.(\d+)\.", lambda found: f"{found[1]}.nn.linears.{int(found[2]) + 1}."),
    (r"(convs\.\d+)\.norms\.", r"\1.nn.norms."),
    (r"(convs\.\d+)\.weight$", r"\1.lin.weight"),
    (r"(convs\.\d+)\.att_source$", r"\1.att_src"),
    (r"(convs\.\d+)\.att_target$", r"\1.att_dst"),
    (r"^conditioner\.(scale|shift)\.block\.0\.", r"conditioner.\1.first."),
    (r"^conditioner\.(scale|shift)\.block\.2\.", r"conditioner.\1.second."),
    (r"^conditioner\.(scale|shift)\.block\.4\.", r"conditioner.\1.third."),
    (r"^hierarchy\.(sample|prototype)\.", r"\1_"),
    (r"^hierarchy\.task\.", "task_features."),
)


class PlainMLP(nn.Module):
    """The MLP of a GIN convolution: GraphNorm and ReLU between the linear layers."""

    def __init__(self, in_width: int, width: int, layers: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(in_width if i == 0 else width, width) for i in range(layers))
        self.norms = nn.ModuleList(GraphNorm(width) for _ in range(layers - 1))
        self.batch = torch.zeros(0)

    def forward(self, x: Tensor) -> Tensor:
        """`[n, in]` to `[n, width]`; the graph of each node is set by the embedder."""
        for index, linear in enumerate(self.linears):
            if index:
                x = F.relu(self.norms[index - 1](x, self.batch))
            x = linear(x)
        return x


class PlainEmbedder(nn.Module):
    """Graphs to vectors; GraphNorm, mean or sum pooling."""

    def __init__(self, num_features: int, settings: EmbedderSettings) -> None:
        super().__init__()
        self.settings = settings
        width, count = settings.width, settings.num_convs
        self.convs = nn.ModuleList(self._conv(num_features if i == 0 else width) for i in range(count))
        self.jump = nn.ModuleDict({"linear": nn.Linear(num_features + count * width, width)})
        self.jump["norm"] = nn.LayerNorm(width)
        self.out = nn.Linear(width, width)

    def _conv(self, in_width: int) -> nn.Module:
        settings, width = self.settings, self.settings.width
        if settings.conv == "gin":
            return GINConv(PlainMLP(in_width, width, settings.gin_mlp_layers), train_eps=settings.learnable_eps)
        return (GATConv if settings.conv == "gat" else GCNConv)(in_width, width)

    def forward(self, batch: Batch, film: Film | None = None) -> Tensor:
        """Embed the graphs of a PyG batch, `[g, d]`; `film` are scales and shifts `[g, L+1, d]`."""
        h, layers = batch.x, [batch.x]
        for index, conv in enumerate(self.convs):
            if isinstance(conv, GINConv):
                conv.nn.batch = batch.batch
            h = _modulate(conv(h, batch.edge_index), film, index, batch.batch)
            h = F.dropout(h, self.settings.dropout, self.training)
            layers.append(h)
        h = self.out(F.relu(self.jump["norm"](self.jump["linear"](torch.cat(layers, 1)))))
        h = _modulate(h, film, len(self.convs), batch.batch)
        pool = global_mean_pool if self.settings.pooling == "mean" else global_add_pool
        return pool(h, batch.batch)


def _modulate(h: Tensor, film: Film | None, layer: int, batch: Tensor) -> Tensor:
    if film is None:
        return h
    gamma, beta = (values[:, layer][batch] for values in film)
    return gamma * h + beta


def plain_name(name: str) -> str:
    """The name that the oracles give to the weight which we call `name`."""
    for ours, theirs in _NAMES:
        name = re.sub(ours, theirs, name)
    return name


def pairs(ours: nn.Module, plain: nn.Module) -> Iterator[tuple[str, nn.Parameter, nn.Parameter]]:
    """Our name of every weight, the weight and that of the oracle; each has to have a partner."""
    theirs = dict(plain.named_parameters())
    for name, weight in ours.named_parameters():
        yield name, weight, theirs.pop(plain_name(name))
    assert not theirs, f"only the oracle has {', '.join(theirs)}"


def copy_weights(ours: nn.Module, plain: nn.Module) -> None:
    """Give the oracle the weights of a network of ours; both must be made with the same settings."""
    with torch.no_grad():
        for _, weight, theirs in pairs(ours, plain):
            theirs.copy_(weight.reshape(theirs.shape))


def largest_gradient(module: nn.Module) -> float:
    """The largest number among all gradients."""
    return max(float(weight.grad.abs().max()) for weight in module.parameters() if weight.grad is not None)


def assert_same_gradients(ours: nn.Module, plain: nn.Module, rtol: float, atol: float) -> None:
    """The gradient of each weight is that of the oracle's weight of the same name."""
    for name, weight, theirs in pairs(ours, plain):
        assert weight.grad is not None, name
        assert theirs.grad is not None, name
        torch.testing.assert_close(
            weight.grad,
            theirs.grad.reshape(weight.shape),
            rtol=rtol,
            atol=atol,
            msg=lambda text, name=name: f"{name}: {text}",  # type: ignore[misc]
        )


def collate(episodes: Episodes, cache: dict[int, Data], graphs: Tensor) -> Batch:
    """A PyG batch of the given graphs, whose `Data` objects are kept in `cache`."""
    for graph in graphs.flatten().tolist():
        if graph not in cache:
            cache[graph] = episodes.graphs.to_data(graph, episodes.features)
    batch = Batch.from_data_list([cache[graph] for graph in graphs.flatten().tolist()])
    return batch.to(batch.x.device)  # on a device other than CUDA, PyG leaves part of it on the host
