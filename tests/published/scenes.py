"""Experiments of the published comparisons, at both levels."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import polars as pl

import weft

RTT = 0.1
"""Round-trip time in seconds without queues."""

WIRE, PAYLOAD = 1514, 1448
"""Bytes of a full packet on the wire, and of its payload."""

RANDOM_DROPS = {
    "limit": "400 packets",
    "kind": {"name": "red", "min": "10 packets", "max": "190 packets", "probability": 0.1, "action": "drop"},
}
"""Queues of five copies that drop packets at random, as equations have losses, instead of in bursts."""

Links = list[dict[str, Any]]


def packets_per_rtt(mbps: float) -> float:
    """The bandwidth-delay product in packets."""
    return 1e6 * mbps * RTT / (8 * WIRE)


def experiment(
    hosts: list[str], switches: list[str], links: Links, traffic: list[dict[str, Any]], **fields: Any
) -> dict[str, Any]:
    """A spec of a graph whose links have 1 Gbps and 1 us if they have nothing else."""
    spec: dict[str, Any] = {
        "name": "published",
        "duration": "300s",
        "measure": {"start": "50s"},
        "topology": {
            "kind": "graph",
            "hosts": hosts,
            "switches": switches,
            "links": links,
            "rate": "1Gbps",
            "delay": "1us",
        },
        "traffic": [{"kind": "bulk", "jitter": "1s"} | entry for entry in traffic],
    }
    return spec | fields


def transport(cc: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A transport whose windows no buffer limits and whose subflows send in turn, as windows allow."""
    return {
        "cc": cc,
        "paths": "by-interface",
        "scheduler": "round-robin",
        "tcp": {"receive_buffer": "256MiB", "send_buffer": "256MiB"},
    } | fields


def bottlenecks(mbps: list[float], connections: list[list[int]], cc: str, copies: int) -> dict[str, Any]:
    """Connections with one path over each of some bottlenecks, `copies` of each connection.

    `mbps` are the rates of the bottlenecks per copy. Queues hold 20 packets per copy.
    """
    hosts, switches, links, traffic = [], ["hub"], [], []
    delay = f"{1e6 * RTT / 6:.0f}us"
    for j, rate in enumerate(mbps):
        switches += [f"x{j}", f"y{j}"]
        # The hub makes it one graph. Paths over it are longer and carry nothing.
        links += [{"a": f"x{j}", "b": f"y{j}", "rate": f"{1e3 * rate * copies:.0f}kbps", "delay": delay}]
        links += [{"a": f"x{j}", "b": "hub"}]
    for copy in range(copies):
        for c, paths in enumerate(connections):
            sender, receiver = f"s{c}.{copy}", f"d{c}.{copy}"
            hosts += [sender, receiver]
            for j in paths:
                links += [{"a": sender, "b": f"x{j}", "delay": delay}, {"a": f"y{j}", "b": receiver, "delay": delay}]
            traffic.append({"transport": f"over {len(paths)}", "from": sender, "to": receiver, "name": f"{c}.{copy}"})
    transports = {f"over {n}": transport(cc, subflows=n) for n in sorted(set(map(len, connections)))}
    queues = {"limit": f"{20 * copies} packets"}
    return experiment(hosts, switches, links, traffic, transports=transports, queues=queues)


