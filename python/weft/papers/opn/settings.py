"""Section "Performance evaluation": a leaf-spine fabric, links of 1 Gbps, buffers of 256 packets of 1.5 KB, RTO 200 ms.

"The link bandwidth and latency are respectively 1Gbps and 100us" is the round-trip time of the motivation: that of a
full packet between racks, of which four links take 50 us to send it and its acknowledgement, so that a link's delay
is 6 us.

The paper gives no transport of its ns-2 beside that. Here it is ns-2's FullTcp with selective acknowledgements, which
its DCTCP and MPTCP are made of: an acknowledgement for every packet, an initial window of 2 packets, three duplicate
acknowledgements, none of what Linux has beyond. Handshakes count, joins begin when the first one is over, and a lost
SYN takes the RTO as well. The marking threshold, which is not given, is DCTCP's 20 packets. Hosts' own queues are
like a switch's. MPTCP and OPN grow by LIA, MPTCP over 20 subflows on 20 paths ("use all paths"), so that only OPN's
own parts make a difference between the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.papers.plain_tcp import PLAIN_TCP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from weft.spec import Experiment

LEAVES, HOSTS_PER_LEAF, SPINES = 40, 50, 20
GBPS = 1.0
DELAY_US = 6
BUFFER, MARK = 256, 20
MSS = 1460
RTO_MS = 200

NS2: dict[str, Any] = {
    "mss": f"{MSS}B",
    "header": "40B",
    "ack_size": "40B",
    "initial_cwnd": 2,
    "initial_rto": f"{RTO_MS}ms",
    "min_rto": f"{RTO_MS}ms",
    "recovery": "sack",
    **PLAIN_TCP,
}
"""The paper's TCP, as changes of the profile `linux`."""

TRANSPORTS: dict[str, dict[str, Any]] = {
    "ecmp": {"cc": "dctcp", "paths": "ecmp"},
    "rps": {"cc": "dctcp", "paths": "rps"},
    "mptcp": {"cc": "lia", "subflows": SPINES, "paths": "consecutive"},
    "mmptcp": {"cc": "lia", "subflows": SPINES, "paths": "mmptcp"},
    "opn": {"cc": "lia", "subflows": SPINES, "paths": "opn"},
    # "The timeout value of status-monitoring timer is set as 2 times of the average round trip time."
    "opn-rtts": {"cc": "lia", "subflows": SPINES, "paths": {"name": "opn", "delta_rtts": 2}},
    "opn-own": {"cc": "lia", "subflows": SPINES, "paths": {"name": "opn", "state": "connection"}},
    # Not the paper's: they show what DCTCP's marks do for ECMP and RPS, and what they would do for the others. DCM is
    # LIA's increase with DCTCP's cuts.
    "ecmp-reno": {"cc": "reno", "paths": "ecmp"},
    "rps-reno": {"cc": "reno", "paths": "rps"},
    "mptcp-dcm": {"cc": "dcm", "subflows": SPINES, "paths": "consecutive"},
    "opn-dcm": {"cc": "dcm", "subflows": SPINES, "paths": "opn"},
}
OTHERS = ("ecmp", "rps", "mptcp", "mmptcp")
OPNS = ("opn", "opn-rtts")
"""The timer delta of Algorithm 1, and that of the text; a claim about OPN is judged for each."""
SCHEMES = (*OTHERS, *OPNS)
MORE = ("opn-own", "ecmp-reno", "rps-reno")
"""In tables only, at full size."""
MARKED = ("mptcp-dcm", "opn-dcm")
"""In tables and notes only."""
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
    "opn-dcm": "OPN 200 us with DCM",
}
COLOURS = {"ecmp": "#444444", "rps": "#d55e00", "mptcp": "#cc79a7", "mmptcp": "#e69f00", "opn": "#0072b2"}
COLOURS |= {"opn-rtts": "#56b4e9"}


def transport(name: str) -> dict[str, Any]:
    """One of `TRANSPORTS` with the paper's TCP."""
    return {**TRANSPORTS[name], "scheduler": "round-robin", "tcp": dict(NS2)}


def experiment(
    name: str,
    *,
    seconds: float,
    transports: Iterable[str],
    traffic: Sequence[Mapping[str, Any]],
    leaves: int = 2,
    others: Mapping[str, Mapping[str, Any]] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Experiment:
    """An experiment in that fabric.

    Args:
        name: Its name.
        seconds: Simulated.
        transports: Of `TRANSPORTS`.
        traffic: Entries.
        leaves: Racks, of which the paper has `LEAVES`.
        others: Transports beside these, or instead of those of the same name.
        more: Further fields of the spec.
    """
    from weft import Experiment

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
            "traffic": traffic,
            **(more or {}),
        }
    )
