"""Edge lists in CSV: `edges.csv`, and beside it `nodes.csv` and `labels.csv`, joined without a loop.

`edges.csv` has the columns `source` and `target`, `nodes.csv` the column `node` (or `id`) and what is known of a node,
`labels.csv` the columns `graph` and `label`. With more than one graph the first two also have `graph`. Names may be any
text; a node's name need be unique within its graph only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from fsgc.data.formats.columns import NodeColumns, from_text, why_no_text
from fsgc.data.formats.raw import Ints, RawGraphs
from fsgc.data.formats.tables import CsvTable, read_table
from fsgc.errors import DataFormatError

SOURCE, TARGET = ("source", "src", "from"), ("target", "dst", "to")
GRAPH, NODE, CLASS = ("graph", "graph_id"), ("node", "node_id", "id"), ("label", "class", "y")


def read_edge_tables(path: Path) -> RawGraphs:
    """Read `edges.csv` (a file of that kind, or the folder it is in) and the tables beside it."""
    folder = path if path.is_dir() else path.parent
    edge_table = read_table(path / "edges.csv" if path.is_dir() else path)
    node_table = read_table(folder / "nodes.csv") if (folder / "nodes.csv").exists() else None
    label_table = read_table(folder / "labels.csv") if (folder / "labels.csv").exists() else None
    edges = pl.DataFrame(
        {
            "graph": _graphs_of(edge_table),
            "source": edge_table.filled(_column(edge_table, SOURCE)),
            "target": edge_table.filled(_column(edge_table, TARGET)),
        }
    )
    ends = pl.concat([edges.select("graph", node=pl.col("source")), edges.select("graph", node=pl.col("target"))])
    listed = _listed_nodes(node_table) if node_table is not None else ends.unique(maintain_order=True)
    names, classes = _graphs(label_table, listed, ends)
    order = pl.DataFrame({"graph": names}, schema={"graph": pl.String}).with_row_index("number")
    # Nodes sorted by graph, in the order of the file within each: their place is their id.
    nodes = (
        listed.with_row_index("row").join(order, on="graph", how="left", maintain_order="left").sort("number", "row")
    )
    if nodes["number"].null_count():
        stray = nodes.filter(pl.col("number").is_null())[0]
        graph = stray["graph"][0]
        first = int(stray["row"][0]) if node_table else int((edges["graph"] == graph).arg_true()[0])
        raise (node_table or edge_table).refuse(f"the graph {graph!r} is not in labels.csv", first)
    sizes = np.bincount(nodes["number"].to_numpy().astype(np.int64), minlength=len(names))
    ids = nodes.select("graph", "node").with_row_index("place")
    source, target = (_places(edges, end, ids, edge_table) for end in ("source", "target"))
    columns = _columns(node_table, nodes["row"])
    return RawGraphs(
        names=tuple(names), sizes=sizes, source=source, target=target, classes=tuple(classes),
        node_label=columns.label, node_attr=columns.attr, attributes=columns.names,
    )  # fmt: skip


def _column(table: CsvTable, names: tuple[str, ...]) -> str:
    found = table.column(*names)
    if found is None:
        have = ", ".join(map(repr, table.rows.columns))
        raise DataFormatError(f"there is no column {names[0]!r}; found {have}", file=table.file, line=1)
    return found


def _graphs_of(table: CsvTable) -> pl.Series:
    """The graph of every row; a table without such a column is about one graph, which is named after its folder."""
    column = table.column(*GRAPH)
    if column is None:
        name = table.file.parent.name or "graph"
        if reason := why_no_text(name):
            raise DataFormatError(f"the name of the folder, which is that of the graph: {reason}", file=table.file)
        return pl.Series("graph", [name], dtype=pl.String).new_from_index(0, len(table.rows))
    return table.filled(column)


def _listed_nodes(table: CsvTable) -> pl.DataFrame:
    nodes = pl.DataFrame({"graph": _graphs_of(table), "node": table.filled(_column(table, NODE))})
    again = (~nodes.select(first=pl.struct("graph", "node").is_first_distinct())["first"]).arg_true()
    if len(again):
        row = int(again[0])
        raise table.refuse(f"the node {nodes['node'][row]!r} of the graph {nodes['graph'][row]!r} comes twice", row)
    return nodes


def _graphs(labels: CsvTable | None, nodes: pl.DataFrame, ends: pl.DataFrame) -> tuple[list[str], list[str | None]]:
    """The names of all graphs in order, and their classes."""
    if labels is None:
        names = pl.concat([nodes["graph"], ends["graph"]]).unique(maintain_order=True).to_list()
        return names, [None] * len(names)
    graph = labels.filled(_column(labels, (*GRAPH, "id", "name")))
    again = (~graph.is_first_distinct()).arg_true()
    if len(again):
        raise labels.refuse(f"the graph {graph[int(again[0])]!r} comes twice", int(again[0]))
    return graph.to_list(), labels.blank_or_filled(_column(labels, CLASS))


def _places(edges: pl.DataFrame, end: str, ids: pl.DataFrame, table: CsvTable) -> Ints:
    """The global id of one end of every edge."""
    joined = edges.join(ids, left_on=["graph", end], right_on=["graph", "node"], how="left", maintain_order="left")
    missing = joined["place"].is_null().arg_true()
    if len(missing):
        row = int(missing[0])
        where = f"the graph {edges['graph'][row]!r}"
        raise table.refuse(f"{where} has no node {edges[end][row]!r}, or is not among the labelled graphs", row)
    return joined["place"].to_numpy().astype(np.int64)


def _columns(table: CsvTable | None, order: pl.Series) -> NodeColumns:
    """What `nodes.csv` says of the nodes, taken in an order."""
    if table is None:
        return NodeColumns(None, np.zeros((len(order), 0)), ())
    used = {_column(table, NODE), table.column(*GRAPH)}
    columns = from_text(table.rows.select([name for name in table.rows.columns if name not in used]), table.refuse)
    if columns.attr.shape[0] != len(order):  # no columns besides the names
        return NodeColumns(None, np.zeros((len(order), 0)), ())
    rows = order.to_numpy()
    return NodeColumns(None if columns.label is None else columns.label.gather(rows), columns.attr[rows], columns.names)
