"""`Descriptors`: everything the views are made from, for all graphs of a dataset, in one store.

What is stored is a function of each graph alone, given the labels that are told apart (those of base classes): no mean,
deviation or vocabulary is taken here, so that one store serves every seed and every number of shots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fsgc.arrays import Floats, Ints
from fsgc.data.descriptors.counts import Counts
from fsgc.data.descriptors.cycles import global_edges, node_cycles
from fsgc.data.descriptors.paths import LABELS, path_code, path_counts
from fsgc.data.descriptors.segments import largest, ordered, owners
from fsgc.data.descriptors.spectra import GRID, LEVELS, TIMES, largest_eigenvalues, spectrum_columns
from fsgc.data.descriptors.statistics import degree_columns, statistics
from fsgc.data.descriptors.walks import return_probabilities
from fsgc.data.graph_store import GraphStore
from fsgc.data.laplacian import fold_leaves, laplacian_spectra
from fsgc.data.splits import Split
from fsgc.errors import StoreError
from fsgc.settings import settings
from fsgc.zarr_io import read_arrays, write_arrays

KIND = "fsgc.descriptors"
VERSION = 1
TABLES = ("statistics", "degrees", "sequences", "spectrum")
COUNTS = ("labels", "label_pairs", "label_paths", "degree_paths", "words")
LARGEST = 9
PATH_DEGREES = 8
"""Paths tell degrees from 8 on apart no more."""
NODE_COLUMNS = ("degree", "triangles", "4-cycles", *(f"return probability {step}" for step in range(2, 7)))


@settings
class DescriptorSettings:
    """The section `descriptors` of `params.yaml`.

    Attributes:
        max_labels: with more distinct labels than this, labels are words, not kinds of nodes.
    """

    max_labels: Annotated[int, Field(ge=1, lt=LABELS)] = 40


@dataclass(frozen=True, eq=False)
class Descriptors:
    """What is known of `G` graphs with `V` nodes together.

    Attributes:
        tables: dense columns by the name of their table, float64 `[G, C]`: `statistics`, `degrees`, `sequences` (the
            largest degrees, adjacency and Laplacian eigenvalues) and `spectrum` (of the normalised Laplacian).
        columns: the names of these columns.
        counts: sparse counts by name: `labels` and `label_pairs` (at the ends of edges), `label_paths` and
            `degree_paths` (pairs of nodes by labels, or degrees, and distance), `words` (labels, where there are many).
        nodes: float32 `[V, 8]`, the columns `NODE_COLUMNS` of every node.
        kinds: what labels were taken for.
        graphs: fingerprint of the graphs.
    """

    tables: Mapping[str, Floats]
    columns: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, Counts]
    nodes: npt.NDArray[np.float32]
    kinds: LabelKinds
    graphs: str

    def __len__(self) -> int:
        return len(self.tables["statistics"])

    def save(self, path: Path) -> None:
        """Write the store as a Zarr group, whole or not at all."""
        arrays: dict[str, npt.NDArray[Any]] = {**self.tables, "nodes": self.nodes}
        for name, counts in self.counts.items():
            arrays |= {f"{name}.{part}": getattr(counts, part) for part in ("pointer", "code", "count")}
        attributes = {
            "kind": KIND,
            "version": VERSION,
            "columns": {**{name: list(names) for name, names in self.columns.items()}, "nodes": list(NODE_COLUMNS)},
            "labels": list(self.kinds.labels),
            "words": self.kinds.words,
            "graphs": self.graphs,
        }
        write_arrays(path, arrays, attributes)

    @classmethod
    def load(cls, path: Path) -> Descriptors:
        """Read a store; `StoreError` if it is missing, damaged or of another version."""
        parts = [f"{name}.{part}" for name in COUNTS for part in ("pointer", "code", "count")]
        arrays, attributes = read_arrays(path, KIND, (*TABLES, *parts, "nodes"))
        if attributes["version"] != VERSION:
            raise StoreError(f"{path} was written by another version of fsgc; delete it to compute it again")
        return cls(
            tables={name: arrays[name] for name in TABLES},
            columns={name: tuple(attributes["columns"][name]) for name in TABLES},
            counts={
                name: Counts(*(arrays[f"{name}.{part}"] for part in ("pointer", "code", "count"))) for name in COUNTS
            },
            nodes=arrays["nodes"],
            kinds=LabelKinds(tuple(attributes["labels"]), attributes["words"]),
            graphs=attributes["graphs"],
        )


@dataclass(frozen=True)
class LabelKinds:
    """What the node labels of a dataset are good for; decided on graphs of base classes.

    Attributes:
        labels: those to tell apart, ascending; empty if labels are words or say nothing that the degree does not.
        words: whether they are words.
    """

    labels: tuple[int, ...] = ()
    words: bool = False

    @classmethod
    def of(cls, graphs: GraphStore, known: Ints, max_labels: int) -> LabelKinds:
        """By the graphs `known` alone: labels are worth nothing if they are degrees, or the same everywhere."""
        rows = graphs.rows_of(known)
        label, degree = graphs.node_label[rows], graphs.degree[rows]
        distinct = np.unique(label)
        if len(distinct) < 2 or (label == degree).all():
            return cls()
        return cls(words=True) if len(distinct) > max_labels else cls(tuple(distinct.tolist()))


def compute_descriptors(graphs: GraphStore, kinds: LabelKinds) -> Descriptors:
    """Everything the views are made from, of all graphs at once; one core, no graph by itself.

    Args:
        graphs: the graphs.
        kinds: what their labels are good for.
    """
    folded = fold_leaves(graphs)
    triangles, squares = node_cycles(graphs)
    returns = return_probabilities(graphs, folded)
    pointer, degree = graphs.node_ptr, graphs.degree
    tables = {"statistics": statistics(graphs, triangles, squares, returns), "degrees": degree_columns(graphs)}
    sequences = {
        "degree": largest(ordered(degree, pointer), pointer, LARGEST),
        "adjacency eigenvalue": largest_eigenvalues(folded, graphs.num_nodes, "adjacency", LARGEST),
        "Laplacian eigenvalue": largest_eigenvalues(folded, graphs.num_nodes, "laplacian", LARGEST),
    }
    spectrum = (
        *(f"share of eigenvalues near {point:g}" for point in GRID),
        *(f"heat trace at {time:g}" for time in TIMES),
        *(f"eigenvalue quantile {level:g}" for level in LEVELS),
    )
    label = _numbered(graphs.node_label, kinds.labels)
    nothing = Counts.of(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), len(graphs))
    words = nothing
    if kinds.words:
        words = Counts.of(owners(pointer), graphs.node_label.astype(np.int64), np.ones(len(label)), len(graphs))
    return Descriptors(
        tables={
            **{name: np.stack([*table.values()], axis=1) for name, table in tables.items()},
            "sequences": np.concatenate([*sequences.values()], axis=1),
            "spectrum": spectrum_columns(laplacian_spectra(graphs, folded)),
        },
        columns={
            **{name: tuple(table) for name, table in tables.items()},
            "sequences": tuple(f"{what} {place + 1}" for what in sequences for place in range(LARGEST)),
            "spectrum": spectrum,
        },
        counts={
            "labels": _label_counts(graphs, label) if kinds.labels else nothing,
            "label_pairs": _pair_counts(graphs, label) if kinds.labels else nothing,
            "label_paths": path_counts(graphs, label) if kinds.labels else nothing,
            "degree_paths": path_counts(graphs, np.minimum(degree, PATH_DEGREES), folded),
            "words": words,
        },
        nodes=np.column_stack([degree, triangles, squares, returns[:, 1:6]]).astype(np.float32),
        kinds=kinds,
        graphs=graphs.fingerprint(),
    )


def make_descriptors(
    out: Path,
    graphs: GraphStore,
    split: Split,
    chosen: DescriptorSettings,
    **_options: Any,
) -> str:
    """Compute the descriptors of a dataset and write them to `out`: the maker of a `Preparation`.

    What labels are good for, graphs of base classes decide.
    """
    base = np.flatnonzero(np.isin(graphs.y, split.base))
    descriptors = compute_descriptors(graphs, LabelKinds.of(graphs, base, chosen.max_labels))
    descriptors.save(out)
    dense = sum(table.shape[1] for table in descriptors.tables.values())
    sparse = sum(len(np.unique(counts.code)) for counts in descriptors.counts.values())
    return f"descriptors of {len(graphs)} graphs: {dense} dense and {sparse} sparse columns"


def _numbered(values: npt.NDArray[Any], known: Sequence[int]) -> Ints:
    """The place of each value among the known ones, which ascend; all others get the next number."""
    if not known:
        return np.zeros(len(values), np.int64)
    vocabulary = np.asarray(known)
    place = np.minimum(np.searchsorted(vocabulary, values), len(vocabulary) - 1)
    return np.where(vocabulary[place] == values, place, len(vocabulary))


def _label_counts(graphs: GraphStore, label: Ints) -> Counts:
    return Counts.of(owners(graphs.node_ptr), label, np.ones(len(label)), len(graphs))


def _pair_counts(graphs: GraphStore, label: Ints) -> Counts:
    """Edges by the labels of their ends, coded as paths of length 1."""
    source, target = global_edges(graphs)
    code = path_code(label[source], label[target], np.ones(len(source), np.int64))
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_ptr))
    return Counts.of(owner, code, np.full(len(code), 0.5), len(graphs))
