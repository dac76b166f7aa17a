"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make generate`; do not edit."""

from __future__ import annotations

from typing import Annotated, Literal
from pydantic import ConfigDict, Field
from weft.model import Model, OwnCc
from typing_extensions import TypeAliasType


class AmpCc(Model):
    """AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)"""

    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark or a fast retransmit, in packets"""
    dctcp_cut: Annotated[int, Field(ge=0, le=1)] = 0
    """1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper"""
    gamma: Annotated[int, Field(ge=1, le=1000000)] = 2
    """rounds with all windows at the floor until subflows are suppressed"""
    name: Literal["amp"] = "amp"
    """AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)"""
    ssr: Annotated[int, Field(ge=0, le=1)] = 1
    """0 switches subflow suppression and release off"""
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """rounds without a mark until suppressed subflows are released"""


class AmpFgCc(Model):
    """AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by marks, in packets; the paper has 1, which waits for delayed ACKs"""
    name: Literal["amp-fg"] = "amp-fg"
    """AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)"""
    neighbours: Annotated[int, Field(ge=0, le=1)] = 0
    """1 compares neighbours within a round (Algorithm 1), 0 two rounds (equation (3))"""
    weight_ratio: Annotated[int, Field(ge=0, le=1)] = 0
    """1: weights of marks by the sum of all weights (text), 0: by the window (equation (5))"""


class BaliaCc(Model):
    """BALIA: balanced linked adaptation (draft-walid-mptcp-congestion-control)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["balia"] = "balia"
    """BALIA: balanced linked adaptation (draft-walid-mptcp-congestion-control)"""


class BpfAmpCc(Model):
    """AMP in the C of weftd's program weft_amp: fixed point, up to 8 coupled subflows"""

    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark or a fast retransmit, in packets"""
    dctcp_cut: Annotated[int, Field(ge=0, le=1)] = 0
    """1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper"""
    gamma: Annotated[int, Field(ge=1, le=1000000)] = 2
    """rounds with all windows at the floor until subflows are suppressed"""
    name: Literal["bpf:amp"] = "bpf:amp"
    """AMP in the C of weftd's program weft_amp: fixed point, up to 8 coupled subflows"""
    ssr: Annotated[int, Field(ge=0, le=1)] = 1
    """0 switches subflow suppression and release off"""
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """rounds without a mark until suppressed subflows are released"""


class BpfAmpFgCc(Model):
    """AMP-FG in the C of weftd's program weft_amp_fg: positions of marks in rows of bits"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by marks, in packets; the paper has 1, which waits for delayed ACKs"""
    name: Literal["bpf:amp-fg"] = "bpf:amp-fg"
    """AMP-FG in the C of weftd's program weft_amp_fg: positions of marks in rows of bits"""
    neighbours: Annotated[int, Field(ge=0, le=1)] = 0
    """1 compares neighbours within a round (Algorithm 1), 0 two rounds (equation (3))"""
    weight_ratio: Annotated[int, Field(ge=0, le=1)] = 0
    """1: weights of marks by the sum of all weights (text), 0: by the window (equation (5))"""


class BpfBaliaCc(Model):
    """BALIA in the C of weftd's program weft_balia: fixed point, up to 8 coupled subflows"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["bpf:balia"] = "bpf:balia"
    """BALIA in the C of weftd's program weft_balia: fixed point, up to 8 coupled subflows"""


class BpfDcmCc(Model):
    """DCM in the C of weftd's program weft_dcm: fixed point, up to 8 coupled subflows"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    name: Literal["bpf:dcm"] = "bpf:dcm"
    """DCM in the C of weftd's program weft_dcm: fixed point, up to 8 coupled subflows"""
    per_ack: Annotated[int, Field(ge=0, le=1)] = 1
    """1 computes a of equation (1) at every acknowledgement, 0 once per round"""


class BpfDctcpCc(Model):
    """DCTCP in the C of weftd's program weft_dctcp: windows and alpha in fixed point"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    name: Literal["bpf:dctcp"] = "bpf:dctcp"
    """DCTCP in the C of weftd's program weft_dctcp: windows and alpha in fixed point"""


class BpfLiaCc(Model):
    """LIA in the C of weftd's program weft_lia: fixed point, up to 8 coupled subflows"""

    beta: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """0: no ECN; otherwise a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark or a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["bpf:lia"] = "bpf:lia"
    """LIA in the C of weftd's program weft_lia: fixed point, up to 8 coupled subflows"""
    per_ack: Annotated[int, Field(ge=0, le=1)] = 0
    """1 computes alpha at every acknowledgement, 0 once per round"""


class BpfOliaCc(Model):
    """OLIA in the C of weftd's program weft_olia: fixed point, up to 8 coupled subflows"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["bpf:olia"] = "bpf:olia"
    """OLIA in the C of weftd's program weft_olia: fixed point, up to 8 coupled subflows"""


class BpfWarpCc(Model):
    """Warp in the C of weftd's program weft_warp: one window in fixed point for 8 subflows"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    kappa: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """part of a share that moves away at each round per unit of marks in excess"""
    name: Literal["bpf:warp"] = "bpf:warp"
    """Warp in the C of weftd's program weft_warp: one window in fixed point for 8 subflows"""
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """rounds in a row with room for one more subflow until it sends again"""


class BpfWvegasCc(Model):
    """wVegas in the C of weftd's program weft_wvegas: fixed point, up to 8 coupled subflows"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a window after a round, and of a cut by a loss, in packets"""
    drain: Annotated[int, Field(ge=0, le=1)] = 1
    """1: drains queues whose delay has doubled (the paper); 0: never drains queues"""
    gamma: Annotated[int, Field(ge=0, le=1000)] = 1
    """packets in queues above which slow start ends (1 in the authors' module)"""
    name: Literal["bpf:wvegas"] = "bpf:wvegas"
    """wVegas in the C of weftd's program weft_wvegas: fixed point, up to 8 coupled subflows"""
    total_alpha: Annotated[int, Field(ge=2, le=1000)] = 10
    """packets that a connection keeps in queues, shared by its subflows (10 in the paper)"""


class BpfXmpCc(Model):
    """XMP in the C of weftd's program weft_xmp: fixed point, up to 8 coupled subflows"""

    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    name: Literal["bpf:xmp"] = "bpf:xmp"
    """XMP in the C of weftd's program weft_xmp: fixed point, up to 8 coupled subflows"""


class ByInterfacePaths(Model):
    """Subflow s takes path s, in both directions; the first path follows the last. It keeps the interfaces at both
    ends: while one of their cables is down, it times out, and other subflows carry the data."""

    name: Literal["by-interface"] = "by-interface"
    """path s for subflow s, as if every path had an interface of its own"""


class ConsecutivePaths(Model):
    """A path drawn for the first subflow; the other subflows take the paths with the next numbers."""

    name: Literal["consecutive"] = "consecutive"
    """a path drawn for the first subflow, the next paths for additional subflows; one number for both directions"""


class CubicCc(Model):
    """CUBIC with HyStart on each subflow, Linux's default (RFC 9438)"""

    beta: Annotated[float, Field(ge=0.1, le=0.95)] = 0.7
    """a congestion event leaves this part of the window"""
    c: Annotated[float, Field(ge=0.001, le=1000.0)] = 0.4
    """C of equation (1), in packets per cubic second"""
    ecn: Annotated[int, Field(ge=0, le=1)] = 0
    """1 asks for ECN (RFC 3168), and a mark counts as a loss does"""
    fast_convergence: Annotated[int, Field(ge=0, le=1)] = 1
    """0 switches fast convergence off"""
    hystart: Annotated[int, Field(ge=0, le=1)] = 1
    """0 switches HyStart off"""
    name: Literal["cubic"] = "cubic"
    """CUBIC with HyStart on each subflow, Linux's default (RFC 9438)"""
    rfc_growth: Annotated[int, Field(ge=0, le=1)] = 0
    """1: grows at every acknowledgement by RFC 9438, sections 4.2 to 4.5; 0: as Linux does"""


class DcmCc(Model):
    """DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    name: Literal["dcm"] = "dcm"
    """DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)"""
    per_ack: Annotated[int, Field(ge=0, le=1)] = 1
    """1 computes a of equation (1) at every acknowledgement, 0 once per round"""


class DctcpCc(Model):
    """DCTCP on each subflow, uncoupled (RFC 8257)"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    name: Literal["dctcp"] = "dctcp"
    """DCTCP on each subflow, uncoupled (RFC 8257)"""


class DisjointPaths(Model):
    """No two subflows share a path until every path has a subflow."""

    name: Literal["disjoint"] = "disjoint"
    """subflows over distinct paths, spread over as many branches as possible; the first path is drawn"""


class EcmpPaths(Model):
    """A path drawn for each subflow, and another for its acknowledgements."""

    name: Literal["ecmp"] = "ecmp"
    """a path drawn by hash for each subflow and direction, as switches do"""


Point = TypeAliasType("Point", Annotated[list[float], Field(max_length=2, min_length=2)])


FctFrom = TypeAliasType("FctFrom", Literal["open", "established"])
"""Start of a flow's completion time, which ends when the receiver has the last byte."""


class FifoQueue(Model):
    """A FIFO that drops above `limit` and marks from `mark` on."""

    name: Literal["fifo"] = "fifo"
    """a FIFO per port with a limit and a marking threshold (default)"""


class FullyCoupledCc(Model):
    """fully coupled: the connection as one flow over all paths (NSDI 2011, section 2)"""

    name: Literal["fully-coupled"] = "fully-coupled"
    """fully coupled: the connection as one flow over all paths (NSDI 2011, section 2)"""


class LatencyProbe(Model):
    """One-way latency of flows' data."""

    flows: list[int] | str | None = None
    """Indices of flows, as in the probe `flow`; by default all flows."""
    kind: Literal["latency"] = "latency"
    """one-way latency of all data of chosen flows, from first transmission to in-order delivery"""
    traffic: str | None = None
    """Name of a traffic entry; by default all entries."""


class LiaCc(Model):
    """LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)"""

    beta: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """0: no ECN; otherwise a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark or a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["lia"] = "lia"
    """LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)"""
    per_ack: Annotated[int, Field(ge=0, le=1)] = 0
    """1 computes alpha at every acknowledgement, 0 once per round"""


class LossyQueue(Model):
    """A FIFO that drops above `limit` and marks from `mark` on, and whose link loses packets of all sorts. A lost
    packet has waited and has taken its time on the link. Packets that a profile exempts from drops are never
    lost. Set `loss` or `every`."""

    every: Annotated[int | None, Field(ge=1)] = None
    """Distance between two lost packets: the link loses each packet whose number is a multiple of it."""
    loss: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Probability that a packet is lost, independently of other packets."""
    name: Literal["lossy"] = "lossy"
    """a FIFO per port whose link loses packets at random, or every n-th packet"""


class OliaCc(Model):
    """OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["olia"] = "olia"
    """OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)"""


Overflow = TypeAliasType("Overflow", Literal["drop", "return"])
"""The fate of a header for which there is no room."""


class PacketsProbe(Model):
    """Packets that cross links."""

    at: Annotated[list[str], Field(examples=[["r0"], ["s0->r0"]], min_length=1)]
    """Links whose packets are recorded: hosts or switches for all their links, the names of the ends of a link,
    "FROM->TO", or a layer, such as "tor-agg"."""
    kind: Literal["packets"] = "packets"
    """all packets of a link or a host, which `weft trace` writes as pcapng"""


class PinnedPaths(Model):
    """All subflows take the path with one number, in both directions. They keep the interfaces at both ends."""

    name: Literal["pinned"] = "pinned"
    """the path with a given number, for every subflow"""
    path: Annotated[int, Field(ge=0)] = 0
    """Number of the path, from 0; the first path follows the last."""


Qdisc = TypeAliasType("Qdisc", Literal["switch", "fq", "fifo"])
"""Queueing discipline of a host's port."""


Recovery = TypeAliasType("Recovery", Literal["newreno", "sack", "rack"])
"""How a subflow recovers from loss."""


