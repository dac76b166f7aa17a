"""FCT slowdown: the FCT of a flow divided by its FCT alone on an idle path.

>>> import weft
>>> from weft.slowdown import by_size, with_slowdown
>>> flows = with_slowdown(weft.run(weft.load("spec.toml")))  # doctest: +SKIP
>>> by_size(flows, by="transport")  # doctest: +SKIP
"""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from weft import stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weft.api import Result

EDGES_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Sizes between two classes; a flow of exactly that size is in the upper class."""


@dataclass(frozen=True)
class Hop:
    """A link on a path."""

    rate_bps: float
    delay_s: float

    def serialisation_s(self, size: int) -> float:
        """Seconds to send so many bytes."""
        return 8 * size / self.rate_bps


def with_slowdown(result: Result) -> pl.DataFrame:
    """The table `flows` with three more columns: `ideal_s`, `slowdown` and `slowdown_at_least`.

    `ideal_s` is the FCT on the idle network. All packets leave at once, whatever the window, and take the one path that
    is fastest for a full packet (store and forward, with headers and framing). A handshake precedes them if `fct_from`
    says so.
    `slowdown` is `fct_s` over `ideal_s`. `slowdown_at_least` is the same for a flow that the run's end cut off, with
    the time that it had taken by then. All three are null for flows without a size.

    A flow over several paths that share no link can be faster than that, so its slowdown can be below 1.

    Args:
        result: A run with at most some thousand links.
    """
    paths = _Paths(result.links)
    transports = result.manifest["spec"]["transports"]

    @cache
    def sizes(transport: str) -> tuple[int, int, int]:
        tcp = transports[transport]["tcp"]
        mss, header, ack_size, framing = (size_in_bytes(tcp[it]) for it in ("mss", "header", "ack_size", "framing"))
        return mss, header + framing, ack_size + framing

    @cache
    def ideal(sender: str, receiver: str, transport: str, size: int) -> float:
        mss, header, ack_size = sizes(transport)
        there = paths.fastest(sender, receiver, mss + header)
        handshake = 0.0
        if transports[transport]["tcp"]["fct_from"] == "open":
            back = paths.fastest(receiver, sender, mss + header)
            handshake = sum(hop.delay_s + hop.serialisation_s(ack_size) for hop in (*there, *back))
        return handshake + transfer_s(there, size, mss, header)

    ends = result.flows.select("from", "to", "transport", "size_bytes")
    ideals = [None if row[3] is None else ideal(*row) for row in ends.iter_rows()]
    return result.flows.with_columns(ideal_s=pl.Series(ideals, dtype=pl.Float64)).with_columns(
        slowdown=pl.col("fct_s") / pl.col("ideal_s"), slowdown_at_least=pl.col("unfinished_s") / pl.col("ideal_s")
    )


def by_size(
    flows: pl.DataFrame,
    percents: Sequence[float] = (50, 99),
    *,
    edges_bytes: Sequence[int] = EDGES_BYTES,
    by: str | Iterable[str] = (),
) -> pl.DataFrame:
    """Percentiles of the slowdown by size: one row a class of sizes that has flows, the smallest first.

    The columns of `by`, then `below_bytes` (null: the largest flows), `flows` and what `weft.stats.percentiles`
    yields with `at_least`: percentiles, whether they may be higher, and how many flows the run's end cut off.

    Args:
        flows: What `with_slowdown` yields, perhaps of several runs.
        percents: From 0 to 100.
        edges_bytes: Sizes between two classes, rising.
        by: Columns that tell groups apart, such as `transport`.
    """
    names = [by] if isinstance(by, str) else list(by)
    size = pl.col("size_bytes")
    below = pl.coalesce(pl.when(size < edge).then(edge) for edge in edges_bytes)
    opened = flows.filter(pl.col("slowdown").is_not_null() | pl.col("slowdown_at_least").is_not_null())
    classed = opened.with_columns(below_bytes=below)
    groups = [*names, "below_bytes"]
    counts = classed.group_by(groups).agg(flows=pl.len())
    summary = stats.percentiles(classed, "slowdown", percents, by=groups, at_least="slowdown_at_least")
    return summary.join(counts, on=groups, nulls_equal=True, maintain_order="left").select(
        *groups, "flows", pl.exclude(*groups, "flows")
    )


def transfer_s(path: Sequence[Hop], size: int, mss: int, header: int) -> float:
    """Seconds until the last of `size` bytes has arrived over an idle path, their packets sent back to back.

    Args:
        path: At least one hop.
        size: Application bytes, at least 1.
        mss: Payload bytes of a full packet.
        header: Bytes of each packet beside its payload.
    """
    full_packets = math.ceil(size / mss) - 1
    full, last = mss + header, size - full_packets * mss + header
    first = slowest = before = 0.0
    for hop in path:
        # When the last full packet has left, which the slowest link so far has spaced; then the last one.
        slowest = max(slowest, hop.serialisation_s(full))
        first += hop.serialisation_s(full)
        free = first + (full_packets - 1) * slowest if full_packets else 0.0
        before = max(before, free) + hop.serialisation_s(last) + hop.delay_s
        first += hop.delay_s
    return before


class _Paths:
    """Fastest paths over the links of a table."""

    def __init__(self, links: pl.DataFrame) -> None:
        self._from: dict[str, list[tuple[str, Hop]]] = {}
        for sender, receiver, rate, delay in links.select("from", "to", "rate_bps", "delay_s").iter_rows():
            self._from.setdefault(sender, []).append((receiver, Hop(rate, delay)))
        self._trees: dict[tuple[str, int], dict[str, tuple[str, Hop]]] = {}

    def fastest(self, sender: str, receiver: str, size: int) -> list[Hop]:
        """The path that a packet of so many bytes takes in the shortest time."""
        if (sender, size) not in self._trees:
            self._trees[sender, size] = self._tree(sender, size)
        tree = self._trees[sender, size]
        path = []
        while receiver != sender:
            receiver, hop = tree[receiver]
            path.append(hop)
        return path[::-1]

    def _tree(self, sender: str, size: int) -> dict[str, tuple[str, Hop]]:
        """The hop by which each node is reached soonest (Dijkstra)."""
        soonest, tree = {sender: 0.0}, {}
        queue = [(0.0, sender)]
        while queue:
            time, node = heapq.heappop(queue)
            if time > soonest[node]:
                continue
            for to, hop in self._from.get(node, ()):
                arrival = time + hop.serialisation_s(size) + hop.delay_s
                if arrival < soonest.get(to, math.inf):
                    soonest[to], tree[to] = arrival, (node, hop)
                    heapq.heappush(queue, (arrival, to))
        return tree


def size_in_bytes(size: str) -> int:
    """Of a size in a resolved spec, such as 1448B."""
    found = re.fullmatch(r"([0-9.]+)([KMGT]?)(i?)B", size)
    if found is None:
        raise ValueError(f"{size!r} is no size")
    number, prefix, binary = found.groups()
    power = "KMGT".index(prefix) + 1 if prefix else 0
    return round(float(number) * float(1024 if binary else 1000) ** power)
