"""The common settings of the figures on Linux: AMP's experiments, scaled to the rate of a kernel's software switch.

Links have 200 Mbit/s instead of 10 Gbps; K, the queues' limit and the number of subflows are the paper's. The
transport is the kernel's own. So the packet level runs the profile `linux`, whose handshake, SACK, delayed ACK and
minimum RTO follow the kernel.

Links of 20 us are about the time that the kernel takes from interface to interface. The BDP is then 3.4 packets. More
than (BDP + K) / cwnd_min = 7 flows and subflows have the minimum window syndrome, where the paper's setting needs 15.
Nearly all cells of these figures have the syndrome, so they test Weft's programs and not the paper's regime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft import Experiment
from weft_papers.amp.settings import AMP, DCM, DCTCP, LIMIT, SUBFLOWS, XMP, K

LEVELS = ("linux", "packet")
RATE = "200Mbps"
RATE_MBPS = 200
DELAY = "20us"
TRANSPORTS: dict[str, dict[str, Any]] = {
    "amp": {"cc": AMP, "subflows": SUBFLOWS},
    "xmp": {"cc": XMP, "subflows": SUBFLOWS},
    "dcm": {"cc": DCM, "subflows": SUBFLOWS},
    # While the other subflows are suppressed, the initial subflow is cut like a DCTCP flow.
    "amp-dctcp-cut": {"cc": AMP | {"dctcp_cut": 1}, "subflows": SUBFLOWS},
    "mptcp": {"cc": {"name": "lia", "per_ack": 1}, "subflows": SUBFLOWS},
    # The kernel's DCTCP starts with alpha = 1, and the BPF program does as well.
    "dctcp": {"cc": DCTCP | {"alpha0": 1}},
}


def experiment(
    name: str,
    *,
    topology: Mapping[str, Any],
    transports: Mapping[str, Mapping[str, Any]],
    measure_from: str | None = None,
    **fields: object,
) -> Experiment:
    """Returns an experiment with these other fields, which are the same for either level."""
    return Experiment.model_validate(
        {
            "name": name,
            "measure": {"start": measure_from} if measure_from else None,
            "topology": {"rate": RATE, "delay": DELAY, **topology},
            "queues": {"limit": LIMIT, "mark": f"{K} packets"},
            # The testbed's hosts send through ports like those of its switches.
            "hosts": {"qdisc": "switch"},
            "transports": {name: {"profile": "linux", **transport} for name, transport in transports.items()},
            "probes": (),
            **fields,
        }
    )
