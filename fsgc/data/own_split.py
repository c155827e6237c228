"""Which classes of a user's dataset are base, validation and novel ones, by a rule that is stated and repeatable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsgc.data.formats.raw import in_order
from fsgc.errors import SettingsError
from fsgc.random import generator

NOVEL_SHARE = 0.3
VALIDATION_SHARE = 0.15
HELD_OUT_SHARE = 0.2  # as `split.held_out_share` of params.yaml
LARGEST_WAY = 5
RULE = (
    "30 % of the classes, at least N, are novel, drawn by the dataset's name; with 6 N classes or more, 15 % of them, "
    "at least N, serve validation, else 20 % of each base class's graphs do"
)


@dataclass(frozen=True)
class Proposal:
    """A split of classes by name.

    Attributes:
        way: N.
        base: classes to train on.
        validation: classes to validate on; empty where graphs of base classes are held out instead.
        novel: classes to test on.
        most_shots: the largest K that every part has graphs for.
    """

    way: int
    base: tuple[str, ...]
    validation: tuple[str, ...]
    novel: tuple[str, ...]
    most_shots: int

    def part_of(self, name: str) -> str:
        """What a class serves."""
        return "novel" if name in self.novel else "validation" if name in self.validation else "base"


def propose_split(
    name: str,
    sizes: Mapping[str, int],
    way: int | None = None,
    novel: Sequence[str] | None = None,
    small: Mapping[str, int] | None = None,
) -> Proposal:
    """Split classes by `RULE`.

    Args:
        name: of the dataset.
        sizes: class -> how many graphs it has.
        way: N; if not given, the largest up to 5 of which there are three times as many classes, and at least 2.
        novel: the novel classes, if the user has chosen them.
        small: classes left out for their size, to be named if there are too few others.
    """
    classes = in_order(sizes)
    way = max(2, min(LARGEST_WAY, len(classes) // 3)) if way is None else way
    if way < 2:
        raise SettingsError(f"way: {way} classes are nothing to choose from; use at least 2")
    if len(classes) < 2 * way:
        too_small = f" (too small: {', '.join(f'{c} {count}' for c, count in small.items())})" if small else ""
        ways = [*(["a smaller --way"] if way > 2 else []), *(["a smaller --min-class"] if small else [])]
        raise SettingsError(
            f"{way}-way episodes need {2 * way} classes ({way} to train on, {way} to test on), but {len(classes)} are "
            f"large enough{too_small}; use {', '.join([*ways, 'more graphs or classes'])}, or 'fsgc predict "
            f"discriminant', which needs no training"
        )
    chosen = (
        _chosen(novel, classes, way) if novel else _drawn(name, classes, max(way, round(NOVEL_SHARE * len(classes))))
    )
    rest = [c for c in classes if c not in chosen]
    count = max(way, round(VALIDATION_SHARE * len(classes))) if len(classes) >= 6 * way else 0
    validation = _drawn(f"{name} validation", rest, count)
    base = tuple(c for c in rest if c not in validation)
    if len(base) < way:
        raise SettingsError(f"novel: only {len(base)} classes remain to train on; {way}-way episodes need {way}")
    pools = [sizes[c] for c in (*chosen, *validation)]
    if not validation:
        held_out = [round(HELD_OUT_SHARE * sizes[c]) for c in base]
        pools += [*held_out, *(sizes[c] - held for c, held in zip(base, held_out, strict=True))]
    else:
        pools += [sizes[c] for c in base]
    if min(pools) < 2:
        smallest = min(classes, key=lambda c: sizes[c])
        raise SettingsError(
            f"the class {smallest!r} has {sizes[smallest]} graphs, too few for an episode with a labelled graph and a "
            f"query in every part of the split; add graphs to it, or leave it out with a larger --min-class"
        )
    return Proposal(way, base, validation, chosen, min(pools) - 1)


def _drawn(key: str, classes: Sequence[str], count: int) -> tuple[str, ...]:
    order = generator("own-split", key).permutation(len(classes))[:count]
    return in_order(classes[place] for place in order)


def _chosen(novel: Sequence[str], classes: Sequence[str], way: int) -> tuple[str, ...]:
    for name in novel:
        if name not in classes:
            raise SettingsError(f"novel: there is no class {name!r} of enough graphs; there are {', '.join(classes)}")
    if len(set(novel)) < way:
        raise SettingsError(f"novel: {len(set(novel))} classes, but {way}-way episodes need {way}")
    return in_order(novel)
