"""The fields by which the groups of a page differ, and where each of them stands in a figure."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.errors import UsageError

Value = str | int | float

ABSENT = "n/a"
"""Value of a field that a group does not have."""
MAX_LABEL = 18
"""Maximum characters of a value in a figure or table; a tooltip of the table has it in full."""
MANY_VALUES = 4
"""Number of values from which on a field of numbers becomes an axis."""
COMPARED = ("transport", "cc", "paths", "scheduler")
"""Fields whose values a reader usually compares."""


@dataclass(frozen=True)
class Factor:
    """A field by which groups differ."""

    name: str
    values: tuple[Value, ...]
    labels: tuple[str, ...]
    """The values in short, all different."""

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(value, int | float) for value in self.values)


@dataclass(frozen=True)
class Layout:
    """The fields with a role, and the values to which a page restricts fields at first.

    Roles are x, colour, line, columns and rows. A field without a role has one value at a time.
    """

    roles: Mapping[str, str]
    where: Mapping[str, int]
    """Index of the value of each restricted field."""


@dataclass(frozen=True)
class Wishes:
    """A layout as a user asks for it: names of fields by role, and `FIELD=VALUE`."""

    roles: Mapping[str, str] = field(default_factory=dict)
    where: Sequence[str] = ()
    of: str | None = None
    """The measure with which the page opens."""


def factor(name: str, values: Sequence[Value]) -> Factor:
    """Creates a field from its values, of which each may occur several times."""
    distinct = tuple(dict.fromkeys(values))
    if all(isinstance(value, int | float) for value in distinct):
        distinct = tuple(sorted(distinct))
    return Factor(name, distinct, tuple(_short([str(value) for value in distinct])))


def arrange(factors: Sequence[Factor], wishes: Wishes) -> Layout:
    """Gives each field a role: those that the user asks for, then those that suit the others.

    Raises:
        UsageError: A field or a value does not exist, or a field is given twice.
    """
    by_name = {factor.name: factor for factor in factors}
    roles: dict[str, str] = {}
    for role, name in wishes.roles.items():
        if name not in by_name:
            raise UsageError(f"--{role} {name!r:.50}: not a field that varies; allowed: {_listed(by_name)}")
        if name in roles.values():
            raise UsageError(f"--{role} {name}: given twice; allowed: each field once")
        roles[role] = name
    where: dict[str, int] = {}
    for text in wishes.where:
        name, _, value = text.partition("=")
        if name not in by_name:
            raise UsageError(f"--where {text!r:.50}: not a field that varies; allowed: {_listed(by_name)}")
        chosen = by_name[name]
        known = {str(value): n for n, value in enumerate(chosen.values)} | {
            value: n for n, value in enumerate(chosen.labels)
        }
        if value not in known:
            raise UsageError(f"--where {text!r:.50}: no run has this value; allowed: {', '.join(chosen.labels)}")
        if name in where:
            raise UsageError(f"--where {name}: given twice; allowed: each field once")
        where[name] = known[value]
    free = [
        field
        for field in factors
        if field.name not in roles.values() and field.name not in where and len(field.values) > 1
    ]
    for role, pick in (("colour", _colour), ("x", _axis), ("line", _line), ("columns", _any), ("rows", _any)):
        if role not in roles and (picked := pick(free)) is not None:
            roles[role] = picked.name
            free.remove(picked)
    return Layout(roles, where | {field.name: 0 for field in free})


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "none, because all runs are of one group"


def _colour(free: Sequence[Factor]) -> Factor | None:
    for name in COMPARED:
        for candidate in free:
            if candidate.name.rsplit(".", 1)[-1] == name:
                return candidate
    return max((field for field in free if not field.numeric), key=lambda field: len(field.values), default=None)


def _axis(free: Sequence[Factor]) -> Factor | None:
    alone = len(free) == 1
    wide = [field for field in free if field.numeric and (alone or len(field.values) >= MANY_VALUES)]
    return max(wide, key=lambda field: len(field.values), default=None)


def _line(free: Sequence[Factor]) -> Factor | None:
    few = [field for field in free if len(field.values) < MANY_VALUES and (not field.numeric or len(free) == 1)]
    return few[-1] if few else None


def _any(free: Sequence[Factor]) -> Factor | None:
    return next((field for field in free if field.numeric), free[0] if free else None)


def _short(texts: Sequence[str]) -> list[str]:
    """Shortens texts such that they stay different."""
    described = [_described(text) for text in texts]
    if len(set(described)) < len(described):
        described = list(texts)
    if len(described) > 1 and max(map(len, described)) > MAX_LABEL:
        described = _without_common_start(described)
    cut = [text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 8]}…{text[-7:]}" for text in described]
    return [text if cut.count(text) == 1 else f"{n + 1}: {text[: MAX_LABEL - 4]}" for n, text in enumerate(cut)]


def _without_common_start(texts: Sequence[str]) -> list[str]:
    """Removes the words that all texts begin with."""
    first, last = min(texts), max(texts)
    common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    start = max(first.rfind(separator, 0, common) for separator in " -_/.,=") + 1
    return [text[start:] for text in texts] if all(len(text) > start for text in texts) else list(texts)


def _described(text: str) -> str:
    """Returns events in words, and the last part of a path."""
    if text == "[]":
        return "none"
    if text.startswith("[{"):
        try:
            entries = tomllib.loads(f"value = {text}")["value"]
            return ", ".join(_event(entry) for entry in entries)
        except (tomllib.TOMLDecodeError, TypeError, AttributeError):
            return text
    return text.rstrip("/").rsplit("/", 1)[-1]


def _event(entry: Mapping[str, Any]) -> str:
    where = entry.get("nodes") or entry.get("links") or [entry.get("layer", "")]
    share = f"{entry['fraction']:.0%} of " if "fraction" in entry else ""
    change = next((str(entry[name]) for name in ("state", "rate", "delay") if name in entry), "")
    more = f" +{len(where) - 1}" if len(where) > 1 else ""
    return f"{share}{where[0]}{more} {change}".strip()
