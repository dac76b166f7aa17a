"""FCT slowdown: the FCT of a flow divided by its FCT alone on an idle path.

The table `flows` of a run has `ideal_s`, `slowdown` and `slowdown_at_least`, unless its network is very large.

>>> import weft
>>> flows = weft.run(weft.load("spec.toml")).flows  # doctest: +SKIP
>>> weft.stats.by_size(flows, by="transport")  # doctest: +SKIP
"""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from weft.stats import EDGES_BYTES, by_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weft.api import Result

__all__ = ["EDGES_BYTES", "MAX_LINKS", "Hop", "add_slowdown", "by_size", "size_in_bytes", "transfer_s", "with_slowdown"]

MAX_LINKS = 5_000
"""Maximum number of links of a network for which tables get a slowdown without being asked for it."""

COLUMNS = ("ideal_s", "slowdown", "slowdown_at_least")


@dataclass(frozen=True)
class Hop:
    """A link on a path."""

    rate_bps: float
    delay_s: float

    def serialisation_s(self, size: int) -> float:
        """Returns the seconds to send this many bytes."""
        return 8 * size / self.rate_bps


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a transport's packets in bytes."""

    mss: int
    header: int
    """Size of header and framing of a data packet."""
    ack: int
    """Size of an acknowledgement with its framing."""
    handshake: bool
    """Whether the FCT includes the handshake."""


def with_slowdown(result: Result) -> pl.DataFrame:
    """Returns the table `flows` with the columns of `add_slowdown`, however large the network is.

    Args:
        result: A run.
    """
    flows = result.tables["flows"]
    return add_slowdown(flows, result.tables["links"], result.manifest["spec"]["transports"])


def add_slowdown(
    flows: pl.DataFrame, links: pl.DataFrame, transports: Mapping[str, Any], *, max_links: int | None = None
) -> pl.DataFrame:
    """Returns flows with three more columns: `ideal_s`, `slowdown` and `slowdown_at_least`.

    `ideal_s` is the FCT on the idle network. All packets leave at once, whatever the window, and take the one path that
    is fastest for a full packet (store and forward, with headers and framing). A handshake precedes them if `fct_from`
    says so.
    `slowdown` is `fct_s` over `ideal_s`. `slowdown_at_least` is that ratio for a flow that the run's end cut off, with
    the time that the flow had taken by then. All three are null for flows without a size.

    A flow over several paths that share no link can be faster than its ideal, so that its slowdown is below 1.

    Args:
        flows: The table `flows` of a run.
        links: The table `links` of that run.
        transports: The transports of its resolved spec, by name.
        max_links: The columns are null if the network has more links than this.
    """
    sizes = {name: _sizes(transport) for name, transport in transports.items()}
    if max_links is not None and links.height > max_links:
        sizes = {}
    paths = _Paths(links)
    sized = flows.filter(pl.col("size_bytes").is_not_null())
    pairs = sized.select("from", "to", "transport").unique()
    ids: dict[tuple[tuple[Hop, ...], tuple[Hop, ...], _Sizes], int] = {}
    numbers: list[int | None] = []
    for sender, receiver, transport in pairs.iter_rows():
        size = sizes.get(transport)
        there = None if size is None else paths.fastest(sender, receiver, size.mss + size.header)
        if size is None or there is None:
            numbers.append(None)
            continue
        back = paths.fastest(receiver, sender, size.mss + size.header) if size.handshake else ()
        numbers.append(ids.setdefault((there, back or (), size), len(ids)))
    known = pairs.with_columns(path=pl.Series(numbers, dtype=pl.UInt32))
    ideal = flows.join(known, on=["from", "to", "transport"], how="left", maintain_order="left").select(
        "path", "size_bytes"
    )
    # Paths of equal hops have one formula, which takes all their sizes at once.
    seconds = pl.repeat(None, flows.height, dtype=pl.Float64, eager=True).alias("ideal_s")
    for (there, back, size), number in ids.items():
        rows = (ideal["path"] == number).fill_null(value=False) & ideal["size_bytes"].is_not_null()
        bytes_ = ideal["size_bytes"].filter(rows)
        handshake = sum(hop.delay_s + hop.serialisation_s(size.ack) for hop in (*there, *back)) if back else 0.0
        values = bytes_.to_frame().select(_transfer(there, pl.col("size_bytes"), size.mss, size.header) + handshake)
        seconds = seconds.scatter(rows.arg_true(), values.to_series())
    unfinished = pl.col("unfinished_s") if "unfinished_s" in flows.columns else pl.lit(None, pl.Float64)
    return flows.with_columns(seconds).with_columns(
        slowdown=pl.col("fct_s") / pl.col("ideal_s"), slowdown_at_least=unfinished / pl.col("ideal_s")
    )


