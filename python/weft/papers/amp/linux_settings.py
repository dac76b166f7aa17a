"""What the figures on Linux share: AMP's experiments scaled to what a kernel's software switch carries.

200 Mbit/s instead of 10 Gbps; K, the queues' limit and the number of subflows are the paper's. The transport is the
kernel's own, so the packet level runs the profile `linux`, whose handshake, SACK, delayed ACK and minimum RTO are meant
to be the same.
Links of 20 us are about what the kernel takes from interface to interface. The BDP is then 3.4 packets, and more than
(BDP + K) / cwnd_min = 7 flows and subflows have the minimum window syndrome, where the paper's setting needs 15. Nearly
all cells of these figures are in the syndrome, so that they test Weft's programs, not the paper's regime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.papers.amp.settings import AMP, DCM, DCTCP, LIMIT, SUBFLOWS, XMP, K

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weft.spec import Experiment

LEVELS = ("linux", "packet")
RATE = "200Mbps"
RATE_MBPS = 200
DELAY = "20us"
TRANSPORTS: dict[str, dict[str, Any]] = {
    "amp": {"cc": AMP, "subflows": SUBFLOWS},
    "xmp": {"cc": XMP, "subflows": SUBFLOWS},
    "dcm": {"cc": DCM, "subflows": SUBFLOWS},
    # Alone, as the initial subflow is while the others are suppressed, it is cut as a DCTCP flow.
    "amp-dctcp-cut": {"cc": AMP | {"dctcp_cut": 1}, "subflows": SUBFLOWS},
    "mptcp": {"cc": {"name": "lia", "per_ack": 1}, "subflows": SUBFLOWS},
    # The kernel's DCTCP starts with alpha = 1, and so does the BPF program.
    "dctcp": {"cc": DCTCP | {"alpha0": 1}},
}


def experiment(
    name: str,
    *,
    level: str,
    duration: str,
    topology: Mapping[str, Any],
    transports: Mapping[str, Mapping[str, Any]],
    traffic: Sequence[Mapping[str, Any]],
    probes: Sequence[Mapping[str, Any]] = (),
    measure_from: str | None = None,
) -> Experiment:
    """The same experiment at either level."""
    from weft import Experiment

    return Experiment.model_validate(
        {
            "name": name,
            "level": level,
            "duration": duration,
            "measure": {"start": measure_from} if measure_from else None,
            "topology": {"rate": RATE, "delay": DELAY, **topology},
            "queues": {"limit": LIMIT, "mark": f"{K} packets"},
            # The testbed's hosts send through ports like its switches'.
            "hosts": {"qdisc": "switch"},
            "transports": {name: {"profile": "linux", **transport} for name, transport in transports.items()},
            "traffic": traffic,
            "probes": probes,
        }
    )
