"""The common setting of figures 1 to 3 (section 3.1): large networks and a permutation over them at the flow level.

The paper's simulator iterates between the links' loss rates and the rates that TCP's response function gives; level
"flow" does as well. The networks have links of 1 Gbps; VL2's switches have ten times as much between each other. A
fat-tree and VL2 have a random path for each subflow. BCube has the four paths of its own construction, of which VLB
takes a random one and additional subflows the next. "Should be achievable" is a host's link. In BCube, whose hosts
forward, it is all links over the links of all shortest paths: n / (n - 1) of a host's link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.figure import Scale

RATE_GBPS = 1
DELAY = "20us"
PACKET, PAYLOAD = 1514, 1448
"""Bytes on the wire of a full packet and of its payload."""
VLB = 1
"""Number of paths of a connection by VLB; more paths are subflows of Multipath TCP."""


@dataclass(frozen=True)
class Network:
    """A topology of one size."""

    topology: Mapping[str, Any]
    """Kind and fields of the topology, without rate and delay."""
    hosts: int
    achievable: float = 1.0
    """Rate of a connection over that of a link when the network is full."""


def fat_tree(ports: int) -> Network:
    """Returns a fat-tree of switches with `ports` ports: ports³ / 4 hosts."""
    return Network({"kind": "fat-tree", "k": ports}, ports**3 // 4)


def vl2(ports: int) -> Network:
    """Returns VL2 of switches with `ports` ports: 5 ports² hosts."""
    return Network({"kind": "vl2", "aggregation_ports": ports, "intermediate_ports": ports}, 5 * ports**2)


def bcube(ports: int, level: int) -> Network:
    """Returns BCube of switches with `ports` ports and levels 0 to `level`: ports^(level + 1) hosts."""
    return Network({"kind": "bcube", "n": ports, "k": level}, ports ** (level + 1), ports / (ports - 1))


FULL: dict[str, Network] = {"FatTree": fat_tree(32), "VL2": vl2(48), "BCube": bcube(8, 3)}
"""The networks at the paper's sizes where it gives them: 8192 and about 11,000 hosts; BCube has 4096 hosts here."""
SMALL: dict[str, Network] = {"FatTree": fat_tree(8), "VL2": vl2(8), "BCube": bcube(4, 2)}
"""The networks of the quick versions."""
COLOURS = {"FatTree": "#0072b2", "VL2": "#d55e00", "BCube": "#009e73"}


def permutation(network: Network, subflows: int, events: Iterable[Mapping[str, Any]] = ()) -> Experiment:
    """Returns an experiment in which every host sends to another one at full rate and receives from one."""
    return long_flows(network, subflows, "permutation", events)


def long_flows(
    network: Network,
    subflows: int,
    pairs: Literal["permutation"] | list[tuple[str, str]],
    events: Iterable[Mapping[str, Any]] = (),
) -> Experiment:
    """Returns an experiment with a flow at full rate between the hosts of each pair.

    One path uses Reno, several use LIA.
    """
    transport = {"cc": "reno" if subflows == VLB else "lia", "subflows": subflows}
    if network.topology["kind"] != "bcube":
        transport["paths"] = "vlb"
    return Experiment.model_validate(
        {
            "name": f"{network.topology['kind']}-{network.hosts}-{subflows}",
            "level": "flow",
            "duration": "1s",
            "measure": {"start": "500ms"},
            "topology": {**network.topology, "rate": f"{RATE_GBPS}Gbps", "delay": DELAY},
            "queues": {"limit": "100 packets"},
            "transports": {"all": transport},
            "traffic": [{"kind": "bulk", "transport": "all", "pairs": pairs}],
            "events": list(events),
        }
    )


def cases(subflows: Sequence[int], scale: Scale) -> list[Case]:
    """Returns runs of every topology with each of these numbers of subflows."""
    return [
        case(name, network, count, seed)
        for name, network in (SMALL if scale.quick else FULL).items()
        for count in subflows
        for seed in range(1, scale.seeds + 1)
    ]


def case(name: str, network: Network, subflows: int, seed: int) -> Case:
    """Returns one run, labelled with the topology's name, its hosts and the achievable rate of a connection."""
    labels: dict[str, str | int | float] = {
        "topology": name,
        "hosts": network.hosts,
        "subflows": subflows,
        "achievable": network.achievable,
    }
    return Case(labels, permutation(network, subflows), seed)


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: mean and lowest rate of the connections over a link's, on the wire's terms; Jain's index."""
    rate = pl.col("goodput_bps") * (PACKET / PAYLOAD / (RATE_GBPS * 1e9))
    squares = (rate * rate).sum()
    return result.flows.select(
        mean=rate.mean(),
        slowest=rate.min(),
        jain=rate.sum() * rate.sum() / (rate.len() * squares),
    ).with_columns(iterations=pl.lit(result.manifest["flow"]["iterations"]))


def part(column: str) -> pl.Expr:
    """Returns a rate in per cent of what should be achievable."""
    return 100 * pl.col(column) / pl.col("achievable")
