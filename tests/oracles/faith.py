"""FAITH as public code does it: a GIN pass per task, loops over tasks, classes and queries."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from fsgc.methods.faith.method import Faith
from tests.oracles.gin import PlainGIN, copy_state

Task = list[list[Data]]
"""`[N][K+Q]` graphs."""


class PlainFaith(nn.Module):
    """Either row, with the weights of one of ours; one episode and its support tasks at a time.

    Args:
        ours: whose weights to take.
        pass_per_task: whether the GIN is run for each task by itself, as in the released code, or for all at once, so
            that batch norm sees what ours does where no graph occurs twice.
    """

    def __init__(self, ours: Faith, pass_per_task: bool = False) -> None:
        super().__init__()
        self.gin = PlainGIN(ours.gin)
        self.pass_per_task = pass_per_task
        self.threshold = ours.settings.threshold
        self.inductive = not ours.transductive
        self.rate = ours.settings.dropout
        embedding, width = ours.classifier.in_features, ours.settings.width
        self.sample_features, self.sample_score = nn.Linear(embedding, width), nn.Linear(embedding, 1)
        self.prototype_features, self.prototype_score = nn.Linear(width, width), nn.Linear(width, 1)
        self.task_features = nn.Linear(width, width)
        self.classifier = nn.Linear(embedding, ours.classifier.out_features)
        copy_state(ours, self)

    def embed(self, tasks: list[Task]) -> list[list[Tensor]]:
        """Embeddings `[K+Q, in]` of every class of every task."""
        listed = [[graph for graphs in task for graph in graphs] for task in tasks]
        if self.pass_per_task:
            rows = [torch.cat(self.gin(graphs), 1) for graphs in listed]
        else:
            every = torch.cat(self.gin([graph for graphs in listed for graph in graphs]), 1)
            rows = list(torch.split(every, [len(graphs) for graphs in listed]))
        return [list(torch.split(z, [len(graphs) for graphs in task])) for z, task in zip(rows, tasks, strict=True)]

    def connect(self, similarity: Tensor) -> Tensor:
        """Weights of the edges, row by row."""
        return (similarity - 1e9 * (similarity <= self.threshold)).softmax(-1)

    @staticmethod
    def similarities(x: Tensor) -> Tensor:
        """Cosines of all pairs."""
        return F.cosine_similarity(x[:, None], x[None], dim=2)

    def sample_level(self, z: list[list[Tensor]], shots: int) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
        """Features `[K+Q, d]` and scores `[K+Q]` of every class of every task."""
        flat = torch.cat([rows for task in z for rows in task])
        owner, is_support = [], []
        for number, rows in enumerate(rows for task in z for rows in task):
            owner += [number] * len(rows)
            is_support += [place < shots for place in range(len(rows))]
        support = torch.tensor(is_support)
        unit = flat / flat.norm(dim=1, keepdim=True)
        similarity = unit @ unit.T
        same = torch.tensor(owner)[:, None] == torch.tensor(owner)[None]
        similarity = similarity + (same & support[:, None] & support[None]).to(similarity)
        if self.inductive:
            seen = support[None] | torch.eye(len(flat), dtype=torch.bool)
            similarity = similarity.masked_fill(~seen, -1.0)
        weights = self.connect(similarity)
        features = F.leaky_relu(weights @ self.sample_features(flat), 0.01)
        scores = (weights @ self.sample_score(flat)).flatten()
        sizes = [[len(rows) for rows in task] for task in z]
        split_features, split_scores = (
            list(part.split([n for task in sizes for n in task])) for part in (features, scores)
        )
        by_task = [[[part.pop(0) for _ in task] for task in sizes] for part in (split_features, split_scores)]
        return by_task[0], by_task[1]

    def prototypes(self, features: list[list[Tensor]], scores: list[list[Tensor]], shots: int) -> list[list[Tensor]]:
        """`[d]` for every class of every task."""
        return [
            [sum((w * row for w, row in zip(score[:shots].softmax(0), rows[:shots], strict=True)), torch.zeros(()))
             for rows, score in zip(*pair, strict=True)]
            for pair in zip(features, scores, strict=True)
        ]  # fmt: skip

    def task_inputs(self, prototypes: list[list[Tensor]]) -> list[Tensor]:
        """`[d]` for every task."""
        flat = torch.stack([p for task in prototypes for p in task])
        weights = self.connect(self.similarities(flat))
        features = F.leaky_relu(weights @ self.prototype_features(flat), 0.01)
        scores = (weights @ self.prototype_score(flat)).flatten()
        way, found = len(prototypes[0]), []
        for task in range(len(prototypes)):
            mine = slice(task * way, (task + 1) * way)
            found.append(F.dropout(scores[mine].softmax(0) @ features[mine], self.rate, self.training))
        return found

    def task_vectors(self, inputs: list[Tensor]) -> list[Tensor]:
        """`[d]` for every task."""
        flat = torch.stack(inputs)
        weights = self.connect(self.similarities(flat))
        vectors = F.leaky_relu(weights @ self.task_features(flat), 0.01)
        return [F.dropout(row, self.rate, self.training) for row in vectors]

    def forward(self, tasks: list[Task], shots: int) -> tuple[list[Tensor], list[list[Tensor]]]:
        """Scores `[N·Q, N]` of every task, and the embeddings."""
        z = self.embed(tasks)
        features, scores = self.sample_level(z, shots)
        prototypes = self.prototypes(features, scores, shots)
        vectors = self.task_vectors(self.task_inputs(prototypes))
        result = []
        for rows, ps, t in zip(features, prototypes, vectors, strict=True):
            squares = [(torch.stack(ps)[None] - one[shots:, None]) ** 2 for one in rows]
            result.append(torch.cat([-(square @ torch.sigmoid(t)) for square in squares]))
        return result, z

    def loss(self, tasks: list[Task], classes: list[int], shots: int, weight: float) -> Tensor:
        """Cross-entropy over the queries of all tasks, and that of the classifier on the first task's classes."""
        scores, z = self(tasks, shots)
        labels = torch.cat([torch.tensor([c] * (len(rows) - shots)) for task in z for c, rows in enumerate(task)])
        logits = torch.stack([self.classifier(rows[:shots].mean(0)) for rows in z[0]])
        first: Tensor = F.cross_entropy(torch.cat(scores), labels)
        return first + weight * F.cross_entropy(logits, torch.tensor(classes))
