"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make generate`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Literal
from pydantic import ConfigDict, Field, RootModel
from weft.model import Model, OwnCc


class AmpCc(Model):
    """
    AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """
    a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark or a fast retransmit, in packets
    """
    dctcp_cut: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper
    """
    gamma: Annotated[int, Field(ge=1, le=1000000)] = 2
    """
    rounds with all windows at the floor until subflows are suppressed
    """
    name: Literal["amp"] = "amp"
    """
    AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)
    """
    ssr: Annotated[int, Field(ge=0, le=1)] = 1
    """
    0 switches subflow suppression and release off
    """
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """
    rounds without a mark until suppressed subflows are released
    """


class AmpFgCc(Model):
    """
    AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by marks, in packets; the paper has 1, which waits for delayed ACKs
    """
    name: Literal["amp-fg"] = "amp-fg"
    """
    AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)
    """
    neighbours: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 compares neighbours within a round (Algorithm 1), 0 two rounds (equation (3))
    """


class BaliaCc(Model):
    """
    BALIA: balanced linked adaptation (draft-walid-mptcp-congestion-control)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["balia"] = "balia"
    """
    BALIA: balanced linked adaptation (draft-walid-mptcp-congestion-control)
    """


class BcubeTopology(Model):
    """
    Hosts h0, h1, … by address; switches swL.I, with level L.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    k: Annotated[int, Field(ge=0, le=4)]
    """
    The highest level, counted from 0; hosts have k + 1 ports.
    """
    kind: Literal["bcube"] = "bcube"
    """
    n^(k+1) hosts with k+1 ports that forward, n-port switches between them (BCube, section 3)
    """
    n: Annotated[int, Field(ge=2, le=64)]
    """
    Ports of a switch.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """


class BpfAmpCc(Model):
    """
    AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """
    a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark or a fast retransmit, in packets
    """
    dctcp_cut: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 cuts a subflow that sends alone by DCTCP's alpha / 2, 0 by 1 / beta as in the paper
    """
    gamma: Annotated[int, Field(ge=1, le=1000000)] = 2
    """
    rounds with all windows at the floor until subflows are suppressed
    """
    name: Literal["bpf:amp"] = "bpf:amp"
    """
    AMP: adaptive multipath by subflow suppression and release (Kheirkhah and Lee)
    """
    ssr: Annotated[int, Field(ge=0, le=1)] = 1
    """
    0 switches subflow suppression and release off
    """
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """
    rounds without a mark until suppressed subflows are released
    """


class BpfAmpFgCc(Model):
    """
    AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by marks, in packets; the paper has 1, which waits for delayed ACKs
    """
    name: Literal["bpf:amp-fg"] = "bpf:amp-fg"
    """
    AMP-FG: fine-grained cuts that depend on where in a round the marks are (Ye et al., 2019)
    """
    neighbours: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 compares neighbours within a round (Algorithm 1), 0 two rounds (equation (3))
    """


class BpfDcmCc(Model):
    """
    DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    name: Literal["bpf:dcm"] = "bpf:dcm"
    """
    DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 1
    """
    1 computes a of equation (1) at every acknowledgement, 0 once a round
    """


class BpfDctcpCc(Model):
    """
    DCTCP on each subflow, uncoupled (RFC 8257)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    name: Literal["bpf:dctcp"] = "bpf:dctcp"
    """
    DCTCP on each subflow, uncoupled (RFC 8257)
    """


class BpfLiaCc(Model):
    """
    LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """
    0: no ECN; otherwise a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    name: Literal["bpf:lia"] = "bpf:lia"
    """
    LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 computes alpha at every acknowledgement, 0 once a round
    """


class BpfWarpCc(Model):
    """
    Warp: one DCTCP window for a whole connection, spread over its subflows
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    kappa: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """
    part of a share that moves away at each round per unit of marks in excess
    """
    name: Literal["bpf:warp"] = "bpf:warp"
    """
    Warp: one DCTCP window for a whole connection, spread over its subflows
    """
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """
    rounds in a row with room for one more subflow until it sends again
    """


class BpfXmpCc(Model):
    """
    XMP: constant cuts, rate-balanced growth once a round (AMP's paper, section 2.2)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """
    a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    name: Literal["bpf:xmp"] = "bpf:xmp"
    """
    XMP: constant cuts, rate-balanced growth once a round (AMP's paper, section 2.2)
    """


class ByInterfacePaths(Model):
    """
    Subflow s takes path s, in both directions; the first path follows the last.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["by-interface"] = "by-interface"
    """
    subflow s takes path s, as if every path had an interface of its own
    """


class Cable(Model):
    """
    A cable between two nodes.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    a: str
    """
    Name of a node.
    """
    b: str
    """
    Name of another.
    """
    delay: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Its propagation delay where it differs.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Its rate where it differs.
    """


class ConsecutivePaths(Model):
    """
    The first subflow's path is drawn, the others follow in turn.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["consecutive"] = "consecutive"
    """
    the first subflow's path is drawn, further subflows take the next ones; the same number in both directions
    """


class ConstantSize(Model):
    """
    Always the same size.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    kind: Literal["constant"] = "constant"
    """
    one size
    """
    size: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The size.
    """


class CubicCc(Model):
    """
    CUBIC with HyStart on each subflow, Linux's default (RFC 9438)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=0.1, le=0.95)] = 0.7
    """
    a congestion event leaves this part of the window
    """
    c: Annotated[float, Field(ge=0.001, le=1000.0)] = 0.4
    """
    C of equation (1), in packets per cubic second
    """
    ecn: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 asks for ECN (RFC 3168), and a mark counts as a loss does
    """
    fast_convergence: Annotated[int, Field(ge=0, le=1)] = 1
    """
    0 switches fast convergence off
    """
    hystart: Annotated[int, Field(ge=0, le=1)] = 1
    """
    0 switches HyStart off
    """
    name: Literal["cubic"] = "cubic"
    """
    CUBIC with HyStart on each subflow, Linux's default (RFC 9438)
    """
    rfc_growth: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1: grows at every acknowledgement by RFC 9438, sections 4.2 to 4.5; 0: as Linux does
    """


class DcmCc(Model):
    """
    DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    name: Literal["dcm"] = "dcm"
    """
    DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 1
    """
    1 computes a of equation (1) at every acknowledgement, 0 once a round
    """


class DctcpCc(Model):
    """
    DCTCP on each subflow, uncoupled (RFC 8257)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow: 1 in RFC 8257 and Linux, 0 in AMP's simulations
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    name: Literal["dctcp"] = "dctcp"
    """
    DCTCP on each subflow, uncoupled (RFC 8257)
    """