RedAction = TypeAliasType("RedAction", Literal["mark", "drop"])
"""The action of RED."""


RedAt = TypeAliasType("RedAt", Literal["enqueue", "dequeue"])
"""The time at which RED decides about a packet."""


class RenoCc(Model):
    """Reno on each subflow, uncoupled, without ECN (RFC 5681)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["reno"] = "reno"
    """Reno on each subflow, uncoupled, without ECN (RFC 5681)"""
    rfc_growth: Annotated[int, Field(ge=0, le=1)] = 0
    """1: grows by 1 / cwnd per packet (RFC 5681); 0: by whole packets, as Linux does"""


RoceControlName = TypeAliasType("RoceControlName", Literal["dcqcn", "timely", "patched-timely", "hpcc", "none"])
"""Congestion control of RDMA over converged Ethernet."""


RoceRetransmission = TypeAliasType("RoceRetransmission", Literal["go-back-n", "selective-repeat"])
"""Retransmission of RDMA over converged Ethernet."""


RoundEnd = TypeAliasType("RoundEnd", Literal["rfc8257", "linux"])
"""The end of a round of DCTCP."""


class RpsPaths(Model):
    """A path drawn for every packet."""

    name: Literal["rps"] = "rps"
    """random packet spraying: a path drawn for every packet, in both directions"""


RtoEstimator = TypeAliasType("RtoEstimator", Literal["rfc6298", "linux"])
"""The estimator of the retransmission timeout."""


class Staggered(Model):
    """Staggered probabilities by distance (Al-Fares et al., "Hedera", NSDI 2010, section 5.2). With probability
    `tor`, a flow goes to a host of the same ToR. With probability `pod`, it goes to a host of the same pod at
    another ToR. Otherwise it goes to a host elsewhere."""

    pod: Annotated[float, Field(ge=0.0, le=1.0)]
    """Probability of a host of the same pod at another ToR: four links away."""
    tor: Annotated[float, Field(ge=0.0, le=1.0)]
    """Probability of a host of the same ToR: two links away."""


StateScope = TypeAliasType("StateScope", Literal["host", "connection"])
"""Scope of the path state."""


class StepsProbe(Model):
    """Computing, messages and operations of ranks, and the critical path of each job."""

    kind: Literal["steps"] = "steps"
    """computing and messages of jobs of ranks, and the critical path, at the levels `packet` and `flow`"""
    traffic: str | None = None
    """Name of a traffic entry whose jobs run on ranks; by default all these entries."""


class Stop(Model):
    """A condition that ends the experiment: a number of flows of a class have all their data acknowledged. The run
    ends at the first whole millisecond of simulated time at or after the last of these acknowledgements. If
    `duration` is below a second, the interval is shorter than a millisecond."""

    class_: Annotated[str, Field(alias="class")]
    """Name of a class, or of a traffic entry for those of its flows that are in no class."""
    flows: Annotated[int, Field(ge=1)]
    """Number of flows, at most those of the class. If the number of flows depends on the seed, a class with fewer
    flows gives a warning."""


class Sweep(Model):
    """Fields and seeds that `weft sweep` varies, unless options of the command replace them."""

    over: list[str] | None = None
    """Fields and their values, in the form of the option `--over`: `transports.amp.cc=amp,xmp,dcm`,
    `traffic[0].flows=10:40:10`. Several fields make all combinations, and the last field varies fastest."""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of runs per combination, with consecutive seeds from the spec's seed."""


TimelyUpdates = TypeAliasType("TimelyUpdates", Literal["segment", "round-trip"])
"""Events that change the rate of a flow under TIMELY."""


Group = TypeAliasType("Group", Annotated[int, Field(ge=0)])


Straggler = TypeAliasType("Straggler", Annotated[int, Field(ge=0)])


TrimTo = TypeAliasType("TrimTo", Literal["receiver", "sender"])
"""The destination of headers."""


UetControl = TypeAliasType("UetControl", Literal["sender", "receiver", "both"])
"""Congestion control of the Ultra Ethernet transport."""


UetLoadBalancing = TypeAliasType("UetLoadBalancing", Literal["oblivious", "bitmap", "reps", "mixed"])
"""Load balancing of the Ultra Ethernet transport."""


class UncoupledCc(Model):
    """uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a loss, in packets (2 in RFC 5681, equation (4))"""
    name: Literal["uncoupled"] = "uncoupled"
    """uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)"""
    weight: Annotated[float, Field(ge=0.0001, le=1.0)] = 1.0
    """packets gained per round (EWTCP); with 1 / n^2, n subflows share as one flow"""


Victim = TypeAliasType("Victim", Literal["random", "arriving"])
"""The packet that is cut if a packet does not fit."""


class VlbPaths(Model):
    """A path drawn for each subflow by the sender."""

    name: Literal["vlb"] = "vlb"
    """a path drawn by the sender for each subflow, uniformly, for both directions"""


class WarpCc(Model):
    """Warp: one DCTCP window for a whole connection, spread over its subflows"""

    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """alpha of a new subflow"""
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """weight of the newest round in alpha"""
    kappa: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """part of a share that moves away at each round per unit of marks in excess"""
    name: Literal["warp"] = "warp"
    """Warp: one DCTCP window for a whole connection, spread over its subflows"""
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """rounds in a row with room for one more subflow until it sends again"""


WindowValidation = TypeAliasType("WindowValidation", Literal["linux", "half-used"])
"""The condition on which a congestion window may grow."""


class WvegasCc(Model):
    """wVegas: delays in queues as signal, weighted by rate (Cao et al., ICNP 2012)"""

    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a window after a round, and of a cut by a loss, in packets"""
    drain: Annotated[int, Field(ge=0, le=1)] = 1
    """1: drains queues whose delay has doubled (the paper); 0: never drains queues"""
    gamma: Annotated[int, Field(ge=0, le=1000)] = 1
    """packets in queues above which slow start ends (1 in the authors' module)"""
    name: Literal["wvegas"] = "wvegas"
    """wVegas: delays in queues as signal, weighted by rate (Cao et al., ICNP 2012)"""
    total_alpha: Annotated[int, Field(ge=2, le=1000)] = 10
    """packets that a connection keeps in queues, shared by its subflows (10 in the paper)"""


class XmpCc(Model):
    """XMP: constant cuts, rate-balanced growth once per round (AMP's paper, section 2.2)"""

    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """a mark cuts the window by 1 / beta"""
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """floor of a cut by a mark, in packets"""
    name: Literal["xmp"] = "xmp"
    """XMP: constant cuts, rate-balanced growth once per round (AMP's paper, section 2.2)"""


Time = TypeAliasType(
    "Time",
    Annotated[str, Field(examples=["2us", "1.5ms", "20s"], pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min|µs|μs)$")],
)


Size = TypeAliasType(
    "Size",
    Annotated[
        str,
        Field(examples=["128KB", "64KiB", "1448B"], pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$"),
    ],
)


Rate = TypeAliasType(
    "Rate",
    Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps|Tbit/s|Gbit/s|Mbit/s|kbit/s|bit/s)$",
        ),
    ],
)


