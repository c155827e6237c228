"""Descriptors and the discriminant's head against plain loops: networkx per graph, NumPy per episode.

For every dataset whose graphs are stored here, also the seconds of one core that all its views and 5000 episodes of its
base classes take, beside what is aimed at.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np
import torch

from benchmarks.timing import report, seconds
from fsgc.arrays import Floats, Ints
from fsgc.data.catalog import dataset
from fsgc.data.descriptors.store import DescriptorSettings, LabelKinds, compute_descriptors
from fsgc.data.graph_store import GraphStore
from fsgc.data.triangles import generate_triangles
from fsgc.episodes.sampling import sample_episodes
from fsgc.methods.discriminant.graph_data import GraphData
from fsgc.methods.discriminant.model import FittedPart, episode_scores
from fsgc.methods.discriminant.search import Part
from fsgc.methods.discriminant.views import VIEWS
from fsgc.workspace import Workspace

GRAPHS = 100
"""Graphs described by networkx; the time is scaled to all."""
EPISODES, SOME, SHOTS, QUERIES, TAU = 5000, 250, 5, 15, 0.1
WIDTH = 600
"""Numbers a graph, about as many as four views have."""
AIMS = {  # dataset -> seconds that all views, and 5000 episodes, should take at most
    "triangles": (5, 2),
    "letter_high": (5, 2),
    "enzymes": (5, 2),
    "reddit": (30, 2),
    "graph_r52": (30, 2),
    "coil_del": (5, 10),
}


def plain_descriptors(network: nx.Graph) -> list[float]:
    """What takes long of a graph's descriptors: counts, components, spectra, walks and paths, as one would write it."""
    degree = np.array([d for _, d in network.degree])
    adjacency = nx.to_numpy_array(network)
    values = [
        float(len(network)),
        float(network.size()),
        nx.density(network),
        sum(nx.triangles(network).values()) / 3,
        float(sum(len(cycle) == 4 for cycle in nx.simple_cycles(network, length_bound=4))),
        nx.transitivity(network),
        nx.average_clustering(network),
        float(nx.number_connected_components(network)),
        nx.degree_assortativity_coefficient(network),
        *np.quantile(degree, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]),
        *np.linalg.eigvalsh(adjacency)[-9:],
        *np.linalg.eigvalsh(np.diag(degree) - adjacency)[-9:],
    ]
    eigenvalues = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(network).toarray())
    values += [float(np.exp(-time * eigenvalues).mean()) for time in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)]
    walk = adjacency / np.maximum(degree, 1)
    power = np.eye(len(walk))
    for _ in range(8):
        power = power @ walk
        values += [float(np.diagonal(power).mean()), float(np.diagonal(power).std())]
    paths: Counter[tuple[int, int, int]] = Counter()
    for one, distances in nx.all_pairs_shortest_path_length(network):
        for other, distance in distances.items():
            low, high = sorted((int(degree[one]), int(degree[other])))
            paths[low, high, distance] += 1
    return [*values, *map(float, paths.values())]


def plain_scores(vectors: Floats, episodes: Ints) -> list[Floats]:
    """The head, an episode at a time, by its formula."""
    result = []
    for episode in episodes:
        support, query = vectors[episode[:, :SHOTS]], vectors[episode[:, SHOTS:].ravel()]
        means = support.mean(axis=1)
        residuals = (support - means[:, None]).reshape(-1, vectors.shape[1])
        shrunken = np.eye(vectors.shape[1]) + residuals.T @ residuals / (TAU * (residuals**2).sum(axis=1).mean())
        apart = query[:, None] - means
        solved = np.linalg.solve(shrunken, apart.reshape(-1, vectors.shape[1]).T).T.reshape(apart.shape)
        result.append(-(apart * solved).sum(axis=2))
    return result