class DisjointPaths(Model):
    """
    No two subflows share a path until every path has a subflow.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["disjoint"] = "disjoint"
    """
    subflows over distinct paths, spread over as many branches as possible; the first path is drawn
    """


class EcmpPaths(Model):
    """
    A path drawn for each subflow, and another for its acknowledgements.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["ecmp"] = "ecmp"
    """
    a path drawn by hash for each subflow and direction, as switches do
    """


class Point(RootModel[list[float]]):
    root: Annotated[list[float], Field(max_length=2, min_length=2)]


class EmpiricalSize(Model):
    """
    A cumulative distribution of sizes, linear between its points: a workload or file `cdf`, or `points`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cdf: str | None = None
    """
    A workload, "data-mining" or "web-search", or the path of a file, relative to the spec's folder. The
    file has one point per line, a size and a cumulative probability (as a fraction or in percent), and a
    comment "# size in bytes" or "# size in packets of 1460 bytes".
    """
    kind: Literal["empirical"] = "empirical"
    """
    a cumulative distribution: a workload by name, a file, or points
    """
    points: list[Point] | None = None
    """
    Points instead of a file: [size in bytes, cumulative probability as a fraction]. A resolved spec has
    the points of its file here.
    """
    unit: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    The unit of the file's sizes, if the file does not say it: "1B", or "1460B" for packets.
    """


class Event(Model):
    """
    A change of links: they go down, come back, or get another rate or delay. Links are chosen by name, by
    node or by layer; a fraction of the chosen links may be drawn at random.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    at: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Time of the change. It takes effect before anything else at that time. A packet whose last bit leaves then has left.
    """
    bidirectional: bool = True
    """
    Whether the change also applies to the links in the other direction.
    """
    delay: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    The new propagation delay. Packets on the wire arrive at most this long after the change.
    """
    detection_delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Time until routing knows that links went down or came back. From then on flows get paths that avoid
    dead links; until then packets are sent to dead links and lost.
    """
    fraction: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    The part of the chosen links to draw, above 0 and at most 1. With the same seed, every event of a run
    draws the same links; a smaller fraction draws a subset of a larger one.
    """
    layer: str | None = None
    """
    All links of a layer, such as "agg-core".
    """
    links: list[str] | None = None
    """
    Links by their ends, such as "tor0.1->agg0.0".
    """
    nodes: list[str] | None = None
    """
    All links from and to these nodes.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    The new rate, from the next packet on.
    """
    state: Literal["down", "up"] | None = None
    """
    "down": packets that are queued or being sent are lost, packets on the wire arrive, and packets that
    come later are lost. "up": the link works again.
    """


class ExponentialSize(Model):
    """
    Exponential; draws above 1 TB count as 1 TB.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    kind: Literal["exponential"] = "exponential"
    """
    exponential with a given mean
    """
    mean: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The mean.
    """


class FatTreeTopology(Model):
    """
    Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, rack T, aggregation switch A and its core switch I.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    host_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the hosts' links where it differs.
    """
    k: Annotated[int, Field(ge=2, le=254, multiple_of=2)]
    """
    Ports of every switch, even: k pods, k^3/4 hosts.
    """
    kind: Literal["fat-tree"] = "fat-tree"
    """
    k pods, k^3/4 hosts, full bisection bandwidth unless oversubscribed
    """
    oversubscription: Annotated[int, Field(ge=1, le=64)] = 1
    """
    Hosts of a ToR per uplink: 1 gives full bisection bandwidth, 4 has four times the hosts.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """


class FirstFitController(Model):
    """
    Large flows go to the first path with room, by the rates that the topology has: a controller is not told
    when an event changes a rate.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Time between two placements, at least 1 us; 5 s in Hedera.
    """
    kind: Literal["first-fit"] = "first-fit"
    """
    Hedera's: large flows, found at intervals, go to the first path with room for what they could send
    """
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """
    A subflow is large if its acknowledged rate, averaged over the interval, is above this part of its
    host's link rate.
    """


class FlowProbe(Model):
    """
    Windows of flows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flows: list[int] | str | None = None
    """
    Which of these flows, by index from 0; by default all. The order in a closed loop is the first flow of
    each loop, then the second of each, and so on; in jobs, a job's requests, then its blocks. To choose
    among flows of loops or jobs, `traffic` must name their entry.
    """
    interval: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Sampling interval; by default every change is recorded.
    """
    kind: Literal["flow"] = "flow"
    """
    cwnd, ssthresh and activity of every subflow of chosen flows: at an interval, or every change
    """
    traffic: str | None = None
    """
    Name of a traffic entry; by default flows of all entries.
    """


class FlowletPaths(Model):
    """
    A path drawn for every burst of packets.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    gap: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "500us"
    """
    The pause after which a packet begins a new flowlet: the paper's timeout, 500 us in its section 5.
    """
    name: Literal["flowlet"] = "flowlet"
    """
    a path drawn for every burst of a subflow's packets, after a gap
    """


