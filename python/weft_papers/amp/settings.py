"""Section 5's settings: they hold for every figure unless its module says otherwise.

They are 10 Gbps, MSS 1400, queues of 100 packets, marking threshold K = 10 packets, 4 subflows, cwnd_min 2, beta 4,
gamma 2 and tau 8. The profile `amp-2019` is the transport of the authors' simulator, in which DCTCP's alpha starts at
0.

Sizes in KB are multiples of 1024 bytes, as in the source of that simulator.

The paper contradicts itself about a link's delay. Section 5 has "a link delay of 2us" for all simulations, and
section 3.2 "in our setup, BDP is 20 packets". Full packets have 1,462 bytes on the wire. A BDP of 20 of them needs
links of 5 us; links of 2 us have 9 packets. `DELAY_US` is one reading for all figures of the topologies of figures 1
and 5. Three sentences support 5 us, and they were read before the runs:

- The BDP of 20 packets itself.
- "The condition begins to hold when the setting has 3-4 subflows ... and 8 DCTCP flows" with 30 to 32 packets in
  flight, that is, above BDP + K = 30. With links of 2 us it is 19, which two subflows exceed.
- Four multipath flows double the median queue of figure 10. Their 40 packets less 20 in flight are 20; less 9 they
  are 31.

Every figure of these topologies shows its claims with links of 2 us as well. For the fat-tree only section 5 gives a
delay, so its figures use 2 us.

K counts the packets that wait, without the one being sent, as in the source of that simulator. The example of section
3.2 counts the packet being sent: "the 5th packet" finds a queue equal to K = 4. In that count its K = 4 is 3 here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from weft import Experiment
from weft_papers.style import Style

RATE = "10Gbps"
RATE_BPS = 10e9
DELAY_US = 5
"""Delay of a link, in us, for the claims about the topologies of figures 1 and 5."""
STATED_DELAY_US = 2
"""The delay that section 5 states, in us; those claims are shown with it as well."""
LIMIT = "100 packets"
K = 10
TOLERANCE = 0.15
"""Relative tolerance for the paper's times and ratios, which have two or three digits."""
SUBFLOWS = 4
PROFILE = "amp-2019"
AMP: dict[str, Any] = {"name": "amp", "gamma": 2, "tau": 8, "beta": 4, "cwnd_min": 2}
XMP: dict[str, Any] = {"name": "xmp", "beta": 4, "cwnd_min": 2}
DCM: dict[str, Any] = {"name": "dcm", "alpha0": 0, "cwnd_min": 2}
DCTCP: dict[str, Any] = {"name": "dctcp", "alpha0": 0, "cwnd_min": 2}
MPTCP: dict[str, Any] = {"name": "lia", "beta": 4, "cwnd_min": 2, "per_ack": 1}
"""Section 4.1's "MPTCP (beta = 4)": linked increases, computed at every ACK as DCM's are, and a constant cut."""
PAPER_FCT_MS = (pl.col("acked_s") - pl.col("established_s")) * 1e3
"""A flow's completion time in ms as in the authors' simulator, measured at the sender.

It lasts from subflow 0's SYN/ACK to the last acknowledgement. The column `fct_s` ends where the receiver has the last
byte.
"""
BY_SENDER = "FCT ends with the last acknowledgement at the sender, as in the authors' simulator"
"""A sentence for the notes of claims."""


def unfinished_ms(end_s: float) -> pl.Expr:
    """Returns the lower bound of `PAPER_FCT_MS` for a flow with a size that the run's end cut off; otherwise null."""
    cut_off = pl.col("acked_s").is_null() & pl.col("size_bytes").is_not_null() & (pl.col("start_s") < end_s)
    return pl.when(cut_off).then((end_s - pl.col("established_s").fill_null(end_s)) * 1e3)