def listed_paths(
    mbps: list[float], connections: list[list[list[int]]], cc: str, copies: int, queues: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Connections whose paths lead over several bottlenecks, `copies` of each connection, all with one round-trip time.

    `mbps` are the rates of the bottlenecks per copy. Queues hold 20 packets per copy, unless they are given.
    """
    bottleneck = {(f"x{j}", f"y{j}"): f"{1e3 * rate * copies:.0f}kbps" for j, rate in enumerate(mbps)}
    links: Links = [{"a": a, "b": b, "rate": rate} for (a, b), rate in bottleneck.items()]
    pairs = [pair for paths in connections for path in paths for pair in pairwise(path)]
    links += [{"a": f"y{i}", "b": f"x{j}"} for i, j in dict.fromkeys(pairs)]
    hosts, listed, traffic = [], [], []
    delay = f"{1e6 * RTT / 4:.0f}us"
    for copy in range(copies):
        for c, paths in enumerate(connections):
            sender, receiver = f"s{c}.{copy}", f"d{c}.{copy}"
            hosts += [sender, receiver]
            for path in paths:
                links += [
                    {"a": sender, "b": f"x{path[0]}", "delay": delay},
                    {"a": f"y{path[-1]}", "b": receiver, "delay": delay},
                ]
                listed.append([sender, *(node for j in path for node in (f"x{j}", f"y{j}")), receiver])
            traffic.append({"transport": f"over {len(paths)}", "from": sender, "to": receiver, "name": f"{c}.{copy}"})
    transports = {f"over {n}": transport(cc, subflows=n) for n in sorted(set(map(len, connections)))}
    queues = queues or {"limit": f"{20 * copies} packets"}
    switches = [node for pair in bottleneck for node in pair]
    spec = experiment(hosts, switches, links, traffic, transports=transports, queues=queues)
    return spec | {"topology": spec["topology"] | {"paths": listed}}


def one_bottleneck(mbps: float, senders: int, cc: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Senders that share a bottleneck, the link a->b."""
    delay = f"{1e6 * RTT / 6:.3f}us"
    names = [f"s{n}" for n in range(senders)]
    links: Links = [{"a": name, "b": "a", "delay": delay} for name in names]
    links += [
        {"a": "a", "b": "b", "rate": f"{1e6 * mbps:.0f}bps", "delay": delay},
        {"a": "b", "b": "d", "delay": delay},
    ]
    traffic = [{"transport": "all", "from": names, "to": "d"}]
    probes = [{"kind": "queue", "at": ["a->b"]}]
    transports = {"all": transport(cc)}
    return experiment([*names, "d"], ["a", "b"], links, traffic, transports=transports, probes=probes) | fields


def lossy_link(loss: float, senders: int, cc: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Senders over a link that loses data at random, and that is never full. Acknowledgements are not lost."""
    spec = one_bottleneck(1000, senders, cc, queues={"limit": "10000 packets"}, **fields)
    links: Links = spec["topology"]["links"]
    cable = next(link for link in links if (link["a"], link["b"]) == ("a", "b"))
    links.append(cable | {"a": "b", "b": "a", "one_way": True})
    cable |= {"one_way": True, "queue": {"name": "lossy", "loss": loss}}
    return spec


def next_to_source(mbps: float, senders: int, cc: str, source_mbps: float) -> dict[str, Any]:
    """Senders that share the link a->b with a source of constant rate. The queue holds a bandwidth-delay product."""
    spec = one_bottleneck(mbps, senders + 1, cc, queues={"limit": f"{packets_per_rtt(mbps):.0f} packets"})
    *responsive, last = spec["traffic"][0]["from"]
    source = {"kind": "constant-rate", "rate": f"{1e6 * source_mbps:.0f}bps", "paths": "by-interface"}
    flows = spec["traffic"][0] | {"name": "flows", "from": responsive}
    traffic = [flows, flows | {"name": "source", "from": last, "transport": "source"}]
    return spec | {"transports": spec["transports"] | {"source": source}, "traffic": traffic}


def run(spec: dict[str, Any], level: str, seed: int = 1) -> weft.Result:
    """Runs a spec at a level."""
    if level == "flow":
        spec = {name: value for name, value in spec.items() if name != "probes"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.ResultWarning)
        return weft.run(spec | {"level": level}, seed=seed)


@cache
def shares(mbps: tuple[float, ...], connections: tuple[tuple[int, ...], ...], cc: str, level: str) -> list[float]:
    """The rate of each connection of `bottlenecks` in Mbps on the wire, as a mean over five copies."""
    copies = 5
    result = run(bottlenecks(list(mbps), [list(paths) for paths in connections], cc, copies), level)
    return rates_of(result)


def rates_of(result: weft.Result) -> list[float]:
    """The mean rate of the copies of each connection in Mbps on the wire."""
    rates = result.flows.with_columns(connection=pl.col("traffic").str.split(".").list.first().cast(pl.Int32))
    means = rates.group_by("connection").agg(pl.col("goodput_bps").mean()).sort("connection")
    return [rate * WIRE / PAYLOAD / 1e6 for rate in means["goodput_bps"]]


def bottleneck_of(result: weft.Result) -> dict[str, Any]:
    """The row of the link a->b."""
    return result.links.row(by_predicate=(pl.col("from") == "a") & (pl.col("to") == "b"), named=True)
