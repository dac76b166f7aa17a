"""The common setting of section 3's figures at the packet level: a fat-tree of 128 hosts with links of 1 Gbps.

The paper gives the network, the rate, and that its simulator "models TCP very similarly to ns2". It does not give
link delays, queues, packet sizes or RTO. The values here are those of later public versions of that simulator, htsim,
if these have one. A link has 10 us, a queue 100 packets (1000 at the hosts' ports), and the initial RTO is 3 s. Loss
recovery is NewReno by three duplicate acknowledgements, with an acknowledgement for every packet and without limited
transmit. The minimum RTO of htsim changed; that of ns-2, 200 ms, is taken. Flows open over 50 ms, as there.

A subflow whose window opens takes the next data, as in round robin. A SYN is never lost: a lost one would take 3 s,
longer than many of these runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft import Experiment
from weft_papers.style import Style

PORTS = 8
HOSTS = PORTS**3 // 4
QUICK_PORTS = 4
"""A fat-tree of 16 hosts for the quick versions."""
RATE_GBPS = 1
OPENING = "50ms"
"""Time over which the first flows open."""

PACKET, PAYLOAD, ACK = 1514, 1448, 66
"""Bytes on the wire of a full packet, of its payload, and of an acknowledgement."""
MAX_GBPS = RATE_GBPS * PAYLOAD / (PACKET + ACK)
"""A host's goodput when its link is full with data one way and with the acknowledgements of as much data the other."""

PROFILE = "htsim-2011"
"""Section 3's TCP."""
LINUX_2010 = {"recovery": "sack", "tail_loss_probe": False, "prr": False}
"""Section 4's TCP: Linux's loss recovery of 2010, before RACK, tail loss probes and RFC 6937."""


SHOWN = {
    "vlb": Style("VLB", "#444444"),
    "multipath": Style("Multipath TCP", "#cc79a7", "s"),
    "scheduler": Style("First fit", "#0072b2", "^"),
}


def transport(
    cc: str | Mapping[str, Any], subflows: int = 1, *, profile: str = PROFILE, tcp: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns a transport whose subflows each take a random path, in both directions.

    Args:
        cc: Congestion control.
        subflows: Number of subflows per connection; 1 is single path.
        profile: Profile of the TCP, by default that of section 3.
        tcp: Changes to the profile.
    """
    return {"cc": cc, "subflows": subflows, "paths": "vlb", "profile": profile, "tcp": dict(tcp or {})}


VLB = transport({"name": "reno", "rfc_growth": 1})
MULTIPATH = transport("lia", 8)


def fat_tree(name: str, *, seconds: float, ports: int = PORTS, warm_up: float = 0.0, **fields: object) -> Experiment:
    """Returns an experiment in that network.

    Args:
        name: Name of the experiment.
        seconds: Simulated time.
        ports: Ports of a switch.
        warm_up: Seconds before links, queues and goodput are measured.
        fields: Other fields of the spec.
    """
    return Experiment.model_validate(
        {
            "name": name,
            "duration": f"{seconds}s",
            "measure": {"start": f"{warm_up}s"},
            "topology": {"kind": "fat-tree", "k": ports, "rate": f"{RATE_GBPS}Gbps", "delay": "10us"},
            "queues": {"limit": "100 packets", "host": {"limit": "1000 packets"}},
            # The simulator's hosts send at once, through ports like those of its switches.
            "hosts": {"qdisc": "switch", "jitter": "0us"},
            **fields,
        }
    )