RTO_200_MS = {"initial_rto": "200ms"}
STALL = {"stall_on_held_data": True}
"""A fault of the authors' simulator: retransmitted data that the connection already has does not advance the subflow.
"""
TRANSPORTS: dict[str, dict[str, Any]] = {
    "amp": {"cc": AMP, "subflows": SUBFLOWS},
    "xmp": {"cc": XMP, "subflows": SUBFLOWS},
    "dcm": {"cc": DCM, "subflows": SUBFLOWS},
    "mptcp": {"cc": MPTCP, "subflows": SUBFLOWS},
    "dctcp": {"cc": DCTCP},
    # Section 6's MPTCP and MMPTCP, which do not use ECN, and MMPTCP with the ECN of section 4.1's "MPTCP (beta = 4)".
    "mptcp-without-ecn": {"cc": "lia", "subflows": SUBFLOWS},
    "mmptcp-without-ecn": {"cc": "lia", "subflows": SUBFLOWS, "paths": "mmptcp"},
    "mmptcp": {"cc": MPTCP, "subflows": SUBFLOWS, "paths": "mmptcp"},
    # These are not the paper's; each shows the effect of one difference to the paper.
    "amp-without-suppression": {"cc": AMP | {"ssr": 0}, "subflows": SUBFLOWS},
    "amp-gamma-1": {"cc": AMP | {"gamma": 1}, "subflows": SUBFLOWS},
    "amp-linux-rounds": {"cc": AMP, "subflows": SUBFLOWS, "tcp": {"round_end": "linux"}},
    "dcm-constant-cut": {"cc": MPTCP, "subflows": SUBFLOWS},
    "xmp-rto-200ms": {"cc": XMP, "subflows": SUBFLOWS, "tcp": RTO_200_MS},
    "dcm-rto-200ms": {"cc": DCM, "subflows": SUBFLOWS, "tcp": RTO_200_MS},
    "xmp-stall": {"cc": XMP, "subflows": SUBFLOWS, "tcp": STALL},
    "dcm-stall": {"cc": DCM, "subflows": SUBFLOWS, "tcp": STALL},
    # A stock Linux sender has ten packets at once, on each subflow.
    "amp-linux": {"profile": "linux", "cc": AMP, "subflows": SUBFLOWS},
    "amp-linux-delayed": {"profile": "linux", "cc": AMP, "subflows": SUBFLOWS, "join_after": "256KB"},
    "dctcp-linux": {"profile": "linux", "cc": DCTCP | {"alpha0": 1}},
}


def beta_keeps_link_busy(bdp_packets: float, mark: float, beta: float) -> bool:
    """Returns true if a cut leaves packets in the queue: section 4.2's rule for beta, (BDP + K) / beta <= K."""
    return (bdp_packets + mark) / beta <= mark


SHOWN = {
    "amp": Style("AMP", "#0072b2", "o"),
    "xmp": Style("XMP", "#d55e00", "s"),
    "dcm": Style("DCM", "#009e73", "^"),
    "mptcp": Style("MPTCP", "#cc79a7", "v"),
    "dctcp": Style("DCTCP", "#444444", "D"),
    "mptcp-without-ecn": Style("MPTCP without ECN", "#cc79a7", "v"),
    "mmptcp-without-ecn": Style("MMPTCP without ECN", "#e69f00", "<"),
    "mmptcp": Style("MMPTCP", "#e69f00", "<"),
    "amp-dctcp-cut": Style("AMP, alpha cut", "#e69f00", "P"),
    "amp-linux": Style("AMP, joins at once", "#e69f00", "P"),
    "amp-linux-delayed": Style("AMP, joins delayed", "#0072b2", "o"),
    "amp-without-suppression": Style("AMP without suppression", "#56b4e9", "x"),
}


def transport(name: str, **changes: object) -> dict[str, Any]:
    """Returns one of `TRANSPORTS` with the settings that all have, and changes such as `subflows=8`."""
    return {"profile": PROFILE, **TRANSPORTS[name], **changes}


def many_to_one(
    name: str,
    *,
    senders: int,
    delay_us: int,
    mark: int = K,
    host_jitter: str = "0s",
    rate: str = RATE,
    **fields: object,
) -> Experiment:
    """Returns figure 1: `senders` hosts, a switch, a receiver; K is `mark` packets and the bottleneck is `s0->r0`.

    Other fields are those of the spec.
    """
    if host_jitter != "0s":
        fields["hosts"] = {"jitter": host_jitter}
    return _experiment({"kind": "many-to-one", "senders": senders, "rate": rate}, name, delay_us, mark, fields)


def two_bottlenecks(name: str, *, delay_us: int, host_gbps: int = 10, **fields: object) -> Experiment:
    """Returns figure 5: S1 to D1 over the upper bottleneck, S3 to D3 over the lower one, S2 to D2 over both.

    Other fields are those of the spec.
    """
    return _experiment({"kind": "two-bottlenecks", "host_rate": f"{host_gbps}Gbps"}, name, delay_us, K, fields)


def _experiment(
    topology: Mapping[str, Any], name: str, delay_us: int, mark: int, fields: Mapping[str, object]
) -> Experiment:
    return Experiment.model_validate(
        {
            "name": name,
            "topology": {"rate": RATE, **topology, "delay": f"{delay_us}us"},
            "queues": {"limit": LIMIT, "mark": f"{mark} packets"},
            "probes": (),
            **fields,
        }
    )
