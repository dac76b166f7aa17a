"""Section 5's settings: they hold for every figure unless its module says otherwise.

10 Gbps, MSS 1400, queues of 100 packets, marking threshold K = 10 packets, 4 subflows, cwnd_min 2, beta 4,
gamma 2, tau 8. The profile `amp-2019` is the transport of the authors' simulator, in which DCTCP's alpha starts at 0.

The paper says that a link's delay is 2 us. Its "BDP is 20 packets" needs about 5 us, and so do its queue lengths.
Figures run both and say which their claims use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weft.spec import Experiment

RATE = "10Gbps"
LIMIT = "100 packets"
K = 10
SUBFLOWS = 4
PROFILE = "amp-2019"
AMP: dict[str, Any] = {"name": "amp", "gamma": 2, "tau": 8, "beta": 4, "cwnd_min": 2}
XMP: dict[str, Any] = {"name": "xmp", "beta": 4, "cwnd_min": 2}
DCM: dict[str, Any] = {"name": "dcm", "alpha0": 0, "cwnd_min": 2}
DCTCP: dict[str, Any] = {"name": "dctcp", "alpha0": 0, "cwnd_min": 2}
RTO_200_MS = {"initial_rto": "200ms"}
TRANSPORTS: dict[str, dict[str, Any]] = {
    "amp": {"cc": AMP, "subflows": SUBFLOWS},
    "xmp": {"cc": XMP, "subflows": SUBFLOWS},
    "dcm": {"cc": DCM, "subflows": SUBFLOWS},
    "dctcp": {"cc": DCTCP},
    # Not the paper's: they show what a difference to the paper comes from.
    "amp-without-suppression": {"cc": AMP | {"ssr": 0}, "subflows": SUBFLOWS},
    "xmp-rto-200ms": {"cc": XMP, "subflows": SUBFLOWS, "tcp": RTO_200_MS},
    "dcm-rto-200ms": {"cc": DCM, "subflows": SUBFLOWS, "tcp": RTO_200_MS},
}


@dataclass(frozen=True)
class Shown:
    """How an algorithm looks in a plot."""

    label: str
    colour: str
    marker: str


SHOWN = {
    "amp": Shown("AMP", "#0072b2", "o"),
    "xmp": Shown("XMP", "#d55e00", "s"),
    "dcm": Shown("DCM", "#009e73", "^"),
    "dctcp": Shown("DCTCP", "#444444", "D"),
}


def transport(name: str, **changes: object) -> dict[str, Any]:
    """One of `TRANSPORTS` with the settings that all have, and changes such as `subflows=8`."""
    return {"profile": PROFILE, **TRANSPORTS[name], **changes}


def many_to_one(
    name: str,
    *,
    senders: int,
    delay_us: int,
    duration: str,
    transports: Mapping[str, Mapping[str, Any]],
    traffic: Sequence[Mapping[str, Any]],
    mark: int = K,
) -> Experiment:
    """Figure 1: `senders` hosts, a switch, a receiver; K is `mark` packets."""
    from weft import Experiment

    return Experiment.model_validate(
        {
            "name": name,
            "duration": duration,
            "topology": {"kind": "many-to-one", "senders": senders, "rate": RATE, "delay": f"{delay_us}us"},
            "queues": {"limit": LIMIT, "mark": f"{mark} packets"},
            "transports": transports,
            "traffic": traffic,
        }
    )
