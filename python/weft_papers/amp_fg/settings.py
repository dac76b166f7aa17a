"""Section V's settings: a fat-tree of 128 servers and 80 switches of 8 ports, links of 1 Gbps, ECMP.

"The RTT without queuing delay is 100us between any two servers": here it is that of a full packet between pods. Its
six links take 73 us to send it and 3 us to send its acknowledgement, so a link's delay is 2 us.

The paper does not give the marking threshold K. Here it is a fifth of the buffer: DCTCP's 20 packets if the buffer
holds 100. The paper does not give the transport of its ns-3.21 either, which had no selective acknowledgements. Here
it is NewReno by three duplicate acknowledgements, an acknowledgement for every packet, as equation (2) supposes, and
RTOs from 200 ms. The initial window of one packet, slow-start threshold and buffers are those of ns-3.21's sockets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft import Experiment
from weft_papers.style import Style

PORTS = 8
HOSTS = PORTS**3 // 4
QUICK_PORTS = 4
"""A fat-tree of 16 hosts, for quick versions."""
DELAY_US = 2
RTT_US = 100
BDP = 1e9 * RTT_US * 1e-6 / (8 * 1514)
"""Bandwidth-delay product in packets."""
BUFFER = 100
K_OF_BUFFER = 5
"""Divisor of the buffer that gives K."""

PROFILE = "ns-3.21"
SCHEDULER = "linux"
"""The paper does not give the packet scheduler."""

ALGORITHMS: dict[str, str | dict[str, Any]] = {
    "dctcp": "dctcp",
    "mmptcp": "lia",
    "lia": "lia",
    "xmp": "xmp",
    "amp-fg": {"name": "amp-fg", "cwnd_min": 1},
    # These are not the paper's, or another reading of it; each shows the effect of one difference.
    "xmp-floor-1": {"name": "xmp", "cwnd_min": 1},
    "amp-fg-neighbours": {"name": "amp-fg", "cwnd_min": 1, "neighbours": 1},
    "amp-fg-floor-2": {"name": "amp-fg", "cwnd_min": 2},
}
PATHS = {"mmptcp": "mmptcp"}
"""Path policies of the algorithms that do not use ECMP."""


SHOWN = {
    "dctcp": Style("DCTCP", "#444444", "D"),
    "mmptcp": Style("MMPTCP", "#e69f00", "<"),
    "lia": Style("LIA", "#cc79a7", "v"),
    "xmp": Style("XMP", "#d55e00", "s"),
    "amp-fg": Style("AMP-FG", "#0072b2", "o"),
    "xmp-floor-1": Style("XMP with a floor of 1 packet", "#e69f00", "P"),
    "amp-fg-neighbours": Style("AMP-FG with Algorithm 1's XOR", "#56b4e9", "x"),
    "amp-fg-floor-2": Style("AMP-FG with a floor of 2 packets", "#009e73", "^"),
}


def transport(algorithm: str, subflows: int = 1) -> dict[str, Any]:
    """Returns one of `ALGORITHMS` with each subflow on a path by hash.

    MMPTCP, which grows by LIA, has its own rule.
    """
    paths = PATHS.get(algorithm, "ecmp")
    fields = {"cc": ALGORITHMS[algorithm], "subflows": subflows, "paths": paths}
    return {**fields, "scheduler": SCHEDULER, "profile": PROFILE}


def fat_tree(ports: int = PORTS) -> dict[str, Any]:
    """Returns that topology, or a smaller one."""
    return {"kind": "fat-tree", "k": ports}


def tor_of(host: int, ports: int = PORTS) -> str:
    """Returns the switch of a host."""
    half = ports // 2
    return f"tor{host // half**2}.{host % half**2 // half}"


def experiment(
    name: str,
    *,
    topology: Mapping[str, Any],
    seconds: float,
    buffer: int = BUFFER,
    mark: int | None = None,
    **fields: object,
) -> Experiment:
    """Returns an experiment with section V's links.

    Args:
        name: Name of the experiment.
        topology: Kind and size.
        seconds: Simulated time.
        buffer: Packets that a queue holds.
        mark: K in packets; by default a fifth of the buffer.
        fields: Other fields of the spec.
    """
    return Experiment.model_validate(
        {
            "name": name,
            "duration": f"{seconds * 1e6:.0f}us",
            "topology": {"rate": "1Gbps", "delay": f"{DELAY_US}us", **topology},
            "queues": {"limit": f"{buffer} packets", "mark": f"{mark or buffer // K_OF_BUFFER} packets"},
            # Hosts of ns-3 send at once, through a queue like a switch's.
            "hosts": {"qdisc": "switch", "jitter": "0us"},
            **fields,
        }
    )