def networks(graphs: GraphStore) -> list[nx.Graph]:
    """Every graph as a networkx graph."""
    result = []
    for size, edges in zip(graphs.num_nodes, np.split(graphs.edge_index, graphs.edge_ptr[1:-1], axis=1), strict=True):
        network = nx.empty_graph(int(size))
        network.add_edges_from(edges.T.tolist())
        result.append(network)
    return result


def processor_seconds(work: Callable[[], object], repeats: int) -> float:
    """The least time of the processor of `repeats` runs: what other programs do counts less than for the clock."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def all_views(graphs: GraphStore, known: Ints) -> list[Floats]:
    """The descriptors of all graphs, and the scaled rows of every view in every scaling."""
    data = GraphData(graphs, compute_descriptors(graphs, LabelKinds.of(graphs, known, DescriptorSettings().max_labels)))
    parts = [Part(name, scaling) for name, view in VIEWS.items() if view.applies(data) for scaling in view.scalings]
    return [FittedPart.fit(part, data, known).rows(data) for part in parts]


def stored(key: str, views_aim: float, episodes_aim: float) -> None:
    """Print what one dataset takes, if its graphs are stored; its base classes alone are looked at."""
    path = Workspace.find().graphs(key)
    if not path.exists():
        print(f"{key}: its graphs are not stored here; run 'fsgc build {key}'", flush=True)
        return
    entry, graphs = dataset(key), GraphStore.load(path)
    known = np.flatnonzero(np.isin(graphs.y, entry.base))
    taken = processor_seconds(lambda: all_views(graphs, known), 1 if views_aim > 10 else 2)
    print(f"{key}: all views of {len(graphs)} graphs {taken:.2f} s (aim {views_aim:g} s)", flush=True)
    pools = [np.flatnonzero(graphs.y == c) for c in entry.base]
    vectors = torch.from_numpy(np.random.default_rng(0).normal(size=(len(graphs), WIDTH)))
    for shots in (5, 10):
        queries = min(QUERIES, min(map(len, pools)) - shots)
        drawn = sample_episodes(pools, EPISODES, entry.way, shots + queries, ("bench", key, shots))
        episodes = torch.from_numpy(drawn.astype(np.int64))
        taken = processor_seconds(partial(episode_scores, vectors, episodes, shots, TAU), 2)
        print(f"{key}: {EPISODES} {shots}-shot episodes {taken:.2f} s (aim {episodes_aim:g} s)", flush=True)


def main() -> None:
    """Time both."""
    entry, graphs = dataset("triangles_gen"), generate_triangles()
    some = networks(graphs.select(np.arange(GRAPHS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networkx divides by zero for regular graphs
        plain = seconds(lambda: [plain_descriptors(network) for network in some], 2) * len(graphs) / GRAPHS
    ours = seconds(lambda: compute_descriptors(graphs, LabelKinds()), 3)
    report(f"descriptors of {len(graphs)} graphs, against networkx ({GRAPHS} timed, scaled)", ours, plain)
    pools = [np.flatnonzero(graphs.y == c) for c in entry.novel]
    episodes = sample_episodes(pools, EPISODES, entry.way, SHOTS + QUERIES, ("bench", 0)).astype(np.int64)
    vectors = np.random.default_rng(0).normal(size=(len(graphs), 128))
    theirs = np.stack(plain_scores(vectors, episodes[:SOME]))
    found = episode_scores(torch.from_numpy(vectors), torch.from_numpy(episodes[:SOME]), SHOTS, TAU)
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    ours = seconds(lambda: episode_scores(torch.from_numpy(vectors), torch.from_numpy(episodes), SHOTS, TAU), 3)
    plain = seconds(lambda: plain_scores(vectors, episodes[:SOME]), 2) * EPISODES / SOME
    report(f"head of {EPISODES} episodes, 128 numbers a graph ({SOME} timed, scaled)", ours, plain)
    for key, (views_aim, episodes_aim) in AIMS.items():
        stored(key, views_aim, episodes_aim)


if __name__ == "__main__":
    main()
