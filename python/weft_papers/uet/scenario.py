"""A scenario of the UEC's simulator, its spec, and the outcome of a run.

All links have 100 Gbps and 1 us. A queue of `queue_packets` holds one packet less here, because the packet that is
being sent is not part of Weft's limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

import polars as pl

from weft import Result

MTU = 4150
"""Bytes of a full packet."""
HEADER = 64
"""Bytes of the headers of a packet, and of a packet without payload."""
PAYLOAD = MTU - HEADER
BYTE_PS = 80
"""Picoseconds that a byte takes at 100 Gbps."""
DELAY_PS = 1_000_000
"""Propagation delay of a link in picoseconds."""
RTO_PS = 15_000_000
"""The part of the timeout that does not depend on queues, in picoseconds."""
SLOW_RATE = "25Gbps"
SLOW = 4
"""Rate of a slow link, and the factor by which it is slower than others."""


@dataclass(frozen=True)
class Flow:
    """A row of a traffic matrix."""

    sender: int
    receiver: int
    size_bytes: int
    start_us: float = 0.0

    @property
    def packets(self) -> int:
        """Returns the number of packets."""
        return -(-self.size_bytes // PAYLOAD)


@dataclass(frozen=True)
class Network:
    """A topology of 100 Gbps and 1 us."""

    topology: dict[str, Any]
    hosts: int
    links: int
    """Number of links of the longest path, in one direction."""
    to_hosts: str
    """Name of the layer of the links to hosts."""

    @property
    def rtt_ps(self) -> int:
        """Returns the unloaded round-trip time of the longest path in picoseconds."""
        return self.links * (2 * DELAY_PS + (MTU + HEADER) * BYTE_PS)

    @property
    def packets(self) -> int:
        """Returns the bandwidth-delay product of the longest path in packets, rounded up."""
        return -(-self.rtt_ps // (BYTE_PS * MTU))


LINK = {"rate": "100Gbps", "delay": "1us"}


def fat_tree(k: int) -> Network:
    """Returns a fat-tree of `k`^3/4 hosts."""
    return Network({"kind": "fat-tree", "k": k, **LINK}, k**3 // 4, 6, "tor-host")


def leaf_spine(spines: int) -> Network:
    """Returns a leaf-spine of 32 leaves with 32 hosts each."""
    topology = {"kind": "leaf-spine", "leaves": 32, "hosts_per_leaf": 32, "spines": spines, **LINK}
    return Network(topology, 1024, 4, "leaf-host")


FAT_TREES = tuple(fat_tree(k) for k in (2, 4, 8, 16))
"""The fat-trees of the scenarios; a matrix runs on the smallest one that has all of its hosts."""
TOPOLOGY_FILES = {"leaf_spine_1024_oversub.topo": leaf_spine(8), "leaf_spine_1024_oversub_8-1.topo": leaf_spine(4)}
"""The topologies that the option `topo` names: leaf-spines with an oversubscription of 4:1 and of 8:1."""


class Kind(StrEnum):
    """The kinds of scenarios, whose values agree in different ways."""

    FEW_FLOWS = "one or two flows"
    INCAST = "incast"
    PERMUTATION = "permutation"
    SLOW_LINKS = "slow links"
    ONE_PATH = "one path"


@dataclass(frozen=True)
class Scenario:
    """A scenario without its expected outcome."""

    flows: tuple[Flow, ...]
    network: Network
    control: str = "sender"
    load_balancing: str = "mixed"
    paths: int = 64
    """Number of entropy values of a flow."""
    message_bytes: int | None = None
    """Size of the messages of which each flow consists; by default a flow is one message."""
    ack_bytes: int = 16384
    queue_packets: int | None = None
    """Capacity of the queues of switches; by default the bandwidth-delay product."""
    initial_window_packets: int | None = None
    slow_links: int = 0
    """Number of slow links from core switches to aggregation switches, from the first aggregation switch on."""
    duration_us: int = 3000

    @property
    def kind(self) -> Kind:
        """Returns the kind."""
        if len(self.flows) <= 2:
            return Kind.FEW_FLOWS
        if self.slow_links:
            return Kind.SLOW_LINKS
        if self.paths == 1:
            return Kind.ONE_PATH
        senders, receivers = ({flow.sender for flow in self.flows}, {flow.receiver for flow in self.flows})
        is_permutation = len(senders) == len(receivers) == len(self.flows)
        return Kind.PERMUTATION if is_permutation else Kind.INCAST

    def spec(self) -> dict[str, Any]:
        """Returns the spec."""
        packets = self.network.packets
        full = self.queue_packets or packets
        uet: dict[str, Any] = {
            "control": self.control,
            "load_balancing": self.load_balancing,
            "entropies": self.paths,
            "ack_bytes": f"{self.ack_bytes}B",
            "network_rtt": f"{self.network.rtt_ps}ps",
            "rto": f"{RTO_PS + 6 * full * MTU * BYTE_PS}ps",
            "simulator_quirks": True,
        }
        if self.message_bytes is not None:
            uet["message_size"] = f"{self.message_bytes}B"
        if self.initial_window_packets is not None:
            uet["initial_window"] = f"{self.initial_window_packets * MTU}B"
        spec: dict[str, Any] = {
            "name": "scenario",
            "duration": f"{self.duration_us}us",
            "topology": self.network.topology,
            "queues": {"limit": f"{full - 1} packets", "kind": _trimming(packets, full, marks=True)},
            "hosts": {"jitter": "0s", "clock_ppm": 0, "qdisc": "switch"},
            "transports": {"uet": {"kind": "uet", "uet": uet}},
            "traffic": _traffic(self.flows),
        }
        if self.control != "sender":
            spec["layers"] = {self.network.to_hosts: {"queue": _trimming(packets, full, marks=False)}}
        if self.slow_links:
            spec["links"] = {name: _slow(packets, full) for name in self._slow_links()}
        return spec

    def _slow_links(self) -> Iterator[str]:
        """Yields the names of the slow links."""
        half = self.network.topology["k"] // 2
        for number in range(self.slow_links):
            aggregation, core = divmod(number, half)
            pod, position = divmod(aggregation, half)
            yield f"core{position}.{core}->agg{pod}.{position}"


def _trimming(packets: int, full: int, *, marks: bool) -> dict[str, Any]:
    """Returns the kind of a queue of `full` packets in a network whose bandwidth-delay product is `packets`."""
    return {"name": "trimming", "headers": f"{2 * full * MTU}B"} | (mark_ramp(packets) if marks else {})


def _slow(packets: int, full: int) -> dict[str, Any]:
    """Returns the settings of a slow link: capacity and marking thresholds change with the rate."""
    capacity = full * MTU // SLOW
    queue = {"name": "trimming", "headers": f"{2 * capacity}B"} | mark_ramp(packets, SLOW)
    return {"rate": SLOW_RATE, "limit": f"{capacity - MTU}B", "queue": queue}


def mark_ramp(packets: int, slower: int = 1) -> dict[str, str]:
    """Returns the thresholds of marks in a network whose bandwidth-delay product is `packets`.

    Those of a slow link are divided by `slower`. Up to the first threshold no packet is marked, above the second all.
    """
    low, high = -(-packets // 5) * MTU, -(-4 * packets // 5) * MTU
    return {"mark_min": f"{low // slower}B", "mark_max": f"{high // slower}B"}


def _traffic(flows: tuple[Flow, ...]) -> list[dict[str, Any]]:
    """Returns traffic entries with the flows in their order; successive flows of one size and start share an entry."""
    return [
        {
            "kind": "bulk",
            "name": f"flows{number}",
            "transport": "uet",
            "pairs": [[flow.sender, flow.receiver] for flow in group],
            "size": f"{size}B",
            "start": f"{start:g}us",
        }
        for number, ((size, start), group) in enumerate(
            groupby(flows, lambda flow: (flow.size_bytes, flow.start_us)),
        )
    ]


QUANTITIES = ("fct_min_us", "fct_max_us", "new", "rtx", "rts", "acks", "nacks", "pulls")
"""The published quantities: times of the first and last completion, and counters."""


def outcome(result: Result) -> pl.DataFrame:
    """Returns one row: the published quantities, and the numbers of flows and of complete flows.

    Times of completion are null if no flow is complete.
    """
    completions = pl.col("acked_s") * 1e6
    times = result.flows.select(
        flows=pl.len(),
        complete=pl.col("acked_s").count(),
        fct_min_us=completions.min(),
        fct_max_us=completions.max(),
    )
    counters = result.subflows.select(
        new=(pl.col("packets_sent") - pl.col("retransmitted")).sum(),
        # The simulator repeats a request to send as data without payload.
        rtx=(pl.col("retransmitted") + pl.col("rts_repeated")).sum(),
        rts=pl.col("rts_sent").sum(),
        acks=pl.col("acks_received").sum(),
        nacks=pl.col("nacks_received").sum(),
        pulls=pl.col("pulls_received").sum(),
    )
    return pl.concat([times, counters], how="horizontal")