class FullyCoupledCc(Model):
    """
    fully coupled: the connection as one flow over all paths (NSDI 2011, section 2)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["fully-coupled"] = "fully-coupled"
    """
    fully coupled: the connection as one flow over all paths (NSDI 2011, section 2)
    """


class GraphTopology(Model):
    """
    Nodes by name, and cables between them.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of links that have none of their own.
    """
    file: str | None = None
    """
    A file that replaces `switches` and `links`, relative to the spec's folder. If its name ends in `.topo`, it is htsim's format with
    tiers of switches; otherwise it is GraphML with nodes and edges. GraphML edges may have data `rate`
    and `delay`. Hosts are the nodes that `hosts` names, or else those whose data `type` is "host", or, if
    there are none, those with a single edge.
    """
    hosts: list[str] | None = None
    """
    Nodes that hold endpoints, in their order.
    """
    kind: Literal["graph"] = "graph"
    """
    any network, listed in the spec or read from GraphML or htsim's .topo; all shortest paths
    """
    links: list[Cable] | None = None
    """
    Cables, each with one link in each direction. Several may connect the same two nodes.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of links that have none of their own.
    """
    switches: list[str] | None = None
    """
    Nodes that forward.
    """


class HostQueues(Model):
    """
    The queues of the hosts' own ports. Fields that are left out are as in the switches.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: Annotated[
        str | None,
        Field(
            examples=["100 packets", "150KB"],
            pattern="^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = None
    """
    Capacity of the queue, without the packet being sent. A packet that finds this many packets waiting,
    or would exceed this many bytes, is dropped.
    """
    mark: Annotated[
        str | None,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = None
    """
    Marking threshold K: an ECN-capable packet that finds at least this much waiting is marked. "off"
    marks nothing.
    """


class LatencyProbe(Model):
    """
    One-way latency of flows' data.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    flows: list[int] | str | None = None
    """
    Which of these flows, by index from 0; by default all. Numbered as for the probe `flow`.
    """
    kind: Literal["latency"] = "latency"
    """
    one-way latency of all data of chosen flows, from first transmission to in-order delivery
    """
    traffic: str | None = None
    """
    Name of a traffic entry; by default flows of all entries.
    """


class Layer(Model):
    """
    The links of one layer in one direction. Fields that are left out are as without the entry.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    limit: Annotated[
        str | None,
        Field(
            examples=["100 packets", "150KB"],
            pattern="^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = None
    """
    Capacity of the queues at the heads of the links, as in `queues`.
    """
    mark: Annotated[
        str | None,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = None
    """
    Marking threshold K of these queues, as in `queues`.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of each link.
    """


class LeafSpineTopology(Model):
    """
    Hosts h0, h1, … leaf by leaf; switches leaf0, leaf1, … and spine0, spine1, …
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    hosts_per_leaf: Annotated[int, Field(ge=1, le=4096)]
    """
    Hosts of each leaf.
    """
    kind: Literal["leaf-spine"] = "leaf-spine"
    """
    every leaf linked with every spine, any counts, several links between a pair
    """
    leaves: Annotated[int, Field(ge=1, le=4096)]
    """
    Leaves.
    """
    links: Annotated[int, Field(ge=1, le=16)] = 1
    """
    Links between a leaf and a spine.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of the hosts' links. The oversubscription of a leaf is `hosts_per_leaf` * `rate` to `spines` *
    `links` * `spine_rate`.
    """
    spine_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the links between leaves and spines where it differs.
    """
    spines: Annotated[int, Field(ge=1, le=4096)]
    """
    Spines.
    """


class LeastAllocatedController(Model):
    """
    Gives each large flow the path whose fullest link carries the fewest large flows, as htsim's first fit does.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    interval: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Time between two placements, at least 1 us.
    """
    kind: Literal["least-allocated"] = "least-allocated"
    """
    htsim's first fit: each large flow goes to the path whose fullest link has the fewest large flows
    """
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """
    A subflow is large if its acknowledged rate, averaged over the interval, is above this part of its
    host's link rate.
    """


class LiaCc(Model):
    """
    LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """
    0: no ECN; otherwise a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    name: Literal["lia"] = "lia"
    """
    LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 computes alpha at every acknowledgement, 0 once a round
    """


class ManyToOneTopology(Model):
    """
    Hosts h0 to h(n-1) send, host r0 (the last) receives, switch s0 connects them.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    kind: Literal["many-to-one"] = "many-to-one"
    """
    n senders, a switch and a receiver behind one bottleneck (AMP, figure 1)
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """
    sender_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the senders' links where it differs.
    """
    senders: Annotated[int, Field(ge=1, le=65535)]
    """
    Number of senders.
    """


class Measure(Model):
    """
    The part of a run in which links, queues and goodput are measured, so that slow start can be left out.
    Events at `start` are included, events at `stop` are not. The times, windows and counters of flows are those
    of the whole run.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When it begins.
    """
    stop: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    When it ends, at most `duration`, which is the default.
    """


class MmptcpPaths(Model):
    """
    One subflow that scatters its packets first, several subflows later.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    dupack_threshold: Annotated[int | None, Field(ge=1)] = None
    """
    Duplicate acknowledgements that indicate a loss among scattered packets; by default the profile's
    threshold plus the number of paths, if there are several.
    """
    name: Literal["mmptcp"] = "mmptcp"
    """
    the first subflow scatters its packets over all paths; after a number of bytes others take over
    """
    scatter_acks: bool = False
    """
    Whether acknowledgements are scattered over all paths, too; by default they keep to one path.
    """
    threshold: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = "100KB"
    """
    Bytes after which the further subflows join: 100 kB in the paper's section IV.
    """


class MultiHomedFatTreeTopology(Model):
    """
    Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, ToR T, aggregation switch A and its core switch I.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    homes: Annotated[int, Field(ge=1)] = 2
    """
    Links of a host, each to a different ToR of its pod; must divide k/2.
    """
    k: Annotated[int, Field(ge=2, le=254, multiple_of=2)]
    """
    Ports of every switch, even: k pods, k^3/4 hosts over `homes`.
    """
    kind: Literal["multi-homed-fat-tree"] = "multi-homed-fat-tree"
    """
    a fat-tree whose hosts have links to several ToRs of their pod
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """


class OliaCc(Model):
    """
    OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["olia"] = "olia"
    """
    OLIA: opportunistic linked increases (Khalili et al., CoNEXT 2012)
    """


class PacketsProbe(Model):
    """
    Packets of links.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    at: Annotated[list[str], Field(examples=[["r0"], ["s0->r0"]], min_length=1)]
    """
    Hosts or switches, for all links from and to them; links by the names of their ends, "FROM->TO"; or all links of a layer,
    such as "tor-agg".
    """
    kind: Literal["packets"] = "packets"
    """
    all packets of a link or a host, which `weft trace` writes as pcapng
    """


class ParetoSize(Model):
    """
    Pareto: P(X > x) = (L / x)^shape from L on, truncated at an upper bound if there is one. L follows from
    the mean. Draws above 1 TB count as 1 TB.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    kind: Literal["pareto"] = "pareto"
    """
    Pareto with a given shape and mean, with or without an upper bound
    """
    max: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    The upper bound; by default none.
    """
    mean: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The mean, with the upper bound taken into account.
    """
    shape: Annotated[float, Field(ge=0.01, le=100.0)]
    """
    The exponent of the tail; must be above 1 without an upper bound, or the mean would be infinite.
    """


class PinnedPaths(Model):
    """
    Every subflow takes the path of this number, in both directions.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["pinned"] = "pinned"
    """
    the path of a given number, for paths laid out by hand
    """
    path: Annotated[int, Field(ge=0)] = 0
    """
    The path's number, from 0; the first path follows the last.
    """


class QueueProbe(Model):
    """
    Queues at the heads of links.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    at: Annotated[list[str], Field(examples=[["s0->r0"], ["tor-agg"]], min_length=1)]
    """
    Links by the names of their ends, "FROM->TO", or all links of a layer, such as "tor-agg".
    """
    interval: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Sampling interval of the trace; by default only the distribution is kept.
    """
    kind: Literal["queue"] = "queue"
    """
    a queue's length: time-weighted distribution, with `interval` also samples in time
    """


class Queues(Model):
    """
    The FIFO queues at the heads of links.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    host: HostQueues | None = None
    """
    Queues of the hosts' own ports, where they differ.
    """
    limit: Annotated[
        str,
        Field(
            examples=["100 packets", "150KB"],
            pattern="^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ]
    """
    Capacity of the queue, without the packet being sent. A packet that finds this many packets waiting,
    or would exceed this many bytes, is dropped.
    """
    mark: Annotated[
        str,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = "off"
    """
    Marking threshold K: an ECN-capable packet that finds at least this much waiting is marked. "off"
    marks nothing.
    """


class RenoCc(Model):
    """
    Reno on each subflow, uncoupled, without ECN (RFC 5681)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["reno"] = "reno"
    """
    Reno on each subflow, uncoupled, without ECN (RFC 5681)
    """


class RpsPaths(Model):
    """
    A path drawn for every packet.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["rps"] = "rps"
    """
    random packet spraying: a path drawn for every packet, in both directions
    """


class SizeClass(Model):
    """
    Flows below a size.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    below: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    Flows of fewer bytes belong to this class, except those of an earlier class.
    """
    name: str
    """
    Name of the class, in the column `class`.
    """
    transport: str
    """
    Name of their transport.
    """


class Staggered(Model):
    """
    Staggered probabilities (Al-Fares et al., "Hedera", NSDI 2010, section 5.2): a flow goes to a host of the same ToR with
    probability `tor`, to one of the same pod at another ToR with `pod`, and elsewhere with the rest.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    pod: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability of a host of the same pod at another ToR: four links away.
    """
    tor: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability of a host of the same ToR: two links away.
    """


class Stop(Model):
    """
    Ends the experiment once a number of flows of a class have all their data acknowledged: at the first whole
    millisecond of simulated time at or after the last of them, or at a multiple of a shorter interval if
    `duration` is below a second.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    class_: Annotated[str, Field(alias="class")]
    """
    Name of a class, or of a traffic entry for its flows outside its classes.
    """
    flows: Annotated[int, Field(ge=1, le=9223372036854775807)]
    """
    Number of its flows.
    """


class StrideTraffic(Model):
    """
    A flow from every host to the host a fixed number of places further on.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later than `start` by a random time up to this.
    """
    kind: Literal["stride"] = "stride"
    """
    a flow from every host to the host a fixed number of places further on
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; by default it sends until the end.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the flows open.
    """
    stride: Annotated[int, Field(ge=1)]
    """
    Number of places; the first host follows the last.
    """
    transport: str
    """
    Name of the transport.
    """


class Sweep(Model):
    """
    What `weft sweep` varies, unless its command says otherwise.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    over: list[str] | None = None
    """
    Fields and their values, as `--over` takes them: "transports.amp.cc=amp,xmp,dcm", "traffic[0].flows=10:40:10". Several make
    all combinations, of which the last varies fastest.
    """
    seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    """
    Runs of every combination, with seeds from the spec's own on.
    """


class TwoBottlenecksTopology(Model):
    """
    Hosts S1, S2, S3, D1, D2, D3; switches upper-in, upper-out, lower-in, lower-out.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    host_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the hosts' links where it differs.
    """
    kind: Literal["two-bottlenecks"] = "two-bottlenecks"
    """
    three pairs of hosts over two bottlenecks, the middle one over both (AMP, figure 5)
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """


class TwoPathsTopology(Model):
    """
    Hosts h0, h1, … rack by rack; switches tor0, tor1, … of the racks, agg0 and agg1 above them.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    host_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the hosts' links where it differs.
    """
    hosts_per_rack: Annotated[int, Field(ge=1, le=1000)] = 2
    """
    Hosts of each rack.
    """
    kind: Literal["two-paths"] = "two-paths"
    """
    racks below two switches, so two paths between hosts of different racks (MPTCP in data centres, section 4)
    """
    racks: Annotated[int, Field(ge=2, le=1000)] = 3
    """
    Racks.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of every link.
    """


class UncoupledCc(Model):
    """
    uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["uncoupled"] = "uncoupled"
    """
    uncoupled: every subflow is an independent Reno flow (NSDI 2011, section 2)
    """


class UniformSize(Model):
    """
    Uniform between two sizes, both included.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    kind: Literal["uniform"] = "uniform"
    """
    every whole number of bytes between two sizes equally likely
    """
    max: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The largest size.
    """
    min: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The smallest size.
    """


class Vl2Topology(Model):
    """
    Hosts h0, h1, … rack by rack; switches torT, aggA and intI.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    aggregation_ports: Annotated[int, Field(ge=2, le=256, multiple_of=2)]
    """
    Ports of an aggregation switch, even: half lead to ToRs, half to intermediate switches.
    """
    delay: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Propagation delay of every link.
    """
    hosts_per_tor: Annotated[int, Field(ge=1, le=256)] = 20
    """
    Hosts of a ToR.
    """
    intermediate_ports: Annotated[int, Field(ge=2, le=256, multiple_of=2)]
    """
    Ports of an intermediate switch, even; also the number of aggregation switches.
    """
    kind: Literal["vl2"] = "vl2"
    """
    ToRs linked with two aggregation switches, those with all intermediate ones (VL2, section 4.1)
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of the hosts' links.
    """
    switch_rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate of the links between switches; by default ten times the hosts'.
    """


class VlbPaths(Model):
    """
    A path drawn for each subflow by the sender.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["vlb"] = "vlb"
    """
    a path drawn by the sender for each subflow, uniformly, for both directions
    """


class WarpCc(Model):
    """
    Warp: one DCTCP window for a whole connection, spread over its subflows
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    alpha0: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    alpha of a new subflow
    """
    g: Annotated[float, Field(ge=0.001, le=1.0)] = 0.0625
    """
    weight of the newest round in alpha
    """
    kappa: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """
    part of a share that moves away at each round per unit of marks in excess
    """
    name: Literal["warp"] = "warp"
    """
    Warp: one DCTCP window for a whole connection, spread over its subflows
    """
    tau: Annotated[int, Field(ge=1, le=1000000)] = 8
    """
    rounds in a row with room for one more subflow until it sends again
    """


class XmpCc(Model):
    """
    XMP: constant cuts, rate-balanced growth once a round (AMP's paper, section 2.2)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    beta: Annotated[float, Field(ge=2.0, le=1000.0)] = 4.0
    """
    a mark cuts the window by 1 / beta
    """
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 2
    """
    floor of a cut by a mark, in packets
    """
    name: Literal["xmp"] = "xmp"
    """
    XMP: constant cuts, rate-balanced growth once a round (AMP's paper, section 2.2)
    """


class AllToAllTraffic(Model):
    """
    A flow from each host to each other, among some hosts.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    hosts: Annotated[
        str | int | list[str | int], Field(examples=["h0", "0..8", "all", ["h0", "h5"]])
    ] = "all"
    """
    The hosts.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later than `start` by a random time up to this.
    """
    kind: Literal["all-to-all"] = "all-to-all"
    """
    a flow from every host to every other: a shuffle
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; by default it sends until the end.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the flows open.
    """
    transport: str
    """
    Name of the transport.
    """


class BulkTraffic(Model):
    """
    Flows between pairs of hosts: given as `pairs`, or as `from` and `to`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    count: Annotated[int, Field(ge=1)] = 1
    """
    Flows of each pair.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders. A single sender sends to every receiver; as many senders as receivers send to one each, in
    order.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later than `start` by a random time up to this.
    """
    kind: Literal["bulk"] = "bulk"
    """
    long-lived flows between given pairs or a random permutation, with start and stop or of a size
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    pairs: (
        Literal["permutation", "random"] | Staggered | list[list[str | int]] | None
    ) = None
    """
    Pairs of hosts, [[FROM, TO], …]; or "permutation": every host sends to one other and receives from one
    other, drawn from the seed; or "random": each flow goes to a host that is drawn for it; or staggered
    probabilities by distance, { tor, pod }.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate at which each flow's application writes, for instance from a disk; by default all its data is
    available at once. Data that the network cannot take yet waits.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; by default it sends until `stop`.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the flows open.
    """
    stop: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    When their applications stop producing data; by default at the end of the experiment. Data that has not
    been sent by then is not sent.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers. A single receiver receives from every sender.
    """
    transport: str
    """
    Name of the transport.
    """


class ClosedLoopTraffic(Model):
    """
    Every sender has flows in loops: when one is fully acknowledged, its successor opens.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    count: Annotated[int, Field(ge=1)] = 1
    """
    Concurrent loops of each sender.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; by default all hosts.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each first flow opens later by a random time up to this.
    """
    kind: Literal["closed-loop"] = "closed-loop"
    """
    closed loop: when a flow ends, the sender's next one begins
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    pairs: Literal["permutation", "random"] | Staggered | list[list[str | int]]
    """
    Who sends to whom: "permutation", "random" (each flow to a host drawn for it), staggered probabilities
    { tor, pod }, or pairs [[FROM, TO], …], each of which has loops.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    Rate at which each flow's application writes, for instance from a disk; by default all its data is
    available at once. Data that the network cannot take yet waits.
    """
    size: (
        str | ConstantSize | UniformSize | ExponentialSize | ParetoSize | EmpiricalSize
    )
    """
    Application bytes of each flow: a size, or a distribution of sizes by its kind.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the first flows open.
    """
    stop: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    No flow opens from this time on; by default the end of the experiment.
    """
    think_time: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Time between a flow's end and its successor's opening.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers if pairs are random; by default all hosts.
    """
    transport: str
    """
    Name of the transport.
    """


class FlowListTraffic(Model):
    """
    The flows of a file, in its order.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    file: str
    """
    The file, relative to the spec's folder.
    """
    format: Literal["cm", "hpcc", "csv"] | None = None
    """
    Format of the file; by default taken from the end of its name: `.cm`, `.csv`, otherwise HPCC's.
    """
    kind: Literal["flow-list"] = "flow-list"
    """
    flows from a file: htsim's .cm, a flow list of HPCC's simulation, or CSV
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    transport: str
    """
    Name of the transport.
    """


class Hosts(Model):
    """
    What hosts do apart from their transports. Fields that are left out are as in the profile of the
    transports; if transports have different profiles, as in `linux`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    bql_limit: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    How much of its host's data a port holds before sockets wait, unless `qdisc` is `switch`. It corresponds
    to Linux's byte queue limits. 16KB in all profiles.
    """
    clock_ppm: Annotated[int | None, Field(ge=0, le=1000)] = None
    """
    Each host's clock, and so the rate of its links, differs from the network's by a random share, uniform
    up to this many parts per million. Profile `linux`: 100, the tolerance of IEEE 802.3; `amp-2019`: 0.
    """
    gro_flush_timeout: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Generic receive offload: a receiver merges segments of a subflow, up to 64 KB, if each arrives within this
    time of the one before, and acknowledges them once. `0s` in all profiles: none.
    """
    jitter: str | Literal["packet"] | None = None
    """
    A packet that finds its host's port idle is sent after a random time, uniform up to this, because a
    host's processing time varies. Packets keep their order. `packet` is the time in which the host's link
    sends a full packet, but at least 500 ns. Profile `linux`: `packet`; `amp-2019`: none.
    """
    qdisc: Literal["switch", "fq", "fifo"] | None = None
    """
    Queueing discipline of a host's port, that is, how its sockets share the port. `switch`: they send into
    a queue like a switch's, which marks and drops. `fq`: nothing is marked or dropped, and sockets wait
    while the port is full; waiting sockets send two packets each in turn. `fifo`: as `fq`, but the socket
    that has waited longest sends all its data first. Profile `linux`: `fq`, or `switch` if `queues.host` is
    stated; `amp-2019`: `switch`.
    """
    tso: bool | None = None
    """
    TCP segmentation offload: a subflow hands its NIC bursts of up to 64 KB, and waits until a third of its
    window is free (Linux's `tcp_tso_should_defer`). Off in all profiles.
    """


class HotSpotTraffic(Model):
    """
    Flows from every host: a share goes to a few hosts, the rest to any others.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    count: Annotated[int, Field(ge=1)] = 1
    """
    Flows of each host.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later than `start` by a random time up to this.
    """
    kind: Literal["hot-spot"] = "hot-spot"
    """
    flows from every host, a share of which goes to a few hosts
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    Probability that a flow goes to one of `spots`; otherwise it goes to any host except these and its
    sender.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; by default it sends until the end.
    """
    spots: Annotated[
        str | int | list[str | int], Field(examples=["h0", "0..8", "all", ["h0", "h5"]])
    ]
    """
    The hosts that receive more.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the flows open.
    """
    transport: str
    """
    Name of the transport.
    """


class IncastTraffic(Model):
    """
    Rounds of flows to one receiver.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    flows: Annotated[int, Field(ge=1)]
    """
    Flows in a round.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; by default all hosts except the receiver. Flows are spread evenly over them.
    """
    gap: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Time between the openings of two flows of a round.
    """
    interval: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Time between the starts of two rounds; required if there is more than one.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later by a random time up to this.
    """
    kind: Literal["incast"] = "incast"
    """
    rounds of flows from many senders to one receiver, opened shortly after each other
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    rounds: Annotated[int, Field(ge=1)] = 1
    """
    Number of rounds.
    """
    size: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    Application bytes of each flow.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the first round begins.
    """
    to: str | int | None = None
    """
    The receiver; by default the last host.
    """
    transport: str
    """
    Name of the transport.
    """


class JobsTraffic(Model):
    """
    Jobs of one client and several servers each; several jobs may run concurrently.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    block: (
        str | ConstantSize | UniformSize | ExponentialSize | ParetoSize | EmpiricalSize
    )
    """
    Application bytes of a block: a size, or a distribution of sizes by its kind.
    """
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    client_hosts: str | int | list[str | int] | None = None
    """
    Hosts from which a job's client is drawn; by default all.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each first job begins later by a random time up to this.
    """
    kind: Literal["jobs"] = "jobs"
    """
    a client sends requests to servers, each answers with a block; when all blocks have arrived, the next job begins
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    request: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    Application bytes of a request.
    """
    server_hosts: str | int | list[str | int] | None = None
    """
    Hosts from which a job's servers are drawn, except its client; by default all.
    """
    servers: Annotated[int, Field(ge=1)]
    """
    Servers of a job.
    """
    slots: Annotated[int, Field(ge=1, le=1000000)] = 1
    """
    Number of concurrent jobs.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the first jobs begin.
    """
    stop: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    No job begins from this time on; by default the end of the experiment.
    """
    transport: str
    """
    Name of the transport.
    """


class OneToManyTraffic(Model):
    """
    A flow from each sender to each of several receivers that are drawn for it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    from_: Annotated[
        str | int | list[str | int],
        Field(alias="from", examples=["h0", "0..8", "all", ["h0", "h5"]]),
    ] = "all"
    """
    Senders.
    """
    jitter: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Each flow opens later than `start` by a random time up to this.
    """
    kind: Literal["one-to-many"] = "one-to-many"
    """
    a flow from each sender to each of several receivers drawn for it
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    receivers: Annotated[int, Field(ge=1)]
    """
    Receivers of each sender, all different.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; by default it sends until the end.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the flows open.
    """
    transport: str
    """
    Name of the transport.
    """


class OpnPaths(Model):
    """
    As many subflows as the loss rate suggests, on paths that answer; what was sent on others is sent again on these.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    delta: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "200us"
    """
    A path is slow if data has been outstanding on it for so long and no acknowledgement has come: δ of Algorithm 1. Looked at as often; at
    least 1us.
    """
    delta_rtts: Annotated[float, Field(ge=0.0, le=1000.0)] = 0.0
    """
    It has to be so many of the subflow's smoothed round-trip times, too: 0 as in Algorithm 1, 2 as the text has it.
    """
    epsilon: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "200ms"
    """
    All paths count as fast again at multiples of this: ε.
    """
    name: Literal["opn"] = "opn"
    """
    as many subflows as the loss rate suggests, on fast paths; what is outstanding on slow ones goes there, too
    """
    period: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "10ms"
    """
    The loss rate is measured over this.
    """
    state: Literal["host", "connection"] = "host"
    """
    Scope of the path state, that is, which paths are slow and the loss rate: all connections of a host
    share it, or each connection has its own.
    """


class PoissonTraffic(Model):
    """
    Every sender opens flows at the times of a Poisson process of its own, whether or not earlier flows have
    ended.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; by default all hosts.
    """
    interval: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Mean time between two flows of one sender; `rate` and `load` are the alternatives.
    """
    kind: Literal["poisson"] = "poisson"
    """
    open loop: every host opens flows at random times, whether or not earlier ones have ended
    """
    load: Annotated[float | None, Field(ge=0.0, le=1.0)] = None
    """
    Share of the capacity of a sender's own links that the application bytes of its flows take on average, without headers;
    `interval` and `rate` are the alternatives. Pairs with the same sender share it.
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    pairs: Literal["permutation", "random"] | Staggered | list[list[str | int]]
    """
    Who sends to whom: "permutation", "random", staggered probabilities { tor, pod }, or pairs [[FROM, TO], …], each of
    which opens flows.
    """
    rate: float | None = None
    """
    Flows per second of one sender; `interval` and `load` are the alternatives.
    """
    size: (
        str | ConstantSize | UniformSize | ExponentialSize | ParetoSize | EmpiricalSize
    )
    """
    Application bytes of each flow: a size, or a distribution of sizes by its kind.
    """
    start: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When the processes begin.
    """
    stop: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    No flow opens from this time on; by default the end of the experiment.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers if pairs are random; by default all hosts.
    """
    transport: str
    """
    Name of the transport.
    """


class ProfilePatch(Model):
    """
    Settings that differ from the profile's.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    ack_every: Annotated[int | None, Field(ge=1)] = None
    """
    Acknowledge every n-th full segment; 1 is no delay.
    """
    ack_pushed: bool | None = None
    """
    Whether a segment with PSH is acknowledged as soon as the application has read everything that has
    arrived. PSH marks the last segment that a subflow has to send (Linux since 6.6, `ICSK_ACK_PUSHED`).
    If this is off, its acknowledgement may be delayed like any other.
    """
    ack_size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Bytes on the wire of a packet without payload: SYN, SYN/ACK, ACK.
    """
    complete_on_data_ack: bool | None = None
    """
    A connection ends when acknowledgements on any subflows cover its data (RFC 8684, section 3.3.2). If
    this is off, it ends when all data of each subflow is acknowledged.
    """
    confirmed_joins: bool | None = None
    """
    Joins start once data of subflow 0 is acknowledged. A joined subflow carries data once the last
    acknowledgement of its own handshake is acknowledged (RFC 8684, sections 3.1 and 3.2).
    """
    delayed_ack_timeout: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Longest time by which an acknowledgement is delayed.
    """
    dupack_threshold: Annotated[int | None, Field(ge=1)] = None
    """
    Duplicate acknowledgements that start fast retransmit.
    """
    fct_from: Literal["open", "established"] | None = None
    """
    Where FCT starts: when the flow opens and sends its first SYN ("open"), or when subflow 0's SYN/ACK
    arrives ("established"). It ends when the receiver has the last byte.
    """
    framing: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Bytes that each packet, with data or without, takes on the wire in addition to `header` or `ack_size`.
    Ethernet's are 24B: preamble and start of frame 8, check sequence 4, gap 12 (IEEE 802.3). Queues
    limited in bytes and bytes of links count them.
    """
    frto: bool | None = None
    """
    RFC 5682: with selective acknowledgements, try new data after a timeout, and undo it if it was spurious.
    """
    full_handshakes: bool | None = None
    """
    Are these sent as packets of their own: the last acknowledgement of a subflow's handshake and, once
    all data has been handed out, its FIN, FIN/ACK and last acknowledgement? They have no effect and are
    not retransmitted, but take places in queues.
    """
    grow_after_mark: bool | None = None
    """
    May the window grow between a cut for a mark and the end of that window?
    """
    header: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Header bytes on the wire of a data packet, in addition to its payload.
    """
    initial_cwnd: Annotated[float | None, Field(ge=1.0)] = None
    """
    Initial congestion window in packets, at least 1.
    """
    initial_rto: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    RTO before the first RTT sample (RFC 6298, rule 2.1).
    """
    initial_ssthresh: float | Literal["unlimited"] | None = None
    """
    Initial slow-start threshold in packets, at least 1, or "unlimited".
    """
    join_delay: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Joins start after a uniformly random delay of up to this, counted from when they may start.
    """
    limited_transmit: bool | None = None
    """
    RFC 3042: send a new segment on each of the first duplicate acknowledgements.
    """
    max_rto: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Upper bound of the RTO.
    """
    min_rto: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Lower bound of the RTO, or of its part beyond SRTT.
    """
    min_rto_beyond_srtt: bool | None = None
    """
    Is the minimum RTO the least by which the RTO exceeds SRTT, or the least RTO (RFC 6298, rule 2.4)? The
    former is Linux's way, which matters where round trips are as long as the minimum RTO. It is off in
    every profile.
    """
    mss: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Payload bytes of a full segment.
    """
    pacing: bool | None = None
    """
    Packets of a subflow are paced as under Linux's fq: two windows per round trip in slow start, 1.2
    afterwards, from the eleventh packet on. A rate set by congestion control applies even if this is off.
    """
    protect_handshake: bool | None = None
    """
    SYN and SYN/ACK are neither dropped nor marked.
    """
    prr: bool | None = None
    """
    RFC 6937: fast recovery reduces the data in flight gradually, not by a pause.
    """
    quick_acks: Annotated[int | None, Field(ge=0)] = None
    """
    Number of segments acknowledged at once when a subflow starts, after a pause of the minimum RTO, and
    after a duplicate (Linux's quick acknowledgements).
    """
    react_after_last_data: bool | None = None
    """
    Whether rounds and marks still count when all data of a connection has been handed to subflows.
    """
    receive_buffer: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Shared receive buffer of a connection in bytes, at most 2^30; limits the data in flight at connection
    level.
    """
    recovery: Literal["newreno", "sack", "rack"] | None = None
    """
    Loss recovery: "newreno" (RFC 6582, the variant in which each partial acknowledgement restarts the
    timer), "sack" (RFC 6675) or "rack" (RFC 8985).
    """
    reinject: bool | None = None
    """
    After a timeout of a subflow, send its outstanding data on the other subflows too.
    """
    round_end: Literal["rfc8257", "linux"] | None = None
    """
    The end of a round of DCTCP. With "rfc8257", a round ends when data sent after its start is acknowledged
    (section 3.3, step 3). With "linux", it ends once all data sent before its start is acknowledged.
    """
    round_robin_waits_for_join: bool | None = None
    """
    When round-robin's turn comes to a subflow whose SYN/ACK has not arrived, new data waits for it. If
    this is off, that subflow is skipped.
    """
    sample_handshake_rtt: bool | None = None
    """
    Is the handshake's round trip a first RTT sample?
    """
    stall_on_held_data: bool | None = None
    """
    A fault of the simulator of AMP's authors, off in every profile. Data that arrived out of order on a
    subflow advances the subflow only when the connection's own order advances. A retransmission before
    that is acknowledged as a duplicate, and the subflow waits for a further timeout. It goes with neither
    `reinject` nor paths that are watched: that simulator sends no data on two subflows.
    """
    syn_linear_timeouts: Annotated[int | None, Field(ge=0)] = None
    """
    Timeouts of a SYN that do not double the RTO (Linux since 6.5).
    """
    tail_loss_probe: bool | None = None
    """
    RFC 8985, section 7: with "rack", send a probe two RTTs after the last acknowledgement, so that a loss
    at the tail does not wait for the RTO.
    """
    timer_slack: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Additional wait of a tail loss probe and of the reordering timer: two ticks of Linux's clock.
    """
    timestamps: bool | None = None
    """
    RFC 7323: acknowledgements of retransmissions give RTT samples and say which copy they acknowledge, so
    that a spurious timeout is undone (RFC 3522).
    """


class Transport(Model):
    """
    A transport: congestion control, subflows, paths and a profile.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        arbitrary_types_allowed=True,
    )
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
            "xmp",
            "bpf:amp",
            "bpf:amp-fg",
            "bpf:dcm",
            "bpf:dctcp",
            "bpf:lia",
            "bpf:warp",
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
        | XmpCc
        | BpfAmpCc
        | BpfAmpFgCc
        | BpfDcmCc
        | BpfDctcpCc
        | BpfLiaCc
        | BpfWarpCc
        | BpfXmpCc
        | OwnCc
    )
    """
    Congestion control: a name, or a table with the name and parameters.
    """
    join_after: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = "0B"
    """
    Application bytes that have to be acknowledged before the further subflows join.
    """
    paths: (
        Literal[
            "ecmp",
            "vlb",
            "disjoint",
            "consecutive",
            "by-interface",
            "pinned",
            "rps",
            "flowlet",
            "mmptcp",
            "opn",
        ]
        | EcmpPaths
        | VlbPaths
        | DisjointPaths
        | ConsecutivePaths
        | ByInterfacePaths
        | PinnedPaths
        | RpsPaths
        | FlowletPaths
        | MmptcpPaths
        | OpnPaths
        | None
    ) = None
    """
    Which of the paths between two hosts each packet takes: the name of a path policy, or a table with
    name and parameters; by default the topology's own, mostly "ecmp".
    """
    profile: Literal["linux", "amp-2019"] = "linux"
    """
    Named settings of sender and receiver.
    """
    scheduler: Literal["round-robin", "lowest-rtt", "linux"] | None = None
    """
    Which subflow gets the next packet; by default the profile's: "linux" in "linux", "round-robin" in "amp-2019".
    """
    subflows: Annotated[int, Field(ge=1, le=64)] = 1
    """
    Subflows of a connection; 1 is single path.
    """
    tcp: ProfilePatch | None = None
    """
    Settings that differ from the profile's.
    """


class Experiment(Model):
    """
    An experiment: a network, transports, and traffic.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    controller: Annotated[
        FirstFitController | LeastAllocatedController | None,
        Field(discriminator="kind"),
    ] = None
    """
    A controller, which sees the whole network and gives subflows their paths at fixed times: its kind and
    that kind's own fields.
    """
    duration: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ]
    """
    Simulated time, above 0.
    """
    events: list[Event] | None = None
    """
    Changes of links during the run. Entries of the same time take effect in their order.
    """
    hosts: Hosts | None = None
    """
    What hosts do apart from their transports.
    """
    layers: dict[str, Layer] | None = None
    """
    Layers whose links differ, by their names in the table `links`, such as "agg-core". Each direction is a
    layer of its own.
    """
    level: Literal["packet", "flow", "linux"] = "packet"
    """
    Where it runs. "packet": the packet-level simulator (default); "flow": rates without packets: the equilibrium of congestion control, or max-min fair while flows with a size come and go; "linux": this machine's kernel: network namespaces, TCP and MPTCP sockets, a marking switch; needs root and weftd.
    """
    measure: Measure | None = None
    """
    The part of the run in which links, queues and goodput are measured; by default all of it.
    """
    name: Annotated[str, Field(min_length=1)]
    """
    Name of the experiment.
    """
    probes: Annotated[
        list[
            Annotated[
                QueueProbe | FlowProbe | LatencyProbe | PacketsProbe,
                Field(discriminator="kind"),
            ]
        ],
        Field(validate_default=True),
    ] = []
    """
    What to record in addition to the tables that every run yields.
    """
    queues: Queues
    """
    The queues at the heads of all links.
    """
    seed: Annotated[int, Field(ge=0, le=9223372036854775807)] = 1
    """
    Seed of everything random.
    """
    sharing: Literal["equilibrium", "max-min"] | None = None
    """
    How flows share links at level "flow". By default rates are max-min fair if flows have a size, and the
    equilibrium of the congestion control otherwise.
    """
    stop: Stop | None = None
    """
    A condition that ends the experiment before `duration`.
    """
    sweep: Sweep | None = None
    """
    What `weft sweep` varies. A single run takes no notice of it.
    """
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
    """
    The network: its kind and that kind's own fields.
    """
    traffic: Annotated[
        list[
            Annotated[
                BulkTraffic
                | IncastTraffic
                | PoissonTraffic
                | ClosedLoopTraffic
                | JobsTraffic
                | AllToAllTraffic
                | OneToManyTraffic
                | StrideTraffic
                | HotSpotTraffic
                | FlowListTraffic,
                Field(discriminator="kind"),
            ]
        ],
        Field(min_length=1),
    ]
    """
    Who sends what when.
    """
    transports: dict[str, Transport]
    """
    Transports, by name.
    """


from weft.runtime_models import extend

extend(Experiment, Transport)
