"""Views: the ways of looking at a graph that the discriminant chooses from, by the names that model files hold.

A view turns graphs into rows of numbers. What it must know beforehand (which paths are frequent, the mean of a node's
degree) it takes from known graphs, those of base classes in training, as arrays that go into the model. What each
measures is said here and nowhere else: `fsgc models discriminant` and the report page read it from `VIEWS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fsgc.arrays import Floats
from fsgc.methods.discriminant.counted_views import CountView, TableView, WordView
from fsgc.methods.discriminant.graph_data import Fitted, GraphData, View
from fsgc.methods.discriminant.local_views import MomentView, RandomView


@dataclass(frozen=True)
class ExtraView(View):
    """Rows that came with the graphs."""

    name: str
    about: str = "Rows from elsewhere: the embedding of a network."
    scalings: tuple[str, ...] = ("plain",)

    def rows(self, data: GraphData, fitted: Fitted) -> Floats:  # noqa: ARG002
        """See `View.rows`."""
        return data.extra[self.name]


VIEWS: Mapping[str, View] = {
    "statistics": TableView(
        "statistics",
        "Sizes, density, counts of small subgraphs, clustering, components, assortativity, shares and quantiles of "
        "degrees, mean and deviation of the random walk's return probabilities 1 to 8.",
        ("standard", "log"),
    ),
    "degrees": TableView(
        "degrees",
        "Shares of nodes by degree, by their neighbours' mean degree and by distance from the nearest hub, shares of "
        "edges by the degrees of their ends; degrees in bins that double in width.",
        ("standard", "plain"),
    ),
    "sequences": TableView(
        "sequences", "The nine largest degrees, adjacency and Laplacian eigenvalues.", ("standard", "log")
    ),
    "spectrum": TableView(
        "spectrum", "Histogram, heat trace and quantiles of the normalised Laplacian's eigenvalues.", ("standard",)
    ),
    "labels": CountView(
        ("labels", "label_pairs"),
        "Shares of node labels, and of pairs of labels at the two ends of an edge.",
        ("standard", "plain"),
        shares=True,
    ),
    "paths": CountView(
        ("label_paths",),
        "How many pairs of nodes have which labels and are how far apart: the 300 triples in most known graphs.",
        ("norm", "log", "standard"),
    ),
    "degree_paths": CountView(
        ("degree_paths",),
        "The same with degrees, up to 8, for labels.",
        ("norm", "log", "standard"),
    ),
    "nodes": RandomView("nodes", "Random features of the nodes' vectors: the distribution of kinds of nodes."),
    "neighbourhoods": RandomView(
        "neighbourhoods", "Random features of nodes together with their neighbours' mean vector."
    ),
    "places": RandomView("places", "Random features of the nodes' attributes alone."),
    "edges": RandomView("edges", "Random features of edges: mean and difference of the attributes at their ends."),
    "moments": MomentView("Moments of the attributes over the nodes, and of their differences along the edges."),
    "words": WordView("Bag of words: inverse document frequencies, rows of length 1, 768 leading directions."),
}


def view(name: str) -> View:
    """A view by name; names that are not in the list are those of extra rows."""
    return VIEWS.get(name) or ExtraView(name)
