"""The network as a picture: hosts below, switches above by their distance from hosts, links with what they carried."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import polars as pl

MAX_NODES = 64
"""Maximum number of nodes in a row; with more nodes, neighbours are drawn as one."""
MAX_LINKS = 1500
"""Maximum number of links in the picture."""
MAX_NAMES = 12
"""Maximum number of nodes in a row that shows their names."""
STAGGER = (0.0, 0.3, -0.3, 0.15, -0.15)
"""Heights of nodes in a row where links run within it, so that they do not hide one another."""

RARE = {"losses", "trims", "pauses", "paused", "expired_pauses"}
"""Columns of links that are shown only if they are not 0 everywhere."""

HEATS = {
    "utilisation": "utilisation",
    "marked": "share of packets marked",
    "dropped": "share of packets dropped",
    "lost": "share of packets lost on links",
    "trimmed": "share of packets trimmed",
    "paused": "share of time paused",
}
"""Quantities that a link's colour can show, with their names."""

FULL = {"utilisation": 1.0, "marked": 0.1, "dropped": 0.01, "lost": 0.01, "trimmed": 0.01, "paused": 0.1}
"""Values from which on a link has the strongest colour; larger values of the run raise them."""


def picture(links: pl.DataFrame, hosts: Iterable[str]) -> dict[str, Any]:
    """Returns the nodes and links to draw.

    Each row has at most `MAX_NODES` nodes. If there are more, neighbours by name are drawn as one. A line then stands
    for all links between two of these: it shows the mean over their capacity, with the smallest and largest value.

    Args:
        links: The table of that name. The column `trims` (packets) and the column `paused` (share of the time, over all
            classes) are optional.
        hosts: Nodes that stand below; where none is known, those with the fewest neighbours do.

    Returns:
        `nodes`, `links`, `tiers` (a name for each row, from below), `heats` (what colours can tell) and `note` (what
        stands for several).
    """
    tiers = _tiers(links, set(hosts))
    for most in (MAX_NODES, MAX_NODES // 2, MAX_NODES // 4, 8):
        positions, sizes = _positions(tiers, links, most)
        lines = _lines(links, positions)
        if lines.height <= MAX_LINKS:
            break
    heats = [name for name in HEATS if name in lines.columns and lines[name].count() > 0]
    bundled = {tier: size for tier, size in sizes.items() if size > 1}
    names = [_tier_name(tier, members) for tier, members in sorted(tiers.items())]
    note = " ".join(f"A point in the row of {names[tier]} stands for {size} of them." for tier, size in bundled.items())
    if note:
        note += " A line stands for all links between two points; its colour is the mean over their capacity."
    return {
        "nodes": _nodes(positions, tiers, bundled),
        "links": lines.to_dicts(),
        "tiers": [f"{name} ({len(tiers[n])})" for n, name in enumerate(names)],
        "heats": heats,
        "note": note,
    }


def ends(links: pl.DataFrame, drawn: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    """Where each link begins in a picture, by its index: there its queue is."""
    at = {name: (node["x"], node["y"]) for node in drawn["nodes"] for name in node["members"]}
    return {link: at[name] for link, name in links.select("link", "from").iter_rows()}


def _tiers(links: pl.DataFrame, hosts: set[str]) -> dict[int, list[str]]:
    """Nodes by their distance from the nearest host, by name."""
    beside: dict[str, set[str]] = defaultdict(set)
    named = set(hosts)
    for one, other, layer in links.select("from", "to", "layer").iter_rows():
        beside[one].add(other)
        beside[other].add(one)
        below, _, above = layer.partition("-")
        named |= {name for name, kind in ((one, below), (other, above)) if kind == "host"}
    bottom = named & beside.keys()
    if not bottom and beside:
        fewest = min(len(others) for others in beside.values())
        bottom = {name for name, others in beside.items() if len(others) == fewest}
    distance = dict.fromkeys(bottom, 0)
    queue = deque(bottom)
    while queue:
        node = queue.popleft()
        for other in beside[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    tiers: dict[int, list[str]] = defaultdict(list)
    for name in sorted(beside, key=_natural):
        tiers[distance.get(name, 1)].append(name)
    return dict(tiers)


def _positions(
    tiers: Mapping[int, Sequence[str]], links: pl.DataFrame, most: int
) -> tuple[dict[str, tuple[int, float, float]], dict[int, int]]:
    """Of each node the number of its point, x from 0 to 1 and y; and for each row how many nodes share a point."""
    tier_of = {name: tier for tier, names in tiers.items() for name in names}
    level = {tier_of[one] for one, other in links.select("from", "to").iter_rows() if tier_of[one] == tier_of[other]}
    positions: dict[str, tuple[int, float, float]] = {}
    sizes: dict[int, int] = {}
    number = 0
    for tier, names in sorted(tiers.items()):
        size = -(-len(names) // most)
        count = -(-len(names) // size)
        for n in range(count):
            y = tier + (STAGGER[n % len(STAGGER)] if tier in level else 0.0)
            for name in names[n * size : (n + 1) * size]:
                positions[name] = (number, round((n + 0.5) / count, 5), y)
            number += 1
        sizes[tier] = size
    return positions, sizes


def _lines(links: pl.DataFrame, positions: Mapping[str, tuple[int, float, float]]) -> pl.DataFrame:
    """One row for all links from one point to another."""
    points = pl.DataFrame(
        [(name, *position) for name, position in positions.items()], schema=["name", "point", "x", "y"], orient="row"
    )
    placed = links.join(points, left_on="from", right_on="name", maintain_order="left").join(
        points, left_on="to", right_on="name", suffix="2", maintain_order="left"
    )
    rate, use = pl.col("rate_bps").cast(pl.Float64), pl.col("utilisation")
    about = {
        "name": pl.format("{} to {}", pl.col("from").first(), pl.col("to").first()),
        "count": pl.len(),
        "utilisation": pl.when(use.count() > 0).then((use * rate).sum() / rate.filter(use.is_not_null()).sum()),
        "least": use.min(),
        "most": use.max(),
    }
    shares = {"marked": "marks", "dropped": "drops", "lost": "losses", "trimmed": "trims"}
    for name, column in shares.items():
        if {column, "packets"} <= set(links.columns) and (column not in RARE or links[column].sum()):
            came = pl.col("packets").sum() + (pl.col("drops").sum() if column == "drops" else 0)
            about[name] = pl.when(came > 0).then(pl.col(column).sum() / came)
            about[column] = pl.col(column).sum()
    if "paused" in links.columns:
        about |= {"paused": pl.col("paused").mean(), "pauses": pl.col("pauses").sum()}
    lines = placed.group_by("point", "x", "y", "point2", "x2", "y2", maintain_order=True).agg(**about)
    # The two directions of a cable lie side by side: each keeps to its right.
    aside = 0.09 / max(8, lines["point"].n_unique() ** 0.5 * 4)
    up = pl.when(pl.col("y2") >= pl.col("y")).then(aside).otherwise(-aside)
    return lines.with_columns(
        pl.col("x") + up,
        pl.col("x2") + up,
        pl.when(pl.col("count") > 1)
        .then(pl.format("{}, and {} more", "name", pl.col("count") - 1))
        .otherwise("name")
        .alias("name"),
        *(
            pl.col(name).round(6)
            for name in ("utilisation", "least", "most", *shares, "paused")
            if name in lines.columns
        ),
    ).drop("point", "point2")


def _nodes(
    positions: Mapping[str, tuple[int, float, float]], tiers: Mapping[int, Sequence[str]], bundled: Mapping[int, int]
) -> list[dict[str, Any]]:
    tier_of = {name: tier for tier, names in tiers.items() for name in names}
    nodes = []
    for _, together in groupby(positions, key=lambda name: positions[name][0]):
        members = list(together)
        tier = tier_of[members[0]]
        name = members[0] if len(members) == 1 else f"{members[0]} to {members[-1]}"
        room = tier not in bundled and len(tiers[tier]) <= MAX_NAMES
        _, x, y = positions[members[0]]
        nodes.append({"name": name, "short": name if room else "", "x": x, "y": y, "members": members})
    return nodes


def _tier_name(tier: int, names: Sequence[str]) -> str:
    if tier == 0:
        return "hosts"
    kinds = {found.group() for name in names if (found := re.match("[A-Za-z]+", name))}
    return kinds.pop() if len(kinds) == 1 and len(min(kinds)) > 2 else "switches"


def _natural(name: str) -> list[tuple[int, str]]:
    """Orders "h2" before "h10"."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"[0-9]+|[^0-9]+", name)]
