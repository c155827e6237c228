"""`fsgc models`: what methods there are, and what can be set in each."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import click

from fsgc.commands.console import print_table


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def models(name: str | None, as_json: bool) -> None:
    """List the methods, or say all about the method NAME.

    For one method: what it is, its settings with their defaults and what each means, and what is prepared once for a
    dataset; for the discriminant also the views it chooses from and what each measures. Values that differ for a
    dataset are in params.yaml, in the section shown.

    NAME is one of the list, a method of an installed package, or file.py:Class.

    \b
    Example:
      fsgc models                   # all of them
      fsgc models pn_tae            # the settings of one
      fsgc models discriminant      # its views as well
      fsgc models discriminant --json
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
    method = entry.method()
    kind = method.settings_type
    meanings = setting_meanings(kind)
    settings = {f.name: f.default for f in fields(kind) if f.default is not MISSING}
    views = {view: look.about for view, look in getattr(method, "views", {}).items()}
    preparation = method.preparation
    if as_json:
        content = {"name": name, "title": entry.title, "about": entry.about, "section": entry.section}
        click.echo(json.dumps({**content, "settings": settings, "meanings": meanings, "views": views}))
        return
    click.echo(f"{entry.title}: {entry.about}")
    click.echo(f"Section of params.yaml: {entry.section}")
    if entry.options:
        click.echo(f"Options: {', '.join(f'{key}={value}' for key, value in entry.options.items())}")
    if preparation is not None:
        click.echo(f"Prepared once for a dataset: {preparation.section}")
    click.echo()
    rows = [[key, str(value), meanings.get(key, "")] for key, value in settings.items()]
    print_table("Settings", ["setting", "default", "what it means"], rows)
    if views:
        click.echo()
        print_table("Views", ["view", "what it measures"], [[view, about] for view, about in views.items()])


def setting_meanings(kind: type[Any]) -> Mapping[str, str]:
    """What each setting of a class means: the lines below `Attributes` in its docstring and in those it derives from.

    A setting that a class describes anew has its own meaning there.
    """
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        _, _, listed = inspect.cleandoc(owner.__dict__.get("__doc__") or "").partition("Attributes:\n")
        # An entry is `name: text`, indented by four; deeper lines carry it on.
        for entry in re.split(r"\n(?=    \w+: )", "\n" + listed.split("\n\n")[0]):
            if match := re.match(r"    (\w+): (.*)", entry, re.DOTALL):
                found[match[1]] = " ".join(match[2].split())
    return found
