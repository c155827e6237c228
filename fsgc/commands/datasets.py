"""`fsgc datasets`: what datasets there are and what is stored here."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from fsgc.commands.console import print_table
from fsgc.data.catalog import Dataset, load_catalog
from fsgc.data.catalog import dataset as catalog_entry
from fsgc.workspace import Workspace

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
    main = [_row(entry, workspace) for entry in catalog.values() if not entry.variant_of]
    variants = [_row(entry, workspace) for entry in catalog.values() if entry.variant_of]
    print_table("Datasets", COLUMNS, main, right)
    click.echo()
    print_table("Variants", COLUMNS, variants, right)
    click.echo(f"\nStored below {workspace.root}. Everything about one: fsgc datasets show KEY")


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