def _sizes(transport: Mapping[str, Any]) -> _Sizes | None:
    """Returns the sizes of a transport's packets; None if its level does not state them."""
    tcp = transport.get("tcp", {})
    if not {"mss", "header", "ack_size", "framing", "fct_from"} <= tcp.keys():
        return None
    mss, header, ack, framing = (size_in_bytes(tcp[name]) for name in ("mss", "header", "ack_size", "framing"))
    return _Sizes(mss, header + framing, ack + framing, tcp["fct_from"] == "open")


def transfer_s(path: Sequence[Hop], size: int, mss: int, header: int) -> float:
    """Returns the seconds until the last of `size` bytes arrives over an idle path, with packets back to back.

    Args:
        path: At least one hop.
        size: Application bytes, at least 1.
        mss: Payload bytes of a full packet.
        header: Bytes of each packet in addition to its payload.
    """
    return float(pl.select(_transfer(path, pl.lit(size), mss, header)).item())


def _transfer(path: Sequence[Hop], size: pl.Expr, mss: int, header: int) -> pl.Expr:
    bytes_ = size.cast(pl.Float64)
    full_packets = (bytes_ / mss).ceil() - 1
    full, last = mss + header, bytes_ - full_packets * mss + header
    first = slowest = 0.0
    before = pl.lit(0.0)
    for hop in path:
        # The slowest link so far spaces the full packets. The last packet follows the last full one.
        slowest = max(slowest, hop.serialisation_s(full))
        first += hop.serialisation_s(full)
        free = pl.when(full_packets > 0).then(first + (full_packets - 1) * slowest).otherwise(0.0)
        before = pl.max_horizontal(before, free) + 8 * last / hop.rate_bps + hop.delay_s
        first += hop.delay_s
    return before


class _Paths:
    """Fastest paths over the links of a table."""

    def __init__(self, links: pl.DataFrame) -> None:
        self._from: dict[str, list[tuple[str, Hop]]] = {}
        self._to: dict[str, list[tuple[str, Hop]]] = {}
        for sender, receiver, rate, delay in links.select("from", "to", "rate_bps", "delay_s").iter_rows():
            self._from.setdefault(sender, []).append((receiver, Hop(rate, delay)))
            self._to.setdefault(receiver, []).append((sender, Hop(rate, delay)))
        # A node with one neighbour, such as most hosts, is never in the middle of a path.
        leaves = {name for name, links in self._from.items() if len(links) == 1 == len(self._to.get(name, ()))}
        inner = {name: [link for link in links if link[0] not in leaves] for name, links in self._from.items()}
        self._inner = {name: links for name, links in inner.items() if name not in leaves}
        self._leaves = leaves
        self._trees: dict[tuple[str, int], dict[str, tuple[str, Hop]]] = {}

    def fastest(self, sender: str, receiver: str, size: int) -> tuple[Hop, ...] | None:
        """Returns the path that a packet of `size` bytes takes in the shortest time; None if there is none."""
        first: tuple[Hop, ...] = ()
        last: tuple[Hop, ...] = ()
        if sender in self._leaves:
            ((sender, hop),) = self._from[sender]
            first = (hop,)
        if receiver in self._leaves and sender != receiver:
            ((receiver, hop),) = self._to[receiver]
            last = (hop,)
        if (sender, size) not in self._trees:
            self._trees[sender, size] = self._tree(sender, size)
        tree = self._trees[sender, size]
        path = []
        while receiver != sender:
            if receiver not in tree:
                return None
            receiver, hop = tree[receiver]
            path.append(hop)
        return (*first, *path[::-1], *last)

    def _tree(self, sender: str, size: int) -> dict[str, tuple[str, Hop]]:
        """Returns for each node the hop over which it is reached soonest (Dijkstra)."""
        soonest, tree = {sender: 0.0}, {}
        queue = [(0.0, sender)]
        while queue:
            time, node = heapq.heappop(queue)
            if time > soonest[node]:
                continue
            for to, hop in self._inner.get(node, ()):
                arrival = time + hop.serialisation_s(size) + hop.delay_s
                if arrival < soonest.get(to, math.inf):
                    soonest[to], tree[to] = arrival, (node, hop)
                    heapq.heappush(queue, (arrival, to))
        return tree


def size_in_bytes(size: str) -> int:
    """Converts a size in a resolved spec, such as 1448B, to bytes."""
    found = re.fullmatch(r"([0-9.]+)([KMGT]?)(i?)B", size)
    if found is None:
        raise ValueError(f"{size!r} is not a size")
    number, prefix, binary = found.groups()
    power = "KMGT".index(prefix) + 1 if prefix else 0
    return round(float(number) * float(1024 if binary else 1000) ** power)