Limit = TypeAliasType(
    "Limit",
    Annotated[
        str,
        Field(
            examples=["100 packets", "150KB"],
            pattern="^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ],
)


Mark = TypeAliasType(
    "Mark",
    Annotated[
        str,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ],
)


HostSet = TypeAliasType(
    "HostSet", Annotated[str | int | list[str | int], Field(examples=["h0", "0..8", "all", ["h0", "h5"]])]
)


Pairs = TypeAliasType("Pairs", Literal["permutation", "random"] | Staggered | list[list[str | int]])


Algorithm = TypeAliasType(
    "Algorithm",
    Literal[
        "ring",
        "halving-doubling",
        "recursive-doubling",
        "binomial-tree",
        "double-binary-tree",
        "chain",
        "shift",
        "at-once",
    ],
)
"""An algorithm of collective operations."""


class BcubeTopology(Model):
    """Hosts h0, h1, … by address; switches swL.I, with level L."""

    delay: Time
    """Propagation delay of every link."""
    k: Annotated[int, Field(ge=0, le=4)]
    """The highest level, counted from 0; hosts have k + 1 ports."""
    kind: Literal["bcube"] = "bcube"
    """n^(k+1) hosts with k+1 ports that forward, n-port switches between them (BCube, section 3)"""
    n: Annotated[int, Field(ge=2, le=64)]
    """Ports of a switch."""
    rate: Rate
    """Rate of every link."""


class BufferProbe(Model):
    """Bytes that wait in the buffers of switches, whose ports have queues of kind "shared" or "lossless"."""

    at: Annotated[list[str] | None, Field(examples=[["s0"]], min_length=1)] = None
    """Names of switches; by default all switches with such ports."""
    interval: Time
    """Sampling interval."""
    kind: Literal["buffer"] = "buffer"
    """bytes that wait in the buffer of a switch, at an interval: queues of kind `shared` or `lossless`"""


class CodelQueue(Model):
    """A FIFO that drops packets when their transmission would begin, once all packets have waited for longer than
    `target` for an `interval`. The drops become more frequent until the delay is below `target`. `limit` and
    `mark` hold when packets arrive."""

    ecn: bool | None = None
    """Whether ECN-capable packets are marked instead of dropped, as with the option `ecn` of Linux's `codel`."""
    interval: Time = "100ms"
    """Time for which packets wait too long before the first drop, above 0: about the longest usual round-trip time.
    The default is that of RFC 8289, section 4.3, for the Internet."""
    name: Literal["codel"] = "codel"
    """controlled delay: drops packets that wait too long for too long (RFC 8289)"""
    target: Time = "5ms"
    """Acceptable waiting time of a standing queue, above 0. The default is that of RFC 8289, section 4.4, for the
    Internet. In a data centre, 5 to 10 % of the round-trip time fits."""


class ConstantSize(Model):
    """One size for all flows."""

    kind: Literal["constant"] = "constant"
    """one size"""
    size: Size
    """Size of every flow."""


class EmpiricalSize(Model):
    """Cumulative distribution of sizes, linear between its points: the workload or file `cdf`, or `points`."""

    cdf: str | None = None
    """Name of a workload, "data-mining" or "web-search", or path of a file, relative to the spec's folder. Each line
    of the file is a point: a size and a cumulative probability, as a fraction or in percent. A comment states the
    unit: "# size in bytes" or "# size in packets of 1460 bytes"."""
    kind: Literal["empirical"] = "empirical"
    """a cumulative distribution: a workload by name, a file, or points"""
    points: list[Point] | None = None
    """Points instead of a file: [size in bytes, cumulative probability as a fraction]. A resolved spec has the
    points of its file here."""
    unit: Size | None = None
    """Unit of the file's sizes, if the file does not state it: "1B", or "1460B" for packets."""


class Event(Model):
    """A change of links: they go down, come up, or get another rate or delay. Links are selected by name, by node or
    by layer; a fraction of the selected links may be drawn at random."""

    at: Time
    """Time of the change, which takes effect before all other events at that time. A packet whose last bit leaves at
    that time has already left."""
    bidirectional: bool = True
    """Whether the links in the other direction change as well."""
    delay: Time | None = None
    """New propagation delay, not together with "down". Packets on the wire arrive at most this long after the
    change."""
    detection_delay: Time = "0s"
    """Time until routing detects that links went down or came up. From then on, flows get paths without down links;
    until then, packets are sent to down links and lost."""
    fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Fraction of the selected links that change, above 0 and at most 1. With the same seed, every event of a run
    draws the same links; a smaller fraction draws a subset of a larger one."""
    layer: str | None = None
    """Name of a layer, such as "agg-core", for all its links."""
    links: list[str] | None = None
    """Links by the names of their ends, such as "tor0.1->agg0.0"."""
    nodes: list[str] | None = None
    """Nodes, for all links from and to them."""
    rate: Rate | None = None
    """New rate, from the next packet on; not together with "down"."""
    state: Literal["down", "up"] | None = None
    """"down": queued packets and packets in transmission are lost, packets on the wire arrive, and later packets are
    lost. "up": the link works again. At least one of the links must be down."""


class ExponentialSize(Model):
    """Exponential distribution; draws above 1 TB count as 1 TB."""

    kind: Literal["exponential"] = "exponential"
    """exponential with a given mean"""
    mean: Size
    """Mean size."""


class FatTreeTopology(Model):
    """Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, rack T, aggregation switch A and its core
    switch I."""

    delay: Time
    """Propagation delay of every link."""
    host_rate: Rate | None = None
    """Rate of the hosts' links, if it differs."""
    k: Annotated[int, Field(ge=2, le=254, multiple_of=2)]
    """Ports of every switch, even: k pods, k^3/4 hosts."""
    kind: Literal["fat-tree"] = "fat-tree"
    """k pods, k^3/4 hosts, full bisection bandwidth unless oversubscribed"""
    oversubscription: Annotated[int, Field(ge=1, le=64)] = 1
    """Hosts per uplink of a ToR: 1 gives full bisection bandwidth, 4 has four times the hosts."""
    rate: Rate
    """Rate of every link."""


class FirstFitController(Model):
    """Large flows go to the first path with room. The controller uses the rates of the topology, because it does not
    observe rates that events change."""

    interval: Time
    """Time between two assignments of paths, at least 1us; Hedera has 5 s."""
    kind: Literal["first-fit"] = "first-fit"
    """Hedera's global first fit: large flows, found at intervals, go to the first path with room for their demand"""
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """Fraction of its host's link rate above which a subflow is large. Its rate is the acknowledged rate, averaged
    over the interval."""


class FlowProbe(Model):
    """Windows of the subflows of flows."""

    flows: list[int] | str | None = None
    """Indices of flows in their traffic entry, from 0; by default all flows. A closed loop numbers the first flows
    of all loops, then the second flows, and so on. A job numbers its requests, then its blocks. To select flows
    of loops or jobs, set `traffic` to the name of their entry."""
    interval: Time | None = None
    """Sampling interval; by default every change is recorded."""
    kind: Literal["flow"] = "flow"
    """cwnd, ssthresh and activity of every subflow of chosen flows: at an interval, or every change"""
    traffic: str | None = None
    """Name of a traffic entry; by default all entries."""


class FlowletPaths(Model):
    """A path drawn for every flowlet, that is, every burst of packets."""

    gap: Time = "500us"
    """Gap after which a packet begins a new flowlet: the paper's timeout, 500 us in its section 5."""
    name: Literal["flowlet"] = "flowlet"
    """a path drawn for every flowlet, a burst of a subflow's packets after a gap"""


class HostQueues(Model):
    """The queues of the hosts' own ports. A missing field has the value of `queues`."""

    limit: Limit | None = None
    """Capacity of the queue, not counting the packet in transmission. A packet is dropped if it finds this many
    packets waiting, or if it would exceed this many bytes."""
    mark: Mark | None = None
    """Marking threshold K: an ECN-capable packet is marked if it finds at least this much waiting. "off" marks no
    packet."""


class Hosts(Model):
    """Settings of hosts, which all transports of a host share. The defaults are those of the transports' profile, or
    those of `linux` if transports have different profiles."""

    bql_limit: Size | None = None
    """Data that a port accepts before sockets wait, unless `qdisc` is `switch`. It corresponds to Linux's byte queue
    limits. 16KB in all profiles."""
    clock_ppm: Annotated[int | None, Field(ge=0, le=1000)] = None
    """Maximum difference of the clock of a host or a switch, and so of the rates at which it sends, in parts per
    million. The difference of each node is drawn at random, uniformly. Profile `linux`: 100, the tolerance of
    IEEE 802.3; `amp-2019`: 0."""
    gro_flush_timeout: Time | None = None
    """Generic receive offload: a receiver merges segments of a subflow, up to 64 KB, if each arrives within this
    time after the previous one, and acknowledges them once. All profiles have `0s`, which turns it off."""
    jitter: str | Literal["packet"] | None = None
    """Maximum random delay of a packet that finds its host's port idle, uniformly distributed, because a host's
    processing time varies. Packets keep their order. `packet` is the time in which the host's link sends a full
    packet, but at least 500 ns. Profile `linux`: `packet`; `amp-2019`: none."""
    qdisc: Qdisc | None = None
    """Queueing discipline of a host's port, that is, how its sockets share the port. `switch`: sockets send into a
    queue like a switch's, which marks and drops. `fq`: no packet is marked or dropped, and sockets wait while the
    port is full; waiting sockets send two packets each in turn. `fifo`: as `fq`, but the socket that has waited
    longest sends all its data first. Profile `linux`: `fq`, or `switch` if the spec has `queues.host`;
    `amp-2019`: `switch`."""
    tso: bool | None = None
    """Whether TCP segmentation offload is on: a subflow hands its NIC bursts of up to 64 KB, and waits until a third
    of its window is free (Linux's `tcp_tso_should_defer`). Off in all profiles."""


class Hpcc(Model):
    """Settings of HPCC. Defaults are those of its authors' simulator."""

    increase: Rate | None = None
    """Additive increase as a rate, `W_AI` / T. The default is that of 80 bytes per `rtt`."""
    max_stage: Annotated[int, Field(ge=0)] = 5
    """Maximum number `maxStage` of additive increases in a row, after which the window follows the utilisation."""
    quantised: bool = False
    """Whether telemetry has the units of the paper's header: times in ns, bytes sent in units of 128 bytes and
    queues in units of 80 bytes per 25 Gbps of a link, all rounded down. By default all values are exact."""
    rtt: Time | None = None
    """Base round-trip time T. The default is the longest round-trip time of the network without queues."""
    utilisation: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95
    """Target utilisation eta of links."""


class LeafSpineTopology(Model):
    """Hosts h0, h1, … leaf by leaf; switches leaf0, leaf1, … and spine0, spine1, …"""

    delay: Time
    """Propagation delay of every link."""
    hosts_per_leaf: Annotated[int, Field(ge=1, le=4096)]
    """Hosts per leaf."""
    kind: Literal["leaf-spine"] = "leaf-spine"
    """every leaf linked with every spine, any counts, several links between a pair"""
    leaves: Annotated[int, Field(ge=1, le=4096)]
    """Number of leaves."""
    links: Annotated[int, Field(ge=1, le=16)] = 1
    """Links between a leaf and a spine."""
    rate: Rate
    """Rate of the hosts' links. The oversubscription of a leaf is `hosts_per_leaf` * `rate` divided by `spines` *
    `links` * `spine_rate`."""
    spine_rate: Rate | None = None
    """Rate of the links between leaves and spines, if it differs."""
    spines: Annotated[int, Field(ge=1, le=4096)]
    """Number of spines."""


class LeastAllocatedController(Model):
    """Each large flow goes to the path whose fullest link has the fewest large flows, as in htsim's first fit."""

    interval: Time
    """Time between two assignments of paths, at least 1us."""
    kind: Literal["least-allocated"] = "least-allocated"
    """htsim's first fit: each large flow goes to the path whose fullest link has the fewest large flows"""
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """Fraction of its host's link rate above which a subflow is large. Its rate is the acknowledged rate, averaged
    over the interval."""


class LosslessQueue(Model):
    """Priority flow control (PFC, IEEE 802.1Qbb): a FIFO per traffic class that pauses its neighbours instead of
    dropping packets. A switch counts the waiting packets of each incoming link, and pauses the link before its
    buffer is full. Pauses thus spread hop by hop, up to the hosts that send. `limit` is the buffer for the
    packets of an incoming link in a class. Packets that a host sends itself wait without a limit. Transports of
    all kinds may send. If paused links wait for each other in a cycle (deadlock), a warning names them."""

    classes: Annotated[int, Field(ge=1, le=8)] = 1
    """Number of traffic classes, 1 to 8. Each is paused by itself, and served before all later ones."""
    headroom: Size | None = None
    """Part of the buffer for packets that arrive after a pause was sent. The default is the most that can arrive: 2
    x delay x rate + 2 packets of the largest size + a pause frame + `reaction` x rate. (IEEE 802.1Q, annex O; Zhu
    et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 4.)"""
    headroom_pool: Size | None = None
    """Size of a pool for the headroom of all incoming links and classes of a switch, each of which takes up to
    `headroom` from it. By default there is no pool: each has a `headroom` of its own. A pool is smaller than
    their sum, because few links need their headroom at once. Switches call it a shared headroom pool."""
    mark_max: Limit | None = None
    """Waiting data of a class from which every packet is marked, in the unit of `mark_min`. Zhu et al. have 200 KB."""
    mark_min: Limit | None = None
    """Waiting data of a class up to which no packet is marked when it arrives. From there to `mark_max`, the
    probability rises from 0 to `mark_probability`. Zhu et al. have 5 KB at 40 Gbps."""
    mark_probability: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Probability just below `mark_max`. The default is 1; Zhu et al. have 0.01."""
    name: Literal["lossless"] = "lossless"
    """a FIFO per class that pauses its neighbours instead of dropping packets (PFC, IEEE 802.1Qbb)"""
    reaction: Time = "0s"
    """Time from the arrival of a pause frame to its effect. The default, none, is that of the simulators of DCQCN
    and HPCC. IEEE 802.3 allows 60 quanta of 512 bits at 10 Gbps."""
    watchdog: Time | None = None
    """Time after which a paused port drops what waits in the class, and what arrives until the pause ends. There is
    none by default. Junos has 200 ms where its watchdog is enabled."""
    xoff: Size | None = None
    """A pause is sent once a packet of the largest size might exceed this length. The default is `limit` without
    `headroom`."""
    xon: Size | None = None
    """Length at which the pause ends. The default is two packets of the largest size below `xoff` (Zhu et al.,
    SIGCOMM 2015)."""


class ManyToOneTopology(Model):
    """Hosts h0 to h(n-1) send to host r0, the last host, through switch s0."""

    delay: Time
    """Propagation delay of every link."""
    kind: Literal["many-to-one"] = "many-to-one"
    """n senders, a switch and a receiver behind one bottleneck (AMP, figure 1)"""
    rate: Rate
    """Rate of every link."""
    sender_rate: Rate | None = None
    """Rate of the senders' links, if it differs."""
    senders: Annotated[int, Field(ge=1, le=65535)]
    """Number of senders."""


class Measure(Model):
    """The measurement window: the part of a run in which links, queues and goodput are measured, for example without
    slow start. Events at `start` are included, events at `stop` are not. Times, windows and counters of flows
    always cover the whole run."""

    start: Time = "0s"
    """Start of the window."""
    stop: Time | None = None
    """End of the window, at most `duration`, which is the default."""


class MmptcpPaths(Model):
    """One subflow that scatters its packets over all paths, and several subflows after it."""

    dupack_threshold: Annotated[int | None, Field(ge=1)] = None
    """Number of duplicate acknowledgements that indicate a loss among scattered packets. The default is the
    profile's threshold, plus the number of paths if there are several."""
    name: Literal["mmptcp"] = "mmptcp"
    """scatters the first subflow's packets over all paths; after a number of bytes, other subflows take over"""
    threshold: Size = "100KB"
    """Acknowledged bytes after which the additional subflows join: 100 kB in the paper's section IV."""


class MultiHomedFatTreeTopology(Model):
    """Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, ToR T, aggregation switch A and its core
    switch I."""

    delay: Time
    """Propagation delay of every link."""
    homes: Annotated[int, Field(ge=1)] = 2
    """Links per host, each to a different ToR of its pod; must divide k/2."""
    k: Annotated[int, Field(ge=2, le=254, multiple_of=2)]
    """Ports of every switch, even: k pods, and k^3/4 hosts divided by `homes`."""
    kind: Literal["multi-homed-fat-tree"] = "multi-homed-fat-tree"
    """a fat-tree whose hosts have links to several ToRs of their pod"""
    rate: Rate
    """Rate of every link."""


class Ndp(Model):
    """Settings of a transport of kind "ndp". Defaults are those of the paper."""

    initial_window: Annotated[int, Field(ge=1, le=65536)] = 30
    """Number of packets that a flow sends at the rate of its host's link without being asked (section 6.2), and the
    most that it sends per round-trip time. Flows that are to fill several links, or faster ones than the paper's,
    need more."""
    mtu: Size = "9064B"
    """Size of a full packet with its header of 64 bytes. The default carries the 9000 bytes of the paper's packets
    (section 6.2)."""
    paths: Annotated[int, Field(ge=1, le=65536)] = 256
    """Maximum number of paths that a flow uses; up to this number, a flow uses all paths (section 3.1.1). With 1, a
    flow has one path. The default is the number of paths of a fat-tree with 32 ports per switch."""
    pull_order: Literal["in-turn", "earlier-rounds"] = "in-turn"
    """Order in which flows of a host send pulls: in turn (section 3.2), or those of the first `round` first."""
    pull_rate: Annotated[float, Field(ge=0.01, le=10.0)] = 1.0
    """Rate of pulls as a share of the rate at which the receiver's link carries full packets (section 3.2)."""
    rto: Time | None = None
    """Time after which a packet of whose fate nothing is known is sent again. The default is 2.5 times the longest
    round-trip time with full queues, and the time that a full queue of headers takes. The paper has a round-trip
    time of 400 us and a timeout of 1 ms (section 3.2.4)."""


class OpnPaths(Model):
    """As many subflows as the loss rate suggests, on paths that respond. Data outstanding on other paths is
    reinjected on these."""

    delta: Time = "200us"
    """Timeout δ of Algorithm 1, at least 1us. A path is slow if data has been outstanding on it for this long and no
    connection that shares `state` has received an acknowledgement on it. Paths are checked at this interval."""
    delta_rtts: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """Minimum of the timeout in smoothed round-trip times of the subflow: 0 in Algorithm 1, 2 in the paper's text."""
    epsilon: Time = "200ms"
    """Interval ε, at whose multiples all paths count as fast again."""
    name: Literal["opn"] = "opn"
    """as many subflows as the loss rate suggests, on fast paths; reinjects there what is outstanding on slow paths"""
    period: Time = "10ms"
    """Interval over which the loss rate is measured."""
    state: StateScope = "host"
    """Scope of the path state, that is, which paths are slow and the loss rate: all connections of a host share it,
    or each connection has its own."""


class ParetoSize(Model):
    """Pareto distribution: P(X > x) = (L / x)^shape from L on, truncated at an upper bound if there is one. L
    follows from the mean. Draws above 1 TB count as 1 TB."""

    kind: Literal["pareto"] = "pareto"
    """Pareto with a given shape and mean, with or without an upper bound"""
    max: Size | None = None
    """Upper bound; by default none."""
    mean: Size
    """Mean size, with the upper bound taken into account."""
    shape: Annotated[float, Field(ge=0.01, le=100.0)]
    """Exponent of the tail. Without an upper bound it must be above 1, or the mean would be infinite."""


class PlbPaths(Model):
    """A path that is drawn again after rounds with many marks, and after a timeout."""

    cong_thresh: Annotated[int, Field(ge=0, le=256)] = 128
    """Fraction of marked packets from which a round is congested, in units of 1/256: `tcp_plb_cong_thresh` of Linux."""
    idle_rehash_rounds: Annotated[int, Field(ge=0, le=31)] = 3
    """Number of consecutive congested rounds after which the path changes when nothing is outstanding; never if it
    is 0. It is `tcp_plb_idle_rehash_rounds` of Linux."""
    name: Literal["plb"] = "plb"
    """a path drawn by hash for each subflow, and again after rounds with many marks, as Linux's PLB does"""
    rehash_rounds: Annotated[int, Field(ge=1, le=31)] = 12
    """Number of consecutive congested rounds after which the path changes: `tcp_plb_rehash_rounds` of Linux."""
    suspend_rto: Time = "60s"
    """Minimum time after a timeout for which marks do not change the path, half of the maximum:
    `tcp_plb_suspend_rto_sec` of Linux."""


class ProfilePatch(Model):
    """Settings that differ from the profile's."""

    ack_every: Annotated[int | None, Field(ge=1)] = None
    """Number of full segments per acknowledgement; 1 acknowledges each segment."""
    ack_pushed: bool | None = None
    """Whether a segment with PSH is acknowledged as soon as the application has read everything that has arrived.
    PSH marks the last segment that a subflow has to send (Linux since 6.6, `ICSK_ACK_PUSHED`). If this is off,
    its acknowledgement may be delayed like any other."""
    ack_size: Size | None = None
    """Bytes on the wire of a packet without payload: SYN, SYN/ACK, ACK."""
    complete_on_data_ack: bool | None = None
    """Whether a connection ends when acknowledgements on any subflows cover its data (RFC 8684, section 3.3.2). If
    this is off, it ends when all data of each subflow is acknowledged."""
    confirmed_joins: bool | None = None
    """Whether joins follow RFC 8684, sections 3.1 and 3.2. They start once data of subflow 0 is acknowledged. A
    joined subflow carries data once the last acknowledgement of its own handshake is acknowledged."""
    count_all_after_timeout: bool | None = None
    """Whether, without selective acknowledgements, an acknowledgement after a timeout counts as all segments that it
    covers and that no duplicate has counted, as in Linux (`tcp_remove_reno_sacks`), and not as one (RFC 3465,
    section 2.3)."""
    delayed_ack_timeout: Time | None = None
    """Maximum delay of an acknowledgement."""
    dupack_threshold: Annotated[int | None, Field(ge=1)] = None
    """Number of duplicate acknowledgements that start fast retransmit."""
    fct_from: FctFrom | None = None
    """Start of the FCT: when the flow opens and sends its first SYN ("open"), or when subflow 0's SYN/ACK arrives
    ("established"). The FCT ends when the receiver has the last byte."""
    frto: bool | None = None
    """Whether a sender tries new data after a timeout, and undoes a spurious timeout (F-RTO, RFC 5682; without
    selective acknowledgements as well, as in Linux)."""
    full_handshakes: bool | None = None
    """Whether the following packets are sent: the last acknowledgement of a subflow's handshake and, once all data
    has been handed out, its FIN, FIN/ACK and last acknowledgement. They have no effect and are not retransmitted,
    but take space in queues."""
    grow_after_mark: bool | None = None
    """Whether the window may grow between a cut for a mark and the end of that window."""
    header: Size | None = None
    """Header bytes on the wire of a data packet, in addition to its payload. Ethernet's preamble, check sequence and
    gap are 24B more, also of `ack_size` (IEEE 802.3)."""
    initial_cwnd: Annotated[float | None, Field(ge=1.0, le=1000000000.0)] = None
    """Initial congestion window in packets."""
    initial_rto: Time | None = None
    """RTO before the first RTT sample (RFC 6298, rule 2.1)."""
    initial_ssthresh: float | Literal["unlimited"] | None = None
    """Initial slow-start threshold in packets, at least 1, or "unlimited"."""
    join_delay: Time | None = None
    """Maximum of the random delay of a join, uniform and counted from when the join may start."""
    limited_transmit: bool | None = None
    """Whether each of the first duplicate acknowledgements lets the sender send a new segment (RFC 3042)."""
    max_rto: Time | None = None
    """Maximum of the RTO."""
    min_rto: Time | None = None
    """Minimum of the RTO, or of its part for the variance with `rto_estimator = "linux"`."""
    mss: Size | None = None
    """Payload bytes of a full segment."""
    pacing: bool | None = None
    """Whether packets of a subflow are paced as under Linux's fq: two windows per round trip in slow start, 1.2
    afterwards, from the eleventh packet on. A rate set by congestion control applies even if this is off."""
    protect_handshake: bool | None = None
    """Whether SYN and SYN/ACK are exempt from drops and marks."""
    prr: bool | None = None
    """Whether fast recovery reduces the data in flight gradually instead of by a pause (PRR, RFC 6937)."""
    quick_acks: Annotated[int | None, Field(ge=0)] = None
    """Number of segments that are acknowledged without delay when a subflow starts, after a pause of the minimum
    RTO, and after a duplicate (Linux's quick acknowledgements)."""
    react_after_last_data: bool | None = None
    """Whether rounds and marks still have an effect once all data of a connection has been handed to subflows."""
    receive_buffer: Size | None = None
    """Receive buffer of a connection, at most 2^30 bytes, which its subflows share; it limits the data in flight at
    connection level."""
    recovery: Recovery | None = None
    """Loss recovery: "newreno" (RFC 6582, the variant in which each partial acknowledgement restarts the timer),
    "sack" (RFC 6675) or "rack" (RFC 8985). With "sack", a retransmission is lost if data that was sent after it
    is sacked, as in Linux until 4.3."""
    reinject: bool | None = None
    """Whether a timeout of a subflow sends its outstanding data on the other subflows as well."""
    round_end: RoundEnd | None = None
    """The end of a round of DCTCP. With "rfc8257", a round ends when data sent after its start is acknowledged
    (section 3.3, step 3). With "linux", it ends once all data sent before its start is acknowledged."""
    round_robin_waits_for_join: bool | None = None
    """Whether new data waits if round-robin reaches a subflow whose SYN/ACK has not arrived. If this is off, the
    subflow is skipped."""
    rto_estimator: RtoEstimator | None = None
    """Estimator of the RTO. With "rfc6298", it is SRTT + 4 RTTVAR, but at least `min_rto` (rules 2.3 and 2.4). With
    "linux", it is SRTT plus the largest mean deviation of the last round trip, or plus `min_rto` if that is more.
    The difference matters if round trips are not much shorter than `min_rto`."""
    sample_handshake_rtt: bool | None = None
    """Whether the round trip of the handshake is the first RTT sample."""
    send_buffer: Size | None = None
    """Maximum send buffer of a subflow in bytes of memory, at most 2^30 (the third value of Linux's `tcp_wmem`). It
    holds sent data until it is acknowledged: 4MiB have space for 2880 segments of 1448 bytes, because every 45 of
    them take 896 bytes more. Up to this size the buffer grows with the window, and does not limit it. The buffer
    of a connection is the sum of those of its subflows, and 4 KB. Simulators have none; 1GiB limits nothing."""
    slow_start_after_idle: bool | None = None
    """Whether the windows of `reno`, `cubic` and `dctcp` decay while nothing is sent, as with Linux's setting of
    this name (RFC 2861). Each RTO halves the window, from the second one on and down to `initial_cwnd`. Other
    algorithms keep their windows, as those of `weftd` do."""
    stall_on_held_data: bool | None = None
    """Whether to imitate a fault of the simulator of AMP's authors; off in every profile. Data that arrived out of
    order on a subflow advances the subflow only when the connection's own order advances. A retransmission before
    that is acknowledged as a duplicate, and the subflow waits for another timeout. It excludes `reinject` and
    path monitoring, because that simulator does not send data on two subflows."""
    subflow_receive_buffer: Size | None = None
    """Receive buffer of a subflow, at most 2^30 bytes, which limits its unacknowledged data. MPTCP has none (RFC
    8684, section 3.3.4), but some simulators have. The default limits nothing."""
    syn_linear_timeouts: Annotated[int | None, Field(ge=0)] = None
    """Number of timeouts of a SYN that do not double the RTO (Linux since 6.5)."""
    tail_loss_probe: bool | None = None
    """Whether recovery "rack" sends a probe two RTTs after the last acknowledgement, so that a loss at the tail does
    not wait for the RTO (RFC 8985, section 7)."""
    timer_slack: Time | None = None
    """Additional delay of a tail loss probe and of the reordering timer; in Linux two ticks of its clock."""
    timestamps: bool | None = None
    """Whether packets have timestamps (RFC 7323). With them, acknowledgements of retransmissions give RTT samples
    and show which copy they acknowledge, so that a spurious timeout or fast retransmit is undone (RFC 3522)."""
    window_validation: WindowValidation | None = None
    """Condition on which the window may grow. With "linux", the window has stopped the sender within the last window
    of data, and not the application, a receive window or the NIC of the host. In slow start, a window below twice
    the packets outstanding may also grow (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`). With "half-used", at least
    half of the window is in flight when the acknowledgement arrives."""


class QueueClass(Model):
    """A traffic class of a port."""

    drop_not_ect: bool | None = None
    """Whether a packet of the class that finds its marking threshold, but is not ECN-capable, is dropped, as by
    switches that combine WRED with ECN. By default it is accepted."""
    limit: Limit | None = None
    """Capacity of the class, by default the `limit` of the port."""
    mark: Mark | None = None
    """Marking threshold of the class, by default the `mark` of the port. Only packets of the class count."""
    weight: Annotated[int | None, Field(ge=1, le=1000)] = None
    """Weight of the class, 1 to 1000. Classes with weights come after those without, and deficit round robin
    (Shreedhar and Varghese, SIGCOMM 1995) serves them. Without it, the class is strict."""


class QueueProbe(Model):
    """Lengths of queues."""

    at: Annotated[list[str], Field(examples=[["s0->r0"], ["tor-agg"]], min_length=1)]
    """Links whose queues are recorded: the names of their ends, "FROM->TO", or a layer, such as "tor-agg", for all
    its links."""
    interval: Time | None = None
    """Sampling interval of the trace; by default only the distribution is recorded."""
    kind: Literal["queue"] = "queue"
    """a queue's length: time-weighted distribution, with `interval` also samples in time"""


class RedQueue(Model):
    """A FIFO that marks or drops packets at random. The probability rises with the length of the queue: 0 up to
    `min`, `probability` just below `max`, and 1 from `max` on. A packet that is to be marked, but is not
    ECN-capable, is dropped. With `min = max` and `probability = 1`, it is the threshold of a switch's WRED."""

    action: RedAction = "mark"
    """Whether packets are marked or dropped."""
    at: RedAt = "enqueue"
    """Whether the length that a packet finds decides, or the length that it leaves behind when its transmission
    begins. At dequeue, marks report the present queue."""
    max: Limit
    """Length from which every packet is marked or dropped, in the unit of `min`."""
    min: Limit
    """Length up to which no packet is marked or dropped. The packet being sent does not count."""
    name: Literal["red"] = "red"
    """random early detection: marks or drops with a probability that rises with the queue (1993)"""
    nodrop: bool | None = None
    """Whether packets that are chosen, but not ECN-capable, are accepted instead of dropped. `nodrop` of Linux's
    `red`; by default they are dropped there, in ns-3 and by switches (WRED). With `action = "mark"` only."""
    probability: Annotated[float, Field(ge=0.0, le=1.0)]
    """Probability just below `max`."""
    weight: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """Weight, above 0, of a new length in the moving average that replaces the length (`QW` of ns-3). Without it,
    the length itself decides. With it, marks are also spaced evenly, as the paper recommends."""


class SharedQueue(Model):
    """A FIFO per port in a buffer that all such ports of a switch share. A port accepts packets while its queue is
    shorter than `alpha` times the free space. `limit` is an additional bound of each port, and `mark` its marking
    threshold."""

    alpha: float = 1.0
    """Factor of the free space, above 0 and at most 1024. With n congested ports and no reserve, each port holds
    alpha B / (1 + alpha n) of a buffer of B bytes. 1.0 is a choice of Weft."""
    buffer: Size
    """Size of a switch's buffer, including the reserves. Packets being sent do not count."""
    drop_not_ect: bool | None = None
    """Whether a packet that finds `mark`, but is not ECN-capable, is dropped, as by switches that combine WRED with
    ECN. By default it is accepted, as by `ce_threshold` of Linux's `fq_codel`."""
    name: Literal["shared"] = "shared"
    """a buffer per switch that its ports share, with dynamic thresholds (Choudhury and Hahne, 1998)"""
    reserve: Size = "0B"
    """Part of the buffer that only this port may use. The dynamic threshold applies to the rest. The default, none,
    is that of the paper."""


class SizeClass(Model):
    """A class of flows below a size."""

    below: Size
    """Threshold: flows of fewer bytes belong to this class, except those of an earlier class."""
    name: str
    """Name of the class, in the column `class`."""
    transport: str
    """Name of the transport of these flows."""


class StrideTraffic(Model):
    """Flows from every host to the host whose index is larger by a constant."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    jitter: Time = "0s"
    """Maximum random delay of each flow after `start`."""
    kind: Literal["stride"] = "stride"
    """a flow from every host to the host whose index is larger by a constant"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    size: Size | None = None
    """Application bytes of each flow; by default a flow sends until the end of the experiment."""
    start: Time = "0s"
    """Time at which the flows open."""
    stride: Annotated[int, Field(ge=1)]
    """Difference of the indices; the first host follows the last."""
    transport: str
    """Name of the transport."""


class Swift(Model):
    """Settings of a transport of kind "swift". Windows are in packets. Defaults without another source are those of
    htsim."""

    base_target: Time | None = None
    """Target of the fabric's delay without the terms of hops and flows. The default is 20 us, or the longest
    round-trip time of the network without queues if that is longer."""
    beta: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    """Factor beta of the excess of the delay in a decrease."""
    clock_error: Annotated[int | None, Field(ge=0, le=1000)] = None
    """Largest rate error of a NIC's clock in parts per million. Each host draws its own."""
    endpoint_gain: Annotated[float, Field(gt=0.0, le=1.0)] = 0.125
    """Weight of a sample in the average of the receiving host's delay. The default is a choice of Weft."""
    endpoint_target: Time | None = None
    """Target of the delay at the receiving host. The default is `base_target`."""
    flow_range: Time | None = None
    """Largest term of flow scaling, at windows up to `flow_window_min`. The default is 5 times `base_target`."""
    flow_window_max: Annotated[float, Field(ge=0.0001, le=65536.0)] = 100.0
    """Window from which the term of flow scaling is 0, above `flow_window_min`."""
    flow_window_min: Annotated[float, Field(ge=0.0001, le=65536.0)] = 0.1
    """Window up to which the term of flow scaling is `flow_range`."""
    hop_target: Time | None = None
    """Target per link of the forward path (topology scaling). The default is `base_target` / 6.55."""
    host_time: Time = "0s"
    """Time that a host needs to process a packet with data. Those of all flows of kind "swift" wait in one FIFO."""
    increase: Annotated[float, Field(gt=0.0, le=1000.0)] = 1.0
    """Increase of the window per round-trip time."""
    initial_rto: Time = "1ms"
    """Timeout before the first round-trip time is measured."""
    initial_window: Annotated[float, Field(ge=0.0001, le=65536.0)] = 10.0
    """First window."""
    max_decrease: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """Largest decrease as a share of the window. A loss causes it."""
    max_window: Annotated[float, Field(ge=1.0, le=65536.0)] = 1000.0
    """Largest window."""
    min_rto: Time = "100us"
    """Shortest timeout."""
    min_window: Annotated[float, Field(ge=0.0001, le=65536.0)] = 0.01
    """Smallest window. The default is a choice of Weft; htsim has 10 bytes."""
    mtu: Size = "4160B"
    """Size of a full packet with its header of 64 bytes. The default carries 4096 bytes."""
    reset_after: Annotated[int, Field(ge=1)] = 5
    """Number of timeouts in a row after which the window is `min_window`."""
    timestamp_noise: Time | None = None
    """Standard deviation of the random error of each timestamp, which is normally distributed."""
    timestamp_step: Time | None = None
    """Unit to which timestamps are rounded down, that of a NIC's clock."""


class ThroughputProbe(Model):
    """Application bytes that flows deliver in each interval."""

    flows: list[int] | str | None = None
    """Indices of flows, as in the probe `flow`; by default all flows."""
    interval: Time
    """Length of the intervals."""
    kind: Literal["throughput"] = "throughput"
    """application bytes that chosen flows deliver in each interval, at the levels `packet` and `flow`"""
    traffic: str | None = None
    """Name of a traffic entry; by default all entries."""


class Timely(Model):
    """Settings of TIMELY (SIGCOMM 2015), and of its rule with one fixed point (CoNEXT 2016). Defaults are those of
    the second paper."""

    beta: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """Factor of a decrease. The default is 0.8, and 0.008 for "patched-timely"."""
    gain: Annotated[float, Field(gt=0.0, le=1.0)] = 0.875
    """Weight of the newest difference of round-trip times in their average."""
    high: Time = "500us"
    """Round-trip time above which the rate decreases whatever its gradient."""
    hyper_after: Annotated[int, Field(ge=0)] = 5
    """Number of increases in a row after which one has `hyper_steps` steps."""
    hyper_steps: Annotated[int, Field(ge=1)] = 5
    """Number of steps of a hyperactive increase."""
    increase: Rate = "10Mbps"
    """Step of an increase."""
    low: Time = "50us"
    """Round-trip time below which the rate increases."""
    min_rtt: Time = "20us"
    """Round-trip time by which differences are divided to give the gradient."""
    segment: Size = "16KB"
    """Bytes of a segment, whole packets of `mtu` rounded up. The acknowledgement of a segment changes the rate."""
    updates: TimelyUpdates = "segment"
    """Events that change the rate."""


class TraceTraffic(Model):
    """Messages and computing of ranks, in the order that a file prescribes. Each message is a flow of its own."""

    algorithm: Algorithm | None = None
    """Algorithm of all-reduces, for `chakra` and `simai`; by default "ring"."""
    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    connections: Literal["per-message", "persistent"] = "per-message"
    """Use of connections by messages."""
    file: str
    """Path of the file, relative to the spec's folder. With `chakra` it is the common beginning of the paths of all
    ranks' files, which end in `.0.et`, `.1.et` and so on. Files may be compressed by gzip."""
    format: Literal["goal", "chakra", "simai"]
    """Format of the file."""
    groups: dict[str, list[Group]] | None = None
    """Ranks of groups by name, for `chakra`. They have precedence over the groups of the trace's own metadata."""
    hosts: HostSet = "all"
    """Hosts on which the ranks run, one rank per host."""
    kind: Literal["trace"] = "trace"
    """messages and computing of ranks, in the order that a file prescribes: GOAL text"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    placement: Literal["in-order", "random"] = "in-order"
    """Assignment of ranks to `hosts`."""
    send_done: Literal["acknowledged", "started"] = "acknowledged"
    """Event at which a message counts as sent, for tasks that wait."""
    start: Time = "0s"
    """Time at which the ranks begin."""
    transport: str
    """Name of the transport."""


class TrainingTraffic(Model):
    """Steps of training a model. Each message is a flow of its own, which opens when the computing and the messages
    before it are done. Each step is a job."""

    activation_size: Size | None = None
    """Bytes that a rank sends to the next stage per micro-batch, and to the previous stage backwards. Computing goes
    on meanwhile."""
    algorithm: Algorithm | None = None
    """Algorithm of all-reduces."""
    backward: Time
    """Time for which a rank computes a micro-batch backwards in a layer."""
    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    compute_deviation: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Standard deviation of computing times, as a fraction of their mean. They are drawn from a log-normal
    distribution."""
    connections: Literal["per-message", "persistent"] = "per-message"
    """Use of connections by messages."""
    expert_ranks: Annotated[int, Field(ge=1)] = 1
    """Ranks per expert-parallel group, a divisor of the number of data-parallel ranks."""
    expert_size: Size | None = None
    """Bytes of the tokens of a rank in a layer. An expert-parallel group sends them to their experts before the
    second half of a layer and back after it, forwards and backwards. Computing waits for it."""
    forward: Time
    """Time for which a rank computes a micro-batch forwards in a layer."""
    gradient_size: Size | None = None
    """Bytes of the gradients of a layer at a rank. Data-parallel ranks all-reduce them after the last micro-batch."""
    hosts: HostSet = "all"
    """Hosts on which the ranks run, one rank per host."""
    kind: Literal["training"] = "training"
    """steps of training a model: computing, and operations of tensor, data, pipeline and expert groups"""
    layers: Annotated[int, Field(ge=1)]
    """Number of layers of the model. The stages of the pipeline have equal numbers of layers."""
    micro_batches: Annotated[int, Field(ge=1)] = 1
    """Number of micro-batches per step."""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    overlap: bool = True
    """Whether the gradients of a layer are all-reduced while earlier layers compute backwards. Otherwise they wait
    until the rank has computed all of them."""
    placement: Literal["in-order", "random"] = "in-order"
    """Assignment of ranks to `hosts`."""
    ranks: Annotated[int | None, Field(ge=2)] = None
    """Number of ranks; by default as many as `hosts`. Those that are left after the division by `tensor_ranks` and
    `stages` are data-parallel."""
    schedule: Literal["one-forward-one-backward", "all-forward"] = "one-forward-one-backward"
    """Order in which a stage computes micro-batches."""
    send_done: Literal["acknowledged", "started"] = "acknowledged"
    """Event at which a message counts as sent, for tasks that wait."""
    stages: Annotated[int, Field(ge=1)] = 1
    """Number of stages of the pipeline."""
    start: Time = "0s"
    """Time at which the ranks begin."""
    steps: Annotated[int, Field(ge=1)] = 1
    """Number of steps."""
    straggler_factor: Annotated[float, Field(ge=1.0, le=1000.0)] = 2.0
    """Ratio of the time for which stragglers compute to that of other ranks."""
    stragglers: list[Straggler] | None = None
    """Ranks that compute more slowly than others."""
    tensor_ranks: Annotated[int, Field(ge=1)] = 1
    """Ranks per tensor-parallel group. They are neighbours, then come data-parallel ranks, then stages."""
    tensor_size: Size | None = None
    """Bytes that a tensor-parallel group all-reduces after each half of a layer, forwards and backwards. Computing
    waits for it."""
    tokens: Annotated[int, Field(ge=1)] = 1024
    """Number of tokens of a rank, for `top_k`."""
    top_k: Annotated[int | None, Field(ge=1)] = None
    """Number of ranks to which each token goes, which are drawn for each token, layer and micro-batch. By default
    each rank sends an equal part of its tokens to each rank."""
    transport: str
    """Name of the transport."""
    update: Time = "0s"
    """Time for which a rank updates its parameters at the end of a step."""


class TrimmingQueue(Model):
    """A FIFO of data and a FIFO of headers per port. Data that does not fit is cut to its header, which informs the
    receiver or the sender of the loss. Packets without payload join the headers. `limit` is the capacity for
    data; an Ultra Ethernet network has that of one bandwidth-delay product. TCP discards headers, so that packets
    which are cut count as lost."""

    headers: Limit | None = None
    """Capacity for headers. By default it is twice the `limit` of the port, as in the UEC's simulator, but at least
    what the transports of the experiment need. Kind `ndp` needs as many bytes of headers as of data: 1,125
    headers next to 8 packets of 9 KB (section 3.2.4 of the paper)."""
    mark_max: Limit | None = None
    """Data left behind, from which every data packet is marked, in the unit of `mark_min`. The UEC's simulator has
    four fifths of the limit."""
    mark_min: Limit | None = None
    """Data left behind, up to which no data packet is marked when its transmission begins. From there to `mark_max`,
    the probability rises from 0 to 1. The UEC's simulator has a fifth of the limit."""
    name: Literal["trimming"] = "trimming"
    """a FIFO of data per port that cuts packets to headers, which a second FIFO sends before data"""
    overflow: Overflow = "drop"
    """The fate of a header for which there is no room. `to = "sender"` returns every header, so it excludes
    "return"."""
    ratio: Annotated[int | None, Field(ge=1)] = None
    """Number of headers that are sent per data packet while both wait; NDP has 10. By default, headers are always
    sent first. The UEC's simulator has 100,000, which is as good as always."""
    size: Size = "64B"
    """Size of a header that is left of a packet. Packets up to this size join the headers as they are. The default
    is that of NDP and of the UEC's simulator."""
    to: TrimTo = "receiver"
    """The destination of headers. The default is that of NDP and of Ultra Ethernet."""
    victim: Victim = "random"
    """The packet that is cut. The default is that of NDP and of the UEC's simulator."""


class TwoBottlenecksTopology(Model):
    """Hosts S1, S2, S3, D1, D2 and D3; switches upper-in, upper-out, lower-in and lower-out."""

    delay: Time
    """Propagation delay of every link."""
    host_rate: Rate | None = None
    """Rate of the hosts' links, if it differs."""
    kind: Literal["two-bottlenecks"] = "two-bottlenecks"
    """three pairs of hosts over two bottlenecks, the middle one over both (AMP, figure 5)"""
    rate: Rate
    """Rate of every link."""


class TwoPathsTopology(Model):
    """Hosts h0, h1, … rack by rack; switches tor0, tor1, … of the racks, and agg0 and agg1 above them."""

    delay: Time
    """Propagation delay of every link."""
    host_rate: Rate | None = None
    """Rate of the hosts' links, if it differs."""
    hosts_per_rack: Annotated[int, Field(ge=1, le=1000)] = 2
    """Hosts per rack."""
    kind: Literal["two-paths"] = "two-paths"
    """racks below two switches, so two paths between hosts of different racks (MPTCP in data centres, section 4)"""
    racks: Annotated[int, Field(ge=2, le=1000)] = 3
    """Number of racks."""
    rate: Rate
    """Rate of every link."""


class Uet(Model):
    """Settings of a transport of kind "uet". Defaults are those of the UEC's simulator."""

    ack_bytes: Size = "16KiB"
    """Bytes on the wire after which a receiver acknowledges. The fourth full packet reaches the default."""
    control: UetControl = "sender"
    """Congestion control: a window of the sender, credit of the receiver, or both."""
    entropies: Annotated[int, Field(ge=1, le=65536)] = 64
    """Number of entropy values of a flow: a power of two up to 65536. With 1, a flow has one path."""
    initial_window: Size | None = None
    """Initial window. The default is the maximum window, 1.5 bandwidth-delay products of `network_rtt`."""
    load_balancing: UetLoadBalancing = "mixed"
    """Load balancing, which chooses the entropy value of each packet."""
    message_size: Size | None = None
    """Size of the messages that a flow sends one after another. A packet carries data of one message only. By
    default, all data of a flow is one message."""
    mtu: Size = "4150B"
    """Size of a full packet with its header of 64 bytes."""
    network_rtt: Time | None = None
    """Longest unloaded round-trip time, which all constants derive from. The default is that of a full packet and a
    header on the longest path. Up to 16 paths per pair are searched, from the first 64 hosts to the last 64."""
    oversubscription: Annotated[float | None, Field(ge=1.0)] = None
    """Factor by which the hosts of a switch can exceed its other links. Above 1, control "receiver" lowers the rate
    of pulls when packets are marked or trimmed inside the network. The default is that of the topology."""
    rto: Time | None = None
    """Timeout. The default is 15 us and the time that six full queues of a switch take to empty."""
    simulator_quirks: bool | None = None
    """Whether four quirks of the UEC's simulator are reproduced. Reports of trimmed packets lower the base
    round-trip time, entropy value 0 is blamed for timeouts, and requests to send have no minimum distance if only
    credit limits a flow. A repeated request does not ask the receiver for credit."""
    target_delay: Time | None = None
    """Queueing delay that the window aims at. The default is 0.75 `network_rtt`."""


class UniformSize(Model):
    """Uniform distribution between two sizes, both included."""

    kind: Literal["uniform"] = "uniform"
    """every whole number of bytes between two sizes equally likely"""
    max: Size
    """Largest size."""
    min: Size
    """Smallest size."""


class Vl2Topology(Model):
    """Hosts h0, h1, … rack by rack; switches torT, aggA and intI."""

    aggregation_ports: Annotated[int, Field(ge=2, le=256, multiple_of=2)]
    """Ports of an aggregation switch, even: half lead to ToRs, half to intermediate switches."""
    delay: Time
    """Propagation delay of every link."""
    hosts_per_tor: Annotated[int, Field(ge=1, le=256)] = 20
    """Hosts per ToR."""
    intermediate_ports: Annotated[int, Field(ge=2, le=256, multiple_of=2)]
    """Ports of an intermediate switch, even; also the number of aggregation switches."""
    kind: Literal["vl2"] = "vl2"
    """ToRs linked with two aggregation switches, those with all intermediate ones (VL2, section 4.1)"""
    rate: Rate
    """Rate of the hosts' links."""
    switch_rate: Rate | None = None
    """Rate of the links between switches; by default ten times the hosts'."""


AnySize = TypeAliasType("AnySize", str | ConstantSize | UniformSize | ExponentialSize | ParetoSize | EmpiricalSize)


Probes = TypeAliasType(
    "Probes",
    Annotated[
        QueueProbe | BufferProbe | FlowProbe | LatencyProbe | ThroughputProbe | StepsProbe | PacketsProbe,
        Field(discriminator="kind"),
    ],
)


class AllToAllTraffic(Model):
    """Flows between all pairs of a set of hosts, in both directions."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    hosts: HostSet = "all"
    """Hosts that send to each other."""
    jitter: Time = "0s"
    """Maximum random delay of each flow after `start`."""
    kind: Literal["all-to-all"] = "all-to-all"
    """a flow from every host to every other host at the same time"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    size: Size | None = None
    """Application bytes of each flow; by default a flow sends until the end of the experiment."""
    start: Time = "0s"
    """Time at which the flows open."""
    transport: str
    """Name of the transport."""


class BulkTraffic(Model):
    """Flows between pairs of hosts, which are given as `pairs`, or as `from` and `to`."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    count: Annotated[int, Field(ge=1)] = 1
    """Flows per pair."""
    from_: Annotated[HostSet | None, Field(alias="from")] = None
    """Senders. A single sender sends to every receiver. If there are as many senders as receivers, they form pairs
    in order."""
    jitter: Time = "0s"
    """Maximum random delay of each flow after `start`."""
    kind: Literal["bulk"] = "bulk"
    """flows between listed or drawn pairs of hosts, until a time or of a size"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    pairs: Pairs | None = None
    """Pairs of hosts. A list [[FROM, TO], …] has the pairs themselves. With "permutation", every host sends to one
    other host and receives from one, drawn from the seed. With "random", each flow goes to a host drawn for it. {
    tor, pod } are staggered probabilities by distance."""
    rate: Rate | None = None
    """Rate at which each flow's application writes, for example from a disk; by default all data is available at
    once. Data that the network cannot accept yet waits."""
    size: Size | None = None
    """Application bytes of each flow; by default a flow sends until `stop`."""
    start: Time = "0s"
    """Time at which the flows open."""
    stop: Time | None = None
    """Time at which the applications stop producing data; by default the end of the experiment. Data that has not
    been sent by then is not sent."""
    to: HostSet | None = None
    """Receivers. A single receiver receives from every sender."""
    transport: str
    """Name of the transport."""


class ClosedLoopTraffic(Model):
    """Loops of flows: when a flow is fully acknowledged, its sender opens the next one."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    count: Annotated[int, Field(ge=1)] = 1
    """Concurrent loops per sender."""
    from_: Annotated[HostSet | None, Field(alias="from")] = None
    """Senders; by default all hosts."""
    jitter: Time = "0s"
    """Maximum random delay of each first flow."""
    kind: Literal["closed-loop"] = "closed-loop"
    """closed loop: when a flow ends, its sender opens the next one"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    pairs: Pairs
    """Pairs of hosts, each with loops of its own: "permutation", "random" (a receiver drawn for each flow),
    staggered probabilities { tor, pod }, or a list [[FROM, TO], …]."""
    rate: Rate | None = None
    """Rate at which each flow's application writes, for example from a disk; by default all data is available at
    once. Data that the network cannot accept yet waits."""
    size: AnySize
    """Application bytes of each flow: a size, or a distribution of sizes."""
    start: Time = "0s"
    """Time at which the first flows open."""
    stop: Time | None = None
    """Time from which on no flow opens; by default the end of the experiment."""
    think_time: Time = "0s"
    """Time between the end of a flow and the opening of the next one."""
    to: HostSet | None = None
    """Receivers if pairs are drawn; by default all hosts."""
    transport: str
    """Name of the transport."""


class CollectiveTraffic(Model):
    """An operation in which all ranks exchange data, such as an all-reduce. Each message is a flow of its own, which
    opens when the messages that it needs have arrived at its sender."""

    algorithm: Algorithm | None = None
    """The algorithm; by default "ring" for all-reduce, reduce-scatter and all-gather, "binomial-tree" for broadcast,
    and "shift" for all-to-all."""
    chunks: Annotated[int, Field(ge=1)] = 1
    """Number of parts into which messages along trees and chains are cut, so that a rank forwards a part while it
    receives the next one."""
    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    compute: Time = "0s"
    """Time for which each rank computes before each repetition."""
    connections: Literal["per-message", "persistent"] = "per-message"
    """Use of connections by messages."""
    group_size: Annotated[int | None, Field(ge=2)] = None
    """Ranks per group; by default all ranks are one group. Consecutive ranks form groups that run the operation at
    the same time."""
    hosts: HostSet = "all"
    """Hosts on which the ranks run, one rank per host."""
    kind: Literal["collective"] = "collective"
    """an operation of ranks, such as an all-reduce: messages that start when others have arrived"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    operation: Literal["all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"]
    """The operation."""
    placement: Literal["in-order", "random"] = "in-order"
    """Assignment of ranks to `hosts`."""
    ranks: Annotated[int | None, Field(ge=2)] = None
    """Number of ranks; by default as many as `hosts`."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """Number of times that the operation runs, one after another at each rank."""
    send_done: Literal["acknowledged", "started"] = "acknowledged"
    """Event at which a message counts as sent, for tasks that wait."""
    size: Size
    """Bytes of the whole array of a rank. A part is this size divided by the number of ranks. Each rank of an
    all-gather has a part at first, and each rank of a reduce-scatter has one at the end. In an all-to-all each
    rank sends a part to each other rank."""
    start: Time = "0s"
    """Time at which the ranks begin."""
    transport: str
    """Name of the transport."""


class FlowListTraffic(Model):
    """Flows that are listed in a file, in the order of the file."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    file: str
    """Path of the file, relative to the spec's folder."""
    format: Literal["cm", "hpcc", "csv"] | None = None
    """Format of the file. By default the end of the file's name decides: `.cm`, `.csv`, or otherwise HPCC's. `.cm`
    has a line `FROM->TO start PICOSECONDS size BYTES` per flow, and a flow of size 0 sends until the end. HPCC's
    has the number of flows, and then a line `FROM TO PRIORITY PORT BYTES SECONDS` for each; what follows these
    flows is not read. The columns `after` and `compute_s` of CSV, and triggers of `.cm`, let flows start when
    others of the same host have ended."""
    kind: Literal["flow-list"] = "flow-list"
    """flows from a file: htsim's .cm, a flow list of HPCC's simulation, or CSV"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    signal_delay: Time | None = None
    """Time per link after which the acknowledgement of the last byte reaches the sender, for triggers of `.cm` by
    which a sender starts a flow of the receiver. The receiver starts the flow after this time, without a queue on
    the way. By default such triggers are refused."""
    transport: str
    """Name of the transport."""


class HotSpotTraffic(Model):
    """Flows from every host, some of which go to a few busy hosts."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    count: Annotated[int, Field(ge=1)] = 1
    """Flows per sender."""
    jitter: Time = "0s"
    """Maximum random delay of each flow after `start`."""
    kind: Literal["hot-spot"] = "hot-spot"
    """flows from every host, some of which go to a few busy hosts"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    """Probability that a flow goes to one of `spots`; otherwise it goes to any host except these and its sender."""
    size: Size | None = None
    """Application bytes of each flow; by default a flow sends until the end of the experiment."""
    spots: HostSet
    """Hosts that receive more than the others."""
    start: Time = "0s"
    """Time at which the flows open."""
    transport: str
    """Name of the transport."""


class IncastTraffic(Model):
    """Rounds of flows to one receiver."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    flows: Annotated[int, Field(ge=1)]
    """Flows per round. If there are more flows than senders, some hosts send several."""
    from_: Annotated[HostSet | None, Field(alias="from")] = None
    """Senders; by default all hosts except the receiver. Flows are distributed evenly over them."""
    gap: Time = "0s"
    """Time between the openings of two consecutive flows of a round."""
    interval: Time | None = None
    """Time between the starts of two consecutive rounds; required if there is more than one."""
    jitter: Time = "0s"
    """Maximum random delay of each flow."""
    kind: Literal["incast"] = "incast"
    """rounds of flows from many senders to one receiver, which open at short intervals"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    rounds: Annotated[int, Field(ge=1)] = 1
    """Number of rounds."""
    size: Size
    """Application bytes of each flow."""
    start: Time = "0s"
    """Start of the first round."""
    to: str | int | None = None
    """The receiver; by default the last host."""
    transport: str
    """Name of the transport."""


class JobsTraffic(Model):
    """Jobs of one client and several servers each: the client sends requests, and every server replies with a block.
    Several jobs may run concurrently."""

    block: AnySize
    """Application bytes of a block: a size, or a distribution of sizes."""
    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    client_hosts: HostSet | None = None
    """Hosts from which a job's client is drawn; by default all."""
    jitter: Time = "0s"
    """Maximum random delay of each first job."""
    kind: Literal["jobs"] = "jobs"
    """a client sends requests to servers, and each replies with a block; after the last block, the next job begins"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    request: Size
    """Application bytes of a request."""
    server_hosts: HostSet | None = None
    """Hosts from which a job's servers are drawn, without its client; by default all."""
    servers: Annotated[int, Field(ge=1)]
    """Servers per job."""
    slots: Annotated[int, Field(ge=1, le=1000000)] = 1
    """Number of concurrent jobs."""
    start: Time = "0s"
    """Time at which the first jobs begin."""
    stop: Time | None = None
    """Time from which on no job begins; by default the end of the experiment."""
    transport: str
    """Name of the transport."""


class OneToManyTraffic(Model):
    """Flows from each sender to several receivers, which are drawn for it."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    from_: Annotated[HostSet, Field(alias="from")] = "all"
    """Senders."""
    jitter: Time = "0s"
    """Maximum random delay of each flow after `start`."""
    kind: Literal["one-to-many"] = "one-to-many"
    """a flow from each sender to each of several receivers drawn for it"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    receivers: Annotated[int, Field(ge=1)]
    """Receivers per sender, all different."""
    size: Size | None = None
    """Application bytes of each flow; by default a flow sends until the end of the experiment."""
    start: Time = "0s"
    """Time at which the flows open."""
    transport: str
    """Name of the transport."""


class PoissonTraffic(Model):
    """Flows that arrive at random: every sender opens flows at the times of its own Poisson process, whether or not
    earlier flows have ended."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    from_: Annotated[HostSet | None, Field(alias="from")] = None
    """Senders; by default all hosts."""
    interval: Time | None = None
    """Mean time between two consecutive flows of a sender; an alternative to `rate` and `load`."""
    kind: Literal["poisson"] = "poisson"
    """open loop: every host opens flows at random times, whether or not earlier ones have ended"""
    load: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """Fraction of the capacity of a sender's own links that the application bytes of its flows take on average,
    without headers; an alternative to `interval` and `rate`. Pairs with the same sender share it."""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    pairs: Pairs
    """Pairs of hosts, each with a process of its own: "permutation", "random" (a receiver drawn for each flow),
    staggered probabilities { tor, pod }, or a list [[FROM, TO], …]."""
    rate: Annotated[float | None, Field(gt=0.0, le=1000000000000.0)] = None
    """Flows per second of each sender; an alternative to `interval` and `load`."""
    size: AnySize
    """Application bytes of each flow: a size, or a distribution of sizes."""
    start: Time = "0s"
    """Start of the processes."""
    stop: Time | None = None
    """Time from which on no flow opens; by default the end of the experiment."""
    to: HostSet | None = None
    """Receivers if pairs are drawn; by default all hosts."""
    transport: str
    """Name of the transport."""


class PriorityQueue(Model):
    """A FIFO per traffic class. A class without a weight is served before all later classes. Classes with weights
    share the remaining rate in proportion to them. A transmission is never interrupted."""

    classes: Annotated[list[QueueClass], Field(max_length=8, min_length=1)]
    """The traffic classes, up to eight, numbered from 0. Transports choose theirs with `class` and `ack_class`."""
    name: Literal["priority"] = "priority"
    """up to eight traffic classes per port, strict or weighted by deficit round robin (IEEE 802.1Q)"""


class Roce(Model):
    """Settings of a transport of kind "roce". Those of DCQCN have the defaults of its paper (Zhu et al., SIGCOMM
    2015) if it names one."""

    ack_every: Annotated[int, Field(ge=1)] = 1
    """Number of packets in order per acknowledgement. The default is that of the simulators of HPCC and IRN. The
    last packet that a flow may send is always acknowledged."""
    alpha_interval: Time = "55us"
    """DCQCN: time without a notification after which the reduction factor decays (section 3.1)."""
    byte_counter: Size = "10MB"
    """DCQCN: bytes after which the byte counter increases the rate (section 5.2)."""
    cnp_interval: Time = "50us"
    """DCQCN: minimum time between two congestion notifications of a flow (section 3.1)."""
    control: RoceControlName = "dcqcn"
    """Congestion control."""
    fast_recovery: Annotated[int, Field(ge=1)] = 5
    """DCQCN: number F of increases in fast recovery, by timer or byte counter (section 3.1)."""
    gain: Annotated[float, Field(gt=0.0, le=1.0)] = 0.00390625
    """DCQCN: weight g of a notification in the reduction factor. The default is 1/256 (section 5.2)."""
    hpcc: Hpcc | None = None
    """Settings of HPCC."""
    hyper_increase: Rate = "400Mbps"
    """DCQCN: step of the target rate once timer and byte counter are beyond fast recovery. The default is ten times
    that of `increase`, as in QCN (IEEE 802.1Qau), because the paper has no number."""
    increase: Rate = "40Mbps"
    """DCQCN: step of the target rate after fast recovery (section 3.1)."""
    increase_interval: Time = "55us"
    """DCQCN: period of the timer that increases the rate (section 5.2)."""
    initial_rate: Rate | None = None
    """DCQCN, TIMELY and HPCC: first rate of a flow. The default is the rate of the host's link (section 3.1)."""
    min_rate: Rate = "10Mbps"
    """DCQCN, TIMELY and HPCC: smallest rate of a flow. The default is that of QCN, because the papers have no
    number."""
    mtu: Size = "1086B"
    """Size of a full packet with its headers of 62 bytes. The payload of the default, 1024 bytes, is the largest of
    InfiniBand that fits into an Ethernet frame of 1500 bytes."""
    retransmission: RoceRetransmission = "go-back-n"
    """Retransmission of lost packets."""
    rto: Time = "67108864ns"
    """Timeout since the last progress. The default is 4.096 us x 2^14 with the exponent of InfiniBand that is usual
    (InfiniBand Architecture Specification, section 9.7.6.1.3). IRN has 320 us."""
    timely: Timely | None = None
    """Settings of TIMELY."""
    window: Size | None = None
    """Limit of the bytes that are not acknowledged, such as the bandwidth-delay product of IRN. There is none by
    default."""


class ShuffleTraffic(Model):
    """Transfers from each host to each other host, in an order drawn for the sender. When a transfer is fully
    acknowledged, its sender opens the next one."""

    classes: list[SizeClass] | None = None
    """Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its
    size. A flow in no class uses the entry's own transport, and its class has the entry's name."""
    count: Annotated[int, Field(ge=1)] = 1
    """Concurrent transfers per sender, each to a different receiver."""
    hosts: HostSet = "all"
    """Hosts that send to each other."""
    jitter: Time = "0s"
    """Maximum random delay of each sender's start."""
    kind: Literal["shuffle"] = "shuffle"
    """transfers from every host to every other host, one after another in random order"""
    name: str | None = None
    """Name in tables; by default the kind, with the entry's index if several entries have this kind."""
    rate: Rate | None = None
    """Rate at which each transfer's application writes, for example from a disk; by default all data is available at
    once. Data that the network cannot accept yet waits."""
    size: Size
    """Application bytes of each transfer."""
    start: Time = "0s"
    """Time at which the first transfers open."""
    transport: str
    """Name of the transport."""


class Transport(Model):
    """A transport: its kind, the traffic classes of its packets, and the fields of that kind."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    ack_class: Annotated[int | None, Field(ge=0, le=7)] = None
    """Traffic class of all packets that the receivers of flows send, such as acknowledgements. The default is
    `class`."""
    cc: (
        Literal[
            "amp",
            "amp-fg",
            "balia",
            "cubic",
            "dcm",
            "dctcp",
            "fully-coupled",
            "lia",
            "olia",
            "reno",
            "uncoupled",
            "warp",
            "wvegas",
            "xmp",
            "bpf:amp",
            "bpf:amp-fg",
            "bpf:balia",
            "bpf:dcm",
            "bpf:dctcp",
            "bpf:lia",
            "bpf:olia",
            "bpf:warp",
            "bpf:wvegas",
            "bpf:xmp",
        ]
        | AmpCc
        | AmpFgCc
        | BaliaCc
        | CubicCc
        | DcmCc
        | DctcpCc
        | FullyCoupledCc
        | LiaCc
        | OliaCc
        | RenoCc
        | UncoupledCc
        | WarpCc
        | WvegasCc
        | XmpCc
        | BpfAmpCc
        | BpfAmpFgCc
        | BpfBaliaCc
        | BpfDcmCc
        | BpfDctcpCc
        | BpfLiaCc
        | BpfOliaCc
        | BpfWarpCc
        | BpfWvegasCc
        | BpfXmpCc
        | OwnCc
        | None
    ) = None
    """Congestion control: a name, or a table with the name and parameters. Required if the kind is "tcp"."""
    class_: Annotated[int | None, Field(alias="class", ge=0, le=7)] = None
    """Traffic class of all packets that the senders of flows send, for queues that have classes. Strict classes are
    served in the order of their numbers."""
    join_after: Size = "0B"
    """Application bytes that must be acknowledged before the additional subflows join. The default of `weftd` is
    256KB."""
    kind: Literal["tcp", "constant-rate", "uet", "ndp", "roce", "swift"] = "tcp"
    """Kind of transport, that is, the protocol. "tcp" is MPTCP if there are several subflows."""
    ndp: Ndp | None = None
    """Kind "ndp": settings of NDP."""
    off: Time | None = None
    """Kind "constant-rate": time for which a flow pauses after each time `on`."""
    on: Time | None = None
    """Kind "constant-rate": time for which a flow sends, in turn with `off`. Without it, a flow always sends."""
    packet_size: Size = "1514B"
    """Kind "constant-rate": size of a full packet with its header of 66 bytes."""
    paths: (
        Literal[
            "ecmp", "vlb", "disjoint", "consecutive", "by-interface", "pinned", "rps", "flowlet", "plb", "mmptcp", "opn"
        ]
        | EcmpPaths
        | VlbPaths
        | DisjointPaths
        | ConsecutivePaths
        | ByInterfacePaths
        | PinnedPaths
        | RpsPaths
        | FlowletPaths
        | PlbPaths
        | MmptcpPaths
        | OpnPaths
        | None
    ) = None
    """Path policy, which chooses one of the paths between two hosts for each packet: a name, or a table with the
    name and parameters. The default depends on the topology and is mostly "ecmp"."""
    profile: Literal["linux", "amp-2019", "htsim-2011", "ns2-2019", "ns-3.21"] = "linux"
    """Profile, that is, named settings of sender and receiver."""
    random: bool | None = None
    """Kind "constant-rate": whether the times `on` and `off` are means of exponential distributions."""
    rate: Rate | None = None
    """Kind "constant-rate": rate on the wire, headers included, while a flow sends."""
    roce: Roce | None = None
    """Kind "roce": settings of RDMA over converged Ethernet."""
    scheduler: Literal["round-robin", "lowest-rtt", "linux"] | None = None
    """Packet scheduler, which selects the subflow of the next packet. The default is the profile's: "linux" in
    "linux", and "round-robin" in all others."""
    subflows: Annotated[int, Field(ge=1, le=64)] = 1
    """Subflows per connection, or per flow of kind "swift"; 1 is single path."""
    swift: Swift | None = None
    """Kind "swift": settings of Swift."""
    tcp: ProfilePatch | None = None
    """Settings that differ from those of the profile."""
    uet: Uet | None = None
    """Kind "uet": settings of the Ultra Ethernet transport."""


AnyQueue = TypeAliasType(
    "AnyQueue",
    Literal["fifo", "codel", "lossless", "lossy", "priority", "red", "shared", "trimming"]
    | FifoQueue
    | CodelQueue
    | LosslessQueue
    | LossyQueue
    | PriorityQueue
    | RedQueue
    | SharedQueue
    | TrimmingQueue,
)


Traffic = TypeAliasType(
    "Traffic",
    Annotated[
        BulkTraffic
        | IncastTraffic
        | PoissonTraffic
        | ClosedLoopTraffic
        | JobsTraffic
        | AllToAllTraffic
        | ShuffleTraffic
        | OneToManyTraffic
        | StrideTraffic
        | HotSpotTraffic
        | CollectiveTraffic
        | TrainingTraffic
        | TraceTraffic
        | FlowListTraffic,
        Field(discriminator="kind"),
    ],
)


class Cable(Model):
    """A cable between two nodes."""

    a: str
    """Name of a node."""
    b: str
    """Name of the other node."""
    delay: Time | None = None
    """Propagation delay of its links, if it differs."""
    limit: Limit | None = None
    """Capacity of the queues that feed its links, if it differs, as in `queues`. It has no effect on a host's port
    that `hosts.qdisc` governs."""
    mark: Mark | None = None
    """Marking threshold K of these queues, if it differs, as in `queues`."""
    one_way: bool | None = None
    """If true, the cable has only the link from `a` to `b`."""
    queue: AnyQueue | None = None
    """Kind of these queues, if it differs, as `kind` in `queues`. It has no effect on a host's port that
    `hosts.qdisc` governs."""
    rate: Rate | None = None
    """Rate of its links, if it differs."""


class GraphTopology(Model):
    """Named nodes, and cables between them."""

    delay: Time
    """Propagation delay of links without one of their own."""
    file: str | None = None
    """Path of a file that replaces `switches` and `links`, relative to the spec's folder. If its name ends in
    `.topo`, the format is htsim's with tiers of switches. If its text begins with `<`, the format is GraphML.
    Otherwise it is HPCC's: `NODES SWITCHES LINKS`, the numbers of the switches, and a line `A B RATE DELAY
    ERROR_RATE` per link, whose error rate must be 0. GraphML edges may have data `rate`, `bandwidth` or
    `capacity` with a unit, `LinkSpeedRaw` in bits per second, and `delay` or `latency` with a unit. Hosts are the
    nodes in `hosts`, or otherwise those whose data `type` is "host", or otherwise those with a single edge."""
    hosts: list[str] | None = None
    """Names of the hosts, in order."""
    kind: Literal["graph"] = "graph"
    """any network, listed in the spec or read from GraphML, htsim's or HPCC's files; shortest or listed paths"""
    links: list[Cable] | None = None
    """Cables, each with one link in each direction. Several cables may connect two nodes. Hosts may be in separate
    parts of the network if no traffic connects these."""
    paths: list[list[str]] | None = None
    """Paths that replace the shortest ones between two hosts, each as the list of its nodes from the first host to
    the last. They are numbered in this order. Of several cables between two nodes, a path has the first one.
    Acknowledgements take the reversed paths, unless paths are listed for their direction or a cable is one-way."""
    rate: Rate
    """Rate of links without a rate of their own."""
    switches: list[str] | None = None
    """Names of the switches."""


class Layer(Model):
    """Settings of the links of one layer in one direction, or of a single link. A missing field has the value of the
    topology or of `queues`; that of a single link has the value of its layer, if there is one."""

    limit: Limit | None = None
    """Capacity of the queues that feed the links, as in `queues`."""
    mark: Mark | None = None
    """Marking threshold K of these queues, as in `queues`."""
    queue: AnyQueue | None = None
    """Kind of these queues, as `kind` in `queues`."""
    rate: Rate | None = None
    """Rate of each link."""


class Queues(Model):
    """The queues that feed the links."""

    host: HostQueues | None = None
    """Queues of the hosts' own ports, if they differ."""
    kind: Annotated[AnyQueue, Field(validate_default=True)] = "fifo"
    """Kind of the queues: a name, or a table with the name and parameters. Other kinds than "fifo" exist at level
    "packet" only."""
    limit: Limit
    """Capacity of the queue, not counting the packet in transmission. A packet is dropped if it finds this many
    packets waiting, or if it would exceed this many bytes."""
    mark: Mark = "off"
    """Marking threshold K: an ECN-capable packet is marked if it finds at least this much waiting. "off" marks no
    packet."""


class Experiment(Model):
    """An experiment: a network, transports, and traffic."""

    controller: Annotated[FirstFitController | LeastAllocatedController | None, Field(discriminator="kind")] = None
    """A controller, which observes the whole network and assigns paths to subflows at fixed times: a kind of
    controller, with the fields of that kind."""
    duration: Time
    """Simulated time, above 0."""
    events: list[Event] | None = None
    """Changes of links during the run. Changes at the same time take effect in the order in which they are listed."""
    hosts: Hosts | None = None
    """Settings of hosts, which all transports of a host share."""
    layers: dict[str, Layer] | None = None
    """Settings of layers whose links differ from the others, by layer name, such as "agg-core". The column `layer`
    of the table `links` has the names. Each direction is a layer of its own."""
    level: Literal["packet", "flow", "linux"] = "packet"
    """Level, that is, how the experiment runs. "packet": packet-level simulation: every packet, queue and timer
    (default); "flow": flow-level simulation: equilibrium rates of congestion control, or max-min fair rates for
    flows with a size; "linux": the kernel of this machine: network namespaces, TCP and MPTCP sockets, a marking
    switch; needs root and weftd."""
    links: dict[str, Layer] | None = None
    """Settings of single links, by the names of their ends, such as "agg0.0->core0.0". Each direction is a link of
    its own. If several links connect two nodes, all of them are set."""
    measure: Measure | None = None
    """Measurement window, the part of the run in which links, queues and goodput are measured; by default the whole
    run."""
    name: Annotated[str, Field(min_length=1)]
    """Name of the experiment."""
    probes: Annotated[list[Probes], Field(validate_default=True)] = []
    """Probes, which record more than the tables that every run yields."""
    queues: Queues
    """Kind, limits and marking thresholds of the queues that feed the links."""
    seed: Annotated[int, Field(ge=0, le=9223372036854775807)] = 1
    """Seed of everything random."""
    sharing: Literal["equilibrium", "max-min"] | None = None
    """How flows share links at level "flow". By default rates are max-min fair if flows have a size, and the
    equilibrium of the congestion control otherwise."""
    stop: Stop | None = None
    """A condition that ends the experiment before `duration`."""
    sweep: Sweep | None = None
    """Fields and seeds that `weft sweep` varies. A single run ignores them."""
    topology: Annotated[
        ManyToOneTopology
        | TwoBottlenecksTopology
        | TwoPathsTopology
        | FatTreeTopology
        | MultiHomedFatTreeTopology
        | LeafSpineTopology
        | Vl2Topology
        | BcubeTopology
        | GraphTopology,
        Field(discriminator="kind"),
    ]
    """The network: a kind of topology, with the fields of that kind."""
    traffic: Annotated[list[Traffic], Field(min_length=1)]
    """Traffic: which hosts send how much data, and when."""
    transports: dict[str, Transport]
    """Transports, by name."""


from weft.runtime_models import extend

extend(Experiment, Transport)
