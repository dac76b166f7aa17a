"""Section "Performance evaluation": a leaf-spine fabric, 1 Gbps, buffers of 256 packets of 1.5 KB, RTO 200 ms.

"The link bandwidth and latency are respectively 1Gbps and 100us" is the round-trip time of the motivation. It is that
of a full packet between racks. Four links take 50 us to send it and its acknowledgement, so a link's delay is 6 us.

The paper says nothing else about the transport of its ns-2. Here it is ns-2's FullTcp with selective
acknowledgements, on which the DCTCP and MPTCP of ns-2 are based. It sends an acknowledgement for every packet, has an
initial window of 2 packets and three duplicate acknowledgements, and has none of Linux's additions. The default of
ns-2's `window_`, 20 packets, bounds windows and is the first slow-start threshold. Handshakes count.
Joins begin when the first handshake is over, and a lost SYN takes the RTO as well.

The marking threshold, which the paper does not give, is DCTCP's 20 packets. Hosts' own queues are like a switch's.
MPTCP and OPN grow by LIA, MPTCP over 20 subflows on 20 paths ("use all paths"). So only OPN's own parts make a
difference between the two. "For ECMP and RPS, DCTCP is chosen" leaves open how subflows grow. LIA without marks is
judged, because the paper's argument is the loss of whole windows. In the other reading all multipath schemes have
DCTCP's cuts; it is run side by side for the workloads. No reading gives all statements. With marks no flow times out,
so that the reason for OPN is gone. Without them LIA's full queues cost what OPN gains over DCTCP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft import Experiment

LEAVES, HOSTS_PER_LEAF, SPINES = 40, 50, 20
GBPS = 1.0
DELAY_US = 6
BUFFER, MARK = 256, 20
MSS = 1460
RTO_MS = 200
PROFILE = "ns2-2019"
RENO: dict[str, Any] = {"name": "reno", "rfc_growth": 1}
"""Reno of RFC 5681, as in ns-2."""

TRANSPORTS: dict[str, dict[str, Any]] = {
    "ecmp": {"cc": "dctcp", "paths": "ecmp"},
    "rps": {"cc": "dctcp", "paths": "rps"},
    "mptcp": {"cc": "lia", "subflows": SPINES, "paths": "consecutive"},
    "mmptcp": {"cc": "lia", "subflows": SPINES, "paths": "mmptcp"},
    "opn": {"cc": "lia", "subflows": SPINES, "paths": "opn"},
    # "The timeout value of status-monitoring timer is set as 2 times of the average round trip time."
    "opn-rtts": {"cc": "lia", "subflows": SPINES, "paths": {"name": "opn", "delta_rtts": 2}},
    "opn-own": {"cc": "lia", "subflows": SPINES, "paths": {"name": "opn", "state": "connection"}},
    # These are not the paper's: they show the effect of DCTCP's marks on ECMP and RPS, and their
    # effect on the others. DCM is LIA's increase with DCTCP's cuts.
    "ecmp-reno": {"cc": RENO, "paths": "ecmp"},
    "rps-reno": {"cc": RENO, "paths": "rps"},
    "mptcp-dcm": {"cc": "dcm", "subflows": SPINES, "paths": "consecutive"},
    "mmptcp-dcm": {"cc": "dcm", "subflows": SPINES, "paths": "mmptcp"},
    "opn-dcm": {"cc": "dcm", "subflows": SPINES, "paths": "opn"},
    "opn-rtts-dcm": {"cc": "dcm", "subflows": SPINES, "paths": {"name": "opn", "delta_rtts": 2}},
}
OTHERS = ("ecmp", "rps", "mptcp", "mmptcp")
OPNS = ("opn", "opn-rtts")
"""OPN with the timer delta of Algorithm 1, and with that of the text; a claim about OPN is judged for each."""
SCHEMES = (*OTHERS, *OPNS)
MORE = ("opn-own", "ecmp-reno", "rps-reno")
"""Transports that only tables show, at full size."""
MARKED = ("mptcp-dcm", "mmptcp-dcm", "opn-dcm", "opn-rtts-dcm")
"""The other reading of the subflows' congestion control: DCTCP's cuts for all multipath schemes."""
WITH = {"opn": "with a delta of 200 us", "opn-rtts": "with a delta of two smoothed RTTs"}
LABELS = {
    "ecmp": "ECMP",
    "rps": "RPS",
    "mptcp": "MPTCP",
    "mmptcp": "MMPTCP",
    "opn": "OPN 200 us",
    "opn-rtts": "OPN 2 RTTs",
    "opn-own": "OPN 200 us, a memory for each connection",
    "ecmp-reno": "ECMP with Reno",
    "rps-reno": "RPS with Reno",
    "mptcp-dcm": "MPTCP with DCM",
    "mmptcp-dcm": "MMPTCP with DCM",
    "opn-dcm": "OPN 200 us with DCM",
    "opn-rtts-dcm": "OPN 2 RTTs with DCM",
}
COLOURS = {"ecmp": "#444444", "rps": "#d55e00", "mptcp": "#cc79a7", "mmptcp": "#e69f00", "opn": "#0072b2"}
COLOURS |= {"opn-rtts": "#56b4e9"}


def transport(name: str) -> dict[str, Any]:
    """Returns one of `TRANSPORTS` with the paper's TCP."""
    return {**TRANSPORTS[name], "profile": PROFILE}


def experiment(
    name: str,
    *,
    seconds: float,
    transports: Iterable[str],
    leaves: int = 2,
    others: Mapping[str, Mapping[str, Any]] | None = None,
    **fields: object,
) -> Experiment:
    """Returns an experiment in that fabric.

    Args:
        name: Name of the experiment.
        seconds: Simulated time.
        transports: Names in `TRANSPORTS`.
        leaves: Racks, of which the paper has `LEAVES`.
        others: Additional transports; they replace those with the same name.
        fields: Other fields of the spec.
    """
    return Experiment.model_validate(
        {
            "name": name,
            "duration": f"{seconds * 1e6:.0f}us",
            "topology": {
                "kind": "leaf-spine",
                "leaves": leaves,
                "hosts_per_leaf": HOSTS_PER_LEAF,
                "spines": SPINES,
                "rate": f"{GBPS:g}Gbps",
                "delay": f"{DELAY_US}us",
            },
            "queues": {"limit": f"{BUFFER} packets", "mark": f"{MARK} packets"},
            "hosts": {"qdisc": "switch", "jitter": "0us"},
            "transports": {**{value: transport(value) for value in transports}, **(others or {})},
            **fields,
        }
    )
