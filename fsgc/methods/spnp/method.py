"""SPNP (`spnp`): a neural process over prototypical networks, as far as its abstract tells.

SPNP (IEEE TNNLS 2022) has no released code, and its text is not open. What its abstract leaves out is ours, and the row
claims nothing about the published accuracies.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from fsgc.episodes.batches import EpisodeBatch
from fsgc.errors import SettingsError
from fsgc.methods.contract import TaskShape
from fsgc.methods.learned import LearnedMethod, Loss, accuracy, cross_entropy
from fsgc.methods.spnp.process import Decoder, Gaussian, LatentPath, PairEncoder, SelfAttention
from fsgc.nn.compiled_embedder import embed_distinct
from fsgc.nn.distance import squared_distances
from fsgc.nn.embedder import Embedder
from fsgc.nn.settings import EmbedderSettings
from fsgc.random import generator
from fsgc.settings import NonNegative, Positive, settings


@settings
class SpnpSettings(EmbedderSettings):
    """Hyperparameters; those of the embedder are explained in `EmbedderSettings`.

    Attributes:
        lr: learning rate of Adam.
        scale: start of the learnable temperature α.
        kl_weight: of the divergence, which is divided by the number of queries as the likelihood is.
        test_samples: latent variables that the probabilities of test and validation are averaged over.
        latent_path: whether there is `z`.
        deterministic_path: whether there is `r`; without either path the decoder is the identity.
        self_attention: whether the supports of a class attend to each other; without all three it is PN.
    """

    lr: Positive = 1e-4
    scale: Positive = 7.5
    kl_weight: NonNegative = 1.0
    test_samples: Annotated[int, Field(ge=1, le=1000)] = 10
    latent_path: bool = True
    deterministic_path: bool = True
    self_attention: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm == "episode":
            raise SettingsError("norm must not be 'episode': spnp embeds each graph by itself", key="norm")


class PrototypicalNeuralProcess(LearnedMethod):
    """Embed, decode with what the supports tell of the episode, attend within classes, score by distance.

    The supports with their labels give `r`, a vector, and `z`, a random one; the decoder moves every embedding by
    them. Training draws `z` from the supports and the queries, labels included, and is charged for what it then knows
    more than from the supports; test and validation know the supports only.
    """

    settings_type = SpnpSettings
    section = "spnp"
    episodes_at_once = 500

    def __init__(self, shape: TaskShape, settings: SpnpSettings) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        self.embedder = Embedder(shape.num_features, settings)
        self.scale = nn.Parameter(torch.tensor(float(settings.scale)))
        self.latent = LatentPath(width) if settings.latent_path else None
        self.deterministic = PairEncoder(width) if settings.deterministic_path else None
        paths = settings.latent_path + settings.deterministic_path
        self.decoder = Decoder(width, paths) if paths else None
        self.attention = SelfAttention(width) if settings.self_attention else None

    def loss(self, batch: EpisodeBatch) -> Loss:
        """Negative log-likelihood of the queries for one draw of `z`, and the divergence of what it is drawn from."""
        h, shots = self._embed(batch.graphs), batch.shots
        code = h[:, :, :shots].mean(2)
        parts, z = {}, None
        if self.latent is not None:
            encoded = self.latent.encoder(h, code)
            posterior, prior = self.latent.given(encoded), self.latent.given(encoded[:, :, :shots])
            z = posterior.at(torch.randn_like(posterior.mean).unsqueeze(0))
            divergence = posterior.divergence(prior).mean() / batch.labels.shape[1]
            parts["divergence"] = self.settings.kl_weight * divergence
        scores = self._scores(self._decode(h, code, shots, z), shots)[0]
        parts["cross_entropy"] = cross_entropy(scores, batch)
        return Loss(torch.stack(list(parts.values())).sum(), accuracy(scores, batch.labels), parts)

    def predict(self, episodes: EpisodeBatch) -> Tensor:
        """Logarithms of the class probabilities of every query, averaged over draws of `z`: `[B, N·Q, N]`."""
        h, shots = self._embed(episodes.graphs), episodes.shots
        code = h[:, :, :shots].mean(2)
        z = self._from_supports(h, code, shots)
        # The same noise for all episodes: what comes of one does not depend on the others.
        drawn = None if z is None else z.at(self._test_noise(h).unsqueeze(1))
        log_probabilities = self._scores(self._decode(h, code, shots, drawn), shots).log_softmax(-1)
        return log_probabilities.logsumexp(0) - math.log(len(log_probabilities))

    def embed(self, episodes: EpisodeBatch) -> Tensor:
        """The decoded embeddings for the mean of `z`, `[B, N, K+Q, d]`."""
        h, shots = self._embed(episodes.graphs), episodes.shots
        code = h[:, :, :shots].mean(2)
        z = self._from_supports(h, code, shots)
        return self._decode(h, code, shots, None if z is None else z.mean.unsqueeze(0))[0]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.settings.lr)

    def _embed(self, graphs: Tensor) -> Tensor:
        """The PN embeddings, each distinct graph embedded once: `[B, N, M]` to `[B, N, M, d]`."""
        return embed_distinct(self.embedder, self.graphs, graphs)

    def _from_supports(self, h: Tensor, code: Tensor, shots: int) -> Gaussian | None:
        """q(z | supports)."""
        return None if self.latent is None else self.latent(h[:, :, :shots], code)

    def _decode(self, h: Tensor, code: Tensor, shots: int, z: Tensor | None) -> Tensor:
        """`u` of all graphs for the draws `z` `[S, B, d]`: `[S, B, N, M, d]`."""
        if self.decoder is None:
            return h.unsqueeze(0)
        paths = [] if z is None else [z]
        if self.deterministic is not None:
            r = self.deterministic(h[:, :, :shots], code).mean((1, 2))
            paths.append(r.expand(len(z) if z is not None else 1, *r.shape))
        decoded: Tensor = self.decoder(h, torch.cat(paths, -1))
        return decoded

    def _scores(self, u: Tensor, shots: int) -> Tensor:
        """−α‖u − p‖² of the queries of `[S, B, N, M, d]`: `[S, B, N·Q, N]`."""
        samples, episodes, way, _, width = u.shape
        supports = u[:, :, :, :shots]
        prototypes = (supports if self.attention is None else self.attention(supports)).mean(3)
        queries = u[:, :, :, shots:].reshape(samples * episodes, -1, width)
        distances = squared_distances(queries, prototypes.reshape(samples * episodes, way, width))
        return -self.scale * distances.view(samples, episodes, -1, way)

    def _test_noise(self, like: Tensor) -> Tensor:
        """Standard normal numbers `[S, d]`, always the same."""
        drawn = generator("spnp-test").standard_normal((self.settings.test_samples, self.settings.width))
        return torch.from_numpy(drawn).to(like)
