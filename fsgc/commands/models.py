"""`fsgc models`: what methods there are."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields

import click

from fsgc.commands.console import print_table


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def models(name: str | None, as_json: bool) -> None:
    """List the methods, or show the settings of the method NAME and their defaults.

    The settings used for each dataset are in params.yaml, in the section shown.

    \b
    Example:
      fsgc models            # all of them
      fsgc models pn_tae     # the settings of one
    """  # noqa: D301  (click reads the \b as "keep these lines")
    from fsgc.methods.plugins import installed
    from fsgc.methods.registry import METHODS, method_entry

    if name is None:
        entries = {**METHODS, **{key: method_entry(key) for key in installed()}}
        rows = [[key, entry.title, entry.about, entry.section] for key, entry in entries.items()]
        if as_json:
            click.echo(json.dumps([dict(zip(("name", "title", "about", "section"), row, strict=True)) for row in rows]))
        else:
            print_table("Methods", ["name", "title", "what it is", "section of params.yaml"], rows)
        return
    entry = method_entry(name)
    settings = {f.name: f.default for f in fields(entry.method().settings_type) if f.default is not MISSING}
    if as_json:
        click.echo(json.dumps({"name": name, "title": entry.title, "about": entry.about, "settings": settings}))
        return
    click.echo(f"{entry.title}: {entry.about}\nSection of params.yaml: {entry.section}\n")
    for key, value in settings.items():
        click.echo(f"  {key:18} {value}")
