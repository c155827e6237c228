"""Neural building blocks: graph batches, convolutions, norms, pooling, FiLM and the embedder made of them."""

from fsgc.nn.batch import GraphBatch, GraphTensors
from fsgc.nn.embed import embed_graphs
from fsgc.nn.embedder import Embedder
from fsgc.nn.film import Film
from fsgc.nn.norms import Groups
from fsgc.nn.settings import EmbedderSettings

__all__ = ["Embedder", "EmbedderSettings", "Film", "GraphBatch", "GraphTensors", "Groups", "embed_graphs"]
