"""What section 3's figures at the packet level share: a fat-tree of 128 hosts with links of 1 Gbps, and its TCP.

The paper gives the network, the rate, and that its simulator "models TCP very similarly to ns2". It does not give link
delays, queues, packet sizes or RTO. Those here are of later public versions of that simulator, htsim, as far as these
have one: 10 us a link, queues of 100 packets, 1000 at the hosts' ports, initial RTO 3 s, NewReno by three duplicate
acknowledgements, an acknowledgement for every packet, no limited transmit. The floor of its RTO changed; ns-2's,
200 ms, is taken. Flows open over 50 ms, as there. A subflow whose window opens takes the next data, which is what
round-robin does. A SYN is never lost: one that is would take 3 s, longer than many of these runs are to last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.papers.plain_tcp import PLAIN_TCP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weft.spec import Experiment

PORTS = 8
HOSTS = PORTS**3 // 4
QUICK_PORTS = 4
"""A fat-tree of 16 hosts for the quick versions."""
RATE_GBPS = 1
OPENING = "50ms"
"""Over which the first flows open."""

PACKET, PAYLOAD, ACK = 1514, 1448, 66
"""Bytes on the wire of a full packet, of its payload, and of an acknowledgement."""
MAX_GBPS = RATE_GBPS * PAYLOAD / (PACKET + ACK)
"""A host's goodput when its link is full with data one way and with the acknowledgements of as much data the other."""

NS2: dict[str, Any] = {
    "initial_cwnd": 2,
    "initial_rto": "3s",
    "protect_handshake": True,
    "recovery": "newreno",
    **PLAIN_TCP,
}
"""Section 3's TCP, as changes of the profile `linux`."""
LINUX_2010 = {"recovery": "sack", "tail_loss_probe": False, "prr": False}
"""Section 4's: Linux's loss recovery of 2010, before RACK, tail loss probes and RFC 6937."""


@dataclass(frozen=True)
class Shown:
    """How a way of sending looks in plots."""

    label: str
    colour: str
    marker: str = "o"


SHOWN = {
    "vlb": Shown("VLB", "#444444"),
    "multipath": Shown("Multipath TCP", "#cc79a7", "s"),
    "scheduler": Shown("First fit", "#0072b2", "^"),
}


def transport(cc: str, subflows: int = 1, tcp: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A transport whose subflows each take a random path, in both directions.

    Args:
        cc: Congestion control.
        subflows: Of a connection; 1 is single path.
        tcp: What differs from the profile `linux`; left out, `NS2`. Nothing is Linux with its packet scheduler, too.
    """
    settings = dict(NS2 if tcp is None else tcp)
    scheduler = {"scheduler": "round-robin"} if settings else {}
    return {"cc": cc, "subflows": subflows, "paths": "vlb", "tcp": settings, **scheduler}


VLB = transport("reno")
MULTIPATH = transport("lia", 8)


def fat_tree(
    name: str,
    *,
    seconds: float,
    transports: Mapping[str, Mapping[str, Any]],
    traffic: Sequence[Mapping[str, Any]],
    ports: int = PORTS,
    warm_up: float = 0.0,
    more: Mapping[str, Any] | None = None,
) -> Experiment:
    """An experiment in that network.

    Args:
        name: Its name.
        seconds: Simulated.
        transports: By name.
        traffic: Entries.
        ports: Of a switch.
        warm_up: Seconds before links, queues and goodput are measured.
        more: Further fields of the spec.
    """
    from weft import Experiment

    return Experiment.model_validate(
        {
            "name": name,
            "duration": f"{seconds}s",
            "measure": {"start": f"{warm_up}s"},
            "topology": {"kind": "fat-tree", "k": ports, "rate": f"{RATE_GBPS}Gbps", "delay": "10us"},
            "queues": {"limit": "100 packets", "host": {"limit": "1000 packets"}},
            # The simulator's hosts send through ports like its switches', and at once.
            "hosts": {"qdisc": "switch", "jitter": "0us"},
            "transports": transports,
            "traffic": traffic,
            **(more or {}),
        }
    )
