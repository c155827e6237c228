"""`fsgc datasets`: what datasets there are and what is stored here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from fsgc.commands.console import print_table
from fsgc.data.catalog import Dataset, load_catalog
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.workspace import Workspace

if TYPE_CHECKING:
    from fsgc.data.own import Added

COLUMNS = [
    "key",
    "title",
    "graphs",
    "classes",
    "nodes",
    "edges",
    "way",
    "base/val/novel",
    "features",
    "stored",
]


def stored_parts(key: str, workspace: Workspace) -> list[str]:
    """What of a dataset is stored here, e.g. `["raw", "graphs", "5-shot"]`."""
    parts = [name for name in ("raw", "graphs") if getattr(workspace, name)(key).exists()]
    shots = {path.name.removeprefix(f"{key}-").split("shot-")[0] for path in workspace.episode_stores(key)}
    return parts + [f"{count}-shot" for count in sorted(shots, key=int)]


def _classes(entry: Dataset) -> str:
    validation = str(len(entry.validation)) if entry.validation else "held out"
    return f"{len(entry.base)}/{validation}/{len(entry.novel)}"


def _row(entry: Dataset, workspace: Workspace) -> list[str]:
    statistics = entry.statistics
    return [
        entry.key,
        entry.title,
        str(statistics.graphs),
        str(statistics.classes),
        f"{statistics.nodes:.2f}",
        f"{statistics.edges:.2f}",
        str(entry.way),
        _classes(entry),
        " ".join(entry.features),
        ", ".join(stored_parts(entry.key, workspace)) or "-",
    ]


def _as_json(entry: Dataset, workspace: Workspace) -> dict[str, object]:
    return {**asdict(entry), "stored": stored_parts(entry.key, workspace)}


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the catalog as JSON.")
@click.pass_context
def datasets(context: click.Context, as_json: bool) -> None:
    """List the datasets: size, protocol, features, and what is stored here.

    Averages count every undirected edge once. Variants are other editions of a dataset of the benchmark.

    \b
    Example:
      fsgc datasets
      fsgc datasets show coil_del
    """  # noqa: D301  (click reads the \b as "keep these lines")
    if context.invoked_subcommand:
        return
    workspace, catalog = Workspace.find(), load_catalog()
    if as_json:
        click.echo(json.dumps([_as_json(entry, workspace) for entry in catalog.values()], indent=2))
        return
    right = ("graphs", "classes", "nodes", "edges", "way")
    main = [_row(entry, workspace) for entry in catalog.values() if not entry.variant_of and entry.reader != "own"]
    own = [_row(entry, workspace) for entry in catalog.values() if entry.reader == "own"]
    variants = [_row(entry, workspace) for entry in catalog.values() if entry.variant_of]
    print_table("Datasets", COLUMNS, main, right)
    click.echo()
    print_table("Variants", COLUMNS, variants, right)
    if own:
        click.echo()
        print_table("Your own", COLUMNS, own, right)
    click.echo(
        f"\nStored below {workspace.root}. All about one: fsgc datasets show KEY. Add your own: fsgc datasets add"
    )


@datasets.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Print the entry as JSON.")
def show(key: str, as_json: bool) -> None:
    """Show everything about the dataset KEY: classes, files and checksums, citation, terms, where it is stored.

    \b
    Example:
      fsgc datasets show coil_del --json
    """  # noqa: D301  (click reads the \b as "keep these lines")
    entry, workspace = catalog_entry(key), Workspace.find()
    if as_json:
        click.echo(json.dumps(_as_json(entry, workspace), indent=2))
        return
    statistics = entry.statistics
    validation = " ".join(map(str, entry.validation)) or "held-out graphs of the base classes"
    lines = [
        ("title", entry.title),
        ("about", entry.about),
        ("graphs", f"{statistics.graphs}, {statistics.nodes:.2f} nodes and {statistics.edges:.2f} edges on average"),
        ("classes", str(statistics.classes)),
        ("way", str(entry.way)),
        ("base", " ".join(map(str, entry.base))),
        ("validation", validation),
        ("novel", " ".join(map(str, entry.novel))),
        ("features", " ".join(entry.features)),
        ("node labels", entry.node_labels),
        ("reader", " ".join([entry.reader, *(f"{name}={value}" for name, value in entry.options.items())])),
        ("citation", entry.citation),
        ("terms", entry.terms),
    ]
    if entry.variant_of:
        lines.append(("variant of", entry.variant_of))
    for file in entry.files:
        lines += [("file", f"{file.name} ({file.size} bytes{' at most' if file.members else ''})")]
        lines += [("  from", url) for url in file.urls]
        lines += [("  sha256", f"{file.sha256 or 'of the members:'}")]
        lines += [("  member", f"{member.sha256}  {member.name} ({member.size} bytes)") for member in file.members]
    for path in (workspace.raw(key), workspace.graphs(key), *workspace.episode_stores(key)):
        lines.append(("stored" if path.exists() else "not stored", str(path)))
    for name, value in lines:
        click.echo(f"{name:12} {value}")


@datasets.command()
@click.argument("source")
@click.option("--name", required=True, help="The key it is to have: lower-case letters, digits, underscores.")
@click.option("--way", type=int, help="N, the classes of an episode; by the number of classes if not given.")
@click.option("--min-class", default=20, show_default=True, help="Leave out classes of fewer graphs.")
@click.option("--drop-empty", is_flag=True, help="Leave out graphs without nodes.")
@click.option("--novel", help="The classes to test on, separated by commas; drawn if not given.")
@click.option("--leave-out", default="", help="Classes to leave out, separated by commas.")
@click.option("--features", help="Node features, separated by commas; what is not constant if not given.")
@click.option(
    "--format", "format_name", help="tu, csv, smiles, smiles_bonds, xml, json or pyg; recognised if not given."
)
@click.option("--sha256", default="", help="Checksum of the file, if SOURCE is an address.")
@click.option("--replace", is_flag=True, help="Overwrite a dataset of that name.")
def add(
    source: str, name: str, way: int | None, min_class: int, drop_empty: bool, novel: str | None, leave_out: str,
    features: str | None, format_name: str | None, sha256: str, replace: bool,
) -> None:  # fmt: skip
    """Make the graphs at SOURCE, a folder, a file, a zip or an address, a dataset of this project.

    Reads and checks them, splits their classes, tells what it found and writes datasets/NAME.toml; NAME then works
    wherever the key of a dataset does. The graphs stay where they are.

    \b
    Example:
      fsgc datasets add molecules.csv --name molecules --novel active,inactive
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.data.own import Choices, add_dataset

    choices = Choices(
        way, min_class, drop_empty, _listed(novel) or None, _listed(leave_out), format_name, _listed(features) or None
    )
    for line in _told(add_dataset(source, name, choices, sha256, replace), name, choices.min_class, novel is not None):
        click.echo(line)


