"""The link events of a run: when each takes effect, in words, and the links that it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from weft.plots.data import seconds_of


@dataclass(frozen=True)
class LinkEvent:
    """A change of links at a time."""

    time_s: float
    text: str
    links: frozenset[tuple[str, str]]
    """Ends of the changed links; empty if they are drawn at random."""
    detected_s: float | None = None
    """When routing learns of the change, if that is later."""


def link_events(spec: Mapping[str, Any], links: pl.DataFrame) -> list[LinkEvent]:
    """Returns the events of a resolved spec in order of time.

    Args:
        spec: The resolved spec.
        links: The table `links` of its run.
    """
    ends = links.select("from", "to", "layer").rows()
    found = [_event(entry, ends) for entry in spec.get("events") or []]
    return sorted(found, key=lambda event: event.time_s)


def _event(entry: Mapping[str, Any], ends: list[tuple[str, str, str]]) -> LinkEvent:
    time_s, delay_s = seconds_of(entry["at"]), seconds_of(entry.get("detection_delay") or "0s")
    changes = [str(entry["state"])] if entry.get("state") else []
    changes += [f"{name} {entry[name]}" for name in ("rate", "delay") if entry.get(name)]
    chosen = [
        *(entry.get("nodes") or []),
        *(entry.get("links") or []),
        *([entry["layer"]] if entry.get("layer") else []),
    ]
    fraction = entry.get("fraction", 1.0)
    share = "" if fraction == 1.0 else f"{fraction:.0%} of "
    where = ", ".join(chosen[:3]) + (f" and {len(chosen) - 3} more" if len(chosen) > 3 else "")
    changed = set() if share else _links(entry, ends)
    if entry.get("bidirectional", True):
        changed |= {(other, one) for one, other in changed}
    later = time_s + delay_s if delay_s and entry.get("state") else None
    return LinkEvent(time_s, f"{share}{where} {' and '.join(changes)}", frozenset(changed), later)


def _links(entry: Mapping[str, Any], ends: list[tuple[str, str, str]]) -> set[tuple[str, str]]:
    nodes, names = set(entry.get("nodes") or []), set(entry.get("links") or [])
    return {
        (one, other)
        for one, other, layer in ends
        if nodes & {one, other} or f"{one}->{other}" in names or layer == entry.get("layer")
    }