@datasets.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget the dataset NAME of yours: its entry and everything stored of it, but not your files.

    \b
    Example:
      fsgc datasets remove molecules
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.data.own import remove_dataset

    for path in remove_dataset(name):
        click.echo(f"removed {path}")


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _told(added: Added, name: str, min_class: int, novel_given: bool) -> list[str]:
    """What was found, line by line."""
    from fsgc.data.own_split import RULE

    store, split, unusual = added.named.store, added.split, added.findings
    lines = [
        (
            f"{len(store)} graphs of {len(added.named.classes)} classes, {store.num_nodes.mean():.2f} nodes and "
            f"{store.num_edges.mean():.2f} edges on average"
        )
    ]
    notes = {
        "graphs without nodes, left out": unusual.without_nodes,
        "graphs without edges": unusual.without_edges,
        "repeated edges, kept once": unusual.repeated_edges,
        "self loops, dropped": unusual.self_loops,
    }
    lines += [f"  {count} {what}" for what, count in notes.items() if count]
    lines += ["classes:"]
    lines += [
        f"  {c:20} {size:6} graphs  {split.part_of(c) if c in added.named.classes else 'left out'}"
        for c, size in added.sizes.items()
    ]
    if added.small:
        small = ", ".join(f"{c} ({size})" for c, size in added.small.items())
        lines.append(f"too small: {small}; add graphs to them, or lower --min-class, now {min_class}")
    lines += ["nodes (share of the variance between base graphs that lies between their classes):"]
    lines += [
        f"  {column.name:20} {column.distinct:6} values  "
        + ("constant: says nothing" if column.distinct < 2 else f"{column.explained:.0%}")
        for column in added.columns
    ] or ["  neither labels nor attributes; their degrees are taken"]
    validation = f"{len(split.validation)} validation" if split.validation else "held-out graphs"
    lines += [
        f"features: {' '.join(added.features)}",
        (
            f"split: {len(split.base)} base / {validation} / {len(split.novel)} novel classes, {split.way}-way, up to "
            f"{split.most_shots} shots"
        ),
        *([] if novel_given else [f"  ({RULE})"]),
        f"written to {added.file}",
        f"next: fsgc train pn {name} -k {min(5, split.most_shots)} -o {name}-pn.pt",
    ]
    return lines
