"""An experiment as pydantic models.

Generated from the spec's JSON Schema by `make generate`; not to be changed by hand.
"""

from __future__ import annotations

from typing import Annotated, Literal
from pydantic import ConfigDict, Field, RootModel
from weft.model import Model


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
    1 cuts a subflow that is alone by DCTCP's alpha / 2; 0, the paper's, by 1 / beta
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
    AMP-FG: fine-grained cuts by where in a round the marks are (Ye et al., 2019)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    cwnd_min: Annotated[int, Field(ge=1, le=100)] = 1
    """
    floor of a cut by marks, in packets
    """
    name: Literal["amp-fg"] = "amp-fg"
    """
    AMP-FG: fine-grained cuts by where in a round the marks are (Ye et al., 2019)
    """
    neighbours: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 compares neighbours of one round, as Algorithm 1 does; 0 two rounds, as equation (3)
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
    The highest level, counted from 0: hosts have k + 1 ports.
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


class ByInterfacePaths(Model):
    """
    Subflow s takes path s, in both directions; after the last path the first one follows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["by-interface"] = "by-interface"
    """
    subflow s takes path s, as where every path has an interface of its own
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
    No two subflows share a path before all paths have one.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["disjoint"] = "disjoint"
    """
    subflows over distinct paths, spread as far apart as there are branches; where they begin is drawn
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
    A workload, "data-mining" or "web-search", or the path of a file, from the spec's folder: a line a point, size and
    cumulative probability (as a fraction or in percent), and a comment "# size in bytes" or "# size in packets of 1460 bytes".
    """
    kind: Literal["empirical"] = "empirical"
    """
    a cumulative distribution: a workload by name, a file, or points
    """
    points: list[Point] | None = None
    """
    Points instead of a file: [size in bytes, cumulative probability as a fraction]. A file's points are kept here.
    """
    unit: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    What one unit of the file's sizes is, where the file does not say it: "1B", or "1460B" for packets.
    """


class Event(Model):
    """
    A change of links: they go down, come back, or have another rate or delay. Links are chosen by name, by node or by layer; of those
    chosen, a fraction may be drawn.
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
    When, before anything else that happens then.
    """
    both_ways: bool = True
    """
    Does the same happen to the links in the other direction?
    """
    delay: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    The propagation delay of what leaves from now on; nothing takes longer than that from now on.
    """
    detect: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    How much later routing knows that links went down or came back, and gives flows paths that avoid dead links. Until
    then packets are sent to them, and lost.
    """
    fraction: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """
    The part of the chosen links to draw, above 0 and at most 1. The same links are drawn for every event of a run with the same seed, and
    a smaller fraction draws some of those of a larger one.
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
    The rate from the next packet on.
    """
    state: Literal["down", "up"] | None = None
    """
    "down": what is queued or being sent is lost, what has left arrives, and what comes is lost. "up": it works again.
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
    exponential of a mean
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
    Hosts of a ToR for each of its ports up: 1 is full bisection bandwidth, 4 has four times the hosts.
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
    Large flows go to the first path with room.
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
    How often the network is looked at, at least 1 us; Hedera does every 5 s.
    """
    kind: Literal["first-fit"] = "first-fit"
    """
    Hedera's: large flows, found at intervals, go to the first path with room for what they could send
    """
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    """
    A subflow is large if more than this part of its host's link was acknowledged, on average of the interval.
    """


class FlowProbe(Model):
    """
    Windows of flows.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    every: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Sampling interval; left out, every change is recorded.
    """
    flows: list[int] | str | None = None
    """
    Which of these flows, by index from 0; left out, all. Of a closed loop: of each loop the first, of each the second,
    and so on; of jobs: a job's requests, then its blocks. To choose among those, `traffic` must name their entry.
    """
    kind: Literal["flow"] = "flow"
    """
    cwnd, ssthresh and activity of every subflow of chosen flows: at an interval, or every change
    """
    traffic: str | None = None
    """
    Name of a traffic entry; left out, flows of all entries.
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
    Propagation delay of links that say none of their own.
    """
    file: str | None = None
    """
    GraphML file with nodes and edges, instead of `switches` and `links`. Edges may have data `rate` and `delay`; hosts are the nodes
    whose data `type` is "host", or if there is none those with a single edge, unless `hosts` names them. Or, where its name
    ends in `.topo`, a file of htsim's with tiers of switches.
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
    Cables, each a link in either direction. Two nodes may have several.
    """
    rate: Annotated[
        str,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ]
    """
    Rate of links that say none of their own.
    """
    switches: list[str] | None = None
    """
    Nodes that forward.
    """


class HostQueues(Model):
    """
    What differs in the queues of the hosts' own ports. What is left out is as in the switches.
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
    A packet that finds so many waiting, without the one being sent, is dropped; in bytes: that would exceed them.
    """
    mark: Annotated[
        str | None,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = None
    """
    A packet that finds at least so many waiting is marked if it is ECN-capable (K); "off" marks nothing.
    """


class InTurnPaths(Model):
    """
    The first subflow's path is drawn, the others follow in turn.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["in-turn"] = "in-turn"
    """
    the first subflow's path is drawn, further subflows take the next ones; both directions the same
    """


class KernelAmpCc(Model):
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
    1 cuts a subflow that is alone by DCTCP's alpha / 2; 0, the paper's, by 1 / beta
    """
    gamma: Annotated[int, Field(ge=1, le=1000000)] = 2
    """
    rounds with all windows at the floor until subflows are suppressed
    """
    name: Literal["kernel:amp"] = "kernel:amp"
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


class KernelDcmCc(Model):
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
    name: Literal["kernel:dcm"] = "kernel:dcm"
    """
    DCM: MPTCP's linked increases with DCTCP's cuts (AMP's paper, section 2.1)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 1
    """
    1 computes a of equation (1) at every acknowledgement, 0 once a round
    """


class KernelDctcpCc(Model):
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
    name: Literal["kernel:dctcp"] = "kernel:dctcp"
    """
    DCTCP on each subflow, uncoupled (RFC 8257)
    """


class KernelLiaCc(Model):
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
    name: Literal["kernel:lia"] = "kernel:lia"
    """
    LIA, MPTCP's linked increases; with beta, ECN and a constant cut (RFC 6356)
    """
    per_ack: Annotated[int, Field(ge=0, le=1)] = 0
    """
    1 computes alpha at every acknowledgement, 0 once a round
    """


class KernelXmpCc(Model):
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
    name: Literal["kernel:xmp"] = "kernel:xmp"
    """
    XMP: constant cuts, rate-balanced growth once a round (AMP's paper, section 2.2)
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
    Which of these flows, by index from 0; left out, all. Numbered as for the probe `flow`.
    """
    kind: Literal["latency"] = "latency"
    """
    one-way latency of all data of chosen flows: from first transmission to in-order delivery
    """
    traffic: str | None = None
    """
    Name of a traffic entry; left out, flows of all entries.
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
    Rate of the hosts' links. A leaf is oversubscribed by `hosts_per_leaf` * `rate` to `spines` * `links` * `spine_rate`.
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
    The part of a run in which links, queues and goodput are measured, so that slow start can be left out. What happens at
    `from` belongs to it, what happens at `to` does not. The times, windows and counters of flows are those of the whole run.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[
        str,
        Field(
            alias="from",
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    When it begins.
    """
    to: Annotated[
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
    Packets scattered first, subflows later.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    duplicates: Annotated[int | None, Field(ge=1)] = None
    """
    Duplicate acknowledgements that tell of a loss among scattered packets; left out, those of the profile times the paths.
    """
    name: Literal["mmptcp"] = "mmptcp"
    """
    the first subflow scatters its packets over all paths; after a number of bytes others take over
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
    Links of a host, each to another ToR of its pod; divides k/2.
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


class ParetoSize(Model):
    """
    Pareto: P(X > x) = (L / x)^shape from L on, where L is what gives the mean; below an upper bound if there is one. Draws
    above 1 TB count as 1 TB.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    kind: Literal["pareto"] = "pareto"
    """
    Pareto of a shape and a mean, with or without an upper bound
    """
    mean: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The mean, upper bound included.
    """
    most: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    The upper bound; left out, there is none.
    """
    shape: Annotated[float, Field(ge=0.01, le=100.0)]
    """
    The tail's exponent; above 1 where there is no upper bound, for the mean to be finite.
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
    the path of a given number, as where somebody lays out paths by hand
    """
    path: Annotated[int, Field(ge=0)] = 0
    """
    The path's number, from 0; beyond the last path the first one follows.
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
    every: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Sampling interval of the trace; left out, only the distribution is kept.
    """
    kind: Literal["queue"] = "queue"
    """
    a queue's length: time-weighted distribution, with `every` also samples in time
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
    A packet that finds so many waiting, without the one being sent, is dropped; in bytes: that would exceed them.
    """
    mark: Annotated[
        str,
        Field(
            examples=["10 packets", "off"],
            pattern="^off$|^[0-9]+(\\.[0-9]+)? *(packets|packet|B|KB|MB|GB|TB|kB|KiB|MiB|GiB|TiB)$",
        ),
    ] = "off"
    """
    A packet that finds at least so many waiting is marked if it is ECN-capable (K); "off" marks nothing.
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
    Flows of fewer bytes than this belong to it, but for those of an earlier class.
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
    The experiment ends when so many flows of a class have all their data acknowledged: at the first whole millisecond of
    simulated time (of a shorter interval where `duration` is below a second) at or after the last of them.
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
    How many of its flows.
    """


class StrideTraffic(Model):
    """
    A flow from every host to the one so many further on.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
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
    a flow from every host to the one so many further on
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
    Application bytes of each flow; left out, it sends until the end.
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
    How many hosts further on; after the last host comes the first.
    """
    transport: str
    """
    Name of the transport.
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
    uncoupled: every subflow a Reno flow of its own (NSDI 2011, section 2)
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    name: Literal["uncoupled"] = "uncoupled"
    """
    uncoupled: every subflow a Reno flow of its own (NSDI 2011, section 2)
    """


class UniformSize(Model):
    """
    Uniform between two sizes, both included.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    from_: Annotated[
        str,
        Field(
            alias="from",
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The smallest size.
    """
    kind: Literal["uniform"] = "uniform"
    """
    every whole number of bytes between two sizes equally likely
    """
    to: Annotated[
        str,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ]
    """
    The largest size.
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
    Ports of an intermediate switch, even: as many aggregation switches are there.
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
    A flow from each of some hosts to each other of them.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
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
    Application bytes of each flow; left out, it sends until the end.
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
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    count: Annotated[int, Field(ge=1)] = 1
    """
    Flows of each pair.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders. One sender sends to every receiver; as many as receivers send to one each, in order.
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
    Pairs of hosts, [[FROM, TO], …]; or "permutation": every host sends to one other and receives from one other, drawn by
    the seed; or "random": each flow of every host goes to another drawn for it; or staggered probabilities by
    distance, { tor, pod }.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    How fast each flow's application writes, as one that reads from a disk; left out, all its data is there at once. What the network
    does not take at once waits.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; left out, it sends until `stop`.
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
    When their applications stop producing data; left out, at the end of the experiment.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers. One receiver receives from every sender.
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
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    count: Annotated[int, Field(ge=1)] = 1
    """
    Loops of a sender side by side.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; left out, all hosts.
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
    a flow ends, the sender's next one begins
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
    pause: Annotated[
        str,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = "0s"
    """
    Time between a flow's end and its successor's opening.
    """
    rate: Annotated[
        str | None,
        Field(
            examples=["10Gbps", "100Mbps"],
            pattern="^[0-9]+(\\.[0-9]+)? *(Tbps|Gbps|Mbps|kbps|bps|Kbps)$",
        ),
    ] = None
    """
    How fast each flow's application writes, as one that reads from a disk; left out, all its data is there at once. What the network
    does not take at once waits.
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
    No flow opens from here on; left out, to the end of the experiment.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers where pairs are random; left out, all hosts.
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
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    file: str
    """
    The file.
    """
    format: Literal["cm", "hpcc", "csv"] | None = None
    """
    What it is; left out, its name's end says: `.cm`, `.csv`, otherwise HPCC's.
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
    What hosts do beside their transports. What is left out is as in the profile of all transports; where they have different
    ones, as in `linux`.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    jitter: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    A packet that finds its host's port idle is sent after a random time, uniform up to this: what a host takes to process a
    packet is never quite the same. Packets keep their order. Profile `linux`: 500ns; `amp-2019`: none.
    """
    nic: Literal["switch", "fq", "fifo"] | None = None
    """
    How a host's sockets share its port. Profile `linux`: `fq`, but `switch` where `queues.host` says what such a queue does;
    `amp-2019`: `switch`.
    """
    nic_limit: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    What a port takes of its host's data before sockets wait for it, unless `nic` is `switch`: about what the card holds
    (Linux's byte queue limits). 16KB in all profiles.
    """


class HotSpotTraffic(Model):
    """
    Flows from every host, a part of which go to a few hosts and the others anywhere.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
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
    flows from every host, a part of which go to a few hosts
    """
    name: str | None = None
    """
    Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    """
    share: Annotated[float, Field(ge=0.0, le=1.0)]
    """
    The probability that a flow goes to one of them; else it goes to any other host but these and its sender.
    """
    size: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Application bytes of each flow; left out, it sends until the end.
    """
    spots: Annotated[
        str | int | list[str | int], Field(examples=["h0", "0..8", "all", ["h0", "h5"]])
    ]
    """
    The hosts that get more.
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
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    every: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Time between the beginnings of two rounds; needed when there is more than one.
    """
    flows: Annotated[int, Field(ge=1)]
    """
    Flows in a round.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; left out, all hosts but the receiver. Flows are spread evenly over them.
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
    rounds of flows from many senders to one receiver, opened one shortly after the other
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
    The receiver; left out, the last host.
    """
    transport: str
    """
    Name of the transport.
    """


class JobsTraffic(Model):
    """
    Jobs of one client and several servers each, some side by side.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    among: str | int | list[str | int] | None = None
    """
    Hosts of which a job's servers are drawn, its client excepted; left out, all.
    """
    block: (
        str | ConstantSize | UniformSize | ExponentialSize | ParetoSize | EmpiricalSize
    )
    """
    Application bytes of a block: a size, or a distribution of sizes by its kind.
    """
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    clients: str | int | list[str | int] | None = None
    """
    Hosts of which a job's client is drawn; left out, all.
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
    a client asks servers, each answers with a block; when all are in, the next job begins
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
    servers: Annotated[int, Field(ge=1)]
    """
    Servers of a job.
    """
    slots: Annotated[int, Field(ge=1, le=1000000)] = 1
    """
    Jobs side by side.
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
    No job begins from here on; left out, to the end of the experiment.
    """
    transport: str
    """
    Name of the transport.
    """


class OneToManyTraffic(Model):
    """
    A flow from each sender to each of some receivers drawn for it.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
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
    Application bytes of each flow; left out, it sends until the end.
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


class PoissonTraffic(Model):
    """
    Every sender opens flows at the times of a Poisson process of its own, whatever became of those before.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    classes: list[SizeClass] | None = None
    """
    Classes by size, thresholds rising: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent by the entry's own transport, in a class with its name.
    """
    from_: Annotated[str | int | list[str | int] | None, Field(alias="from")] = None
    """
    Senders; left out, all hosts.
    """
    interval: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    Mean time between the openings of one sender; or `rate`.
    """
    kind: Literal["poisson"] = "poisson"
    """
    open loop: every host opens flows at random times, whatever became of those before
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
    Flows a second of one sender; or `interval`.
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
    No flow opens from here on; left out, to the end of the experiment.
    """
    to: str | int | list[str | int] | None = None
    """
    Receivers where pairs are random; left out, all hosts.
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
    confirmed_joins: bool | None = None
    """
    Joins start once data of subflow 0 is acknowledged, and carry data once their own handshake's last acknowledgement is
    (RFC 8684, sections 3.1 and 3.2).
    """
    delayed_ack_timeout: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    A delayed acknowledgement is sent after this at the latest.
    """
    dupack_threshold: Annotated[int | None, Field(ge=1)] = None
    """
    Duplicate acknowledgements that start fast retransmit.
    """
    ends_by_data_ack: bool | None = None
    """
    A connection ends when acknowledgements cover its data, on whatever subflow (RFC 8684, section 3.3.2); else when each
    subflow has all of its own acknowledged.
    """
    fct_from: Literal["open", "established"] | None = None
    """
    Where FCT starts.
    """
    forward_rto: bool | None = None
    """
    RFC 5682: with selective acknowledgements, try new data after a timeout, and undo it if it was spurious.
    """
    framing: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Bytes that each packet, data or not, takes on the wire beyond that. Ethernet's are 24B: preamble and start of frame 8, check
    sequence 4, gap 12 (IEEE 802.3). Queues limited in bytes and bytes of links count them.
    """
    full_handshakes: bool | None = None
    """
    Are the last acknowledgement of a subflow's handshake and, once all data has been handed out, its FIN, FIN/ACK and last
    acknowledgement packets of their own? They change nothing, are not sent again, and take places in queues.
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
    Header bytes on the wire of a data packet, beside its payload.
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
    Joins start after a uniformly random delay up to this from when they may.
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
    Lower bound of the RTO.
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
    Packets of a subflow leave at a pace, as under Linux' fq: two windows a round trip in slow start, 1.2 afterwards, from the eleventh
    packet on. A rate that congestion control asks for is kept without.
    """
    proportional_rate_reduction: bool | None = None
    """
    RFC 6937: a fast recovery reduces what is in flight bit by bit, not by a pause.
    """
    protect_handshake: bool | None = None
    """
    SYN and SYN/ACK are neither dropped nor marked.
    """
    quick_acks: Annotated[int | None, Field(ge=0)] = None
    """
    Segments acknowledged at once when a subflow starts, after none has come for the minimum RTO, and after a duplicate (Linux'
    quick acknowledgements).
    """
    react_to_the_last: bool | None = None
    """
    Do rounds and marks still count when all data of a connection has been handed to subflows?
    """
    receive_buffer: Annotated[
        str | None,
        Field(
            examples=["128KB", "64KiB", "1448B"],
            pattern="^[0-9]+(\\.[0-9]+)? *(TiB|TB|GiB|GB|MiB|MB|KiB|KB|B|kB)$",
        ),
    ] = None
    """
    Shared receive buffer of a connection in bytes; limits the data in flight at connection level.
    """
    recovery: Literal["newreno", "sack", "rack"] | None = None
    """
    Loss recovery.
    """
    reinject: bool | None = None
    """
    Give data outstanding on a subflow that timed out to the others too.
    """
    round_ends_beyond: bool | None = None
    """
    A round ends when more than what was sent before it began is acknowledged (RFC 8257, section 3.3, step 3), not
    already when just that is (Linux's DCTCP).
    """
    sample_handshake_rtt: bool | None = None
    """
    Is the handshake's round trip a first RTT sample?
    """
    stall_on_held_data: bool | None = None
    """
    A fault of the simulator of AMP's authors, off in every profile: what arrived out of order on a subflow advances it
    only when the connection's own order moves on. Sent again before that, it is acknowledged as a duplicate, and the
    subflow waits for a further timeout.
    """
    syn_linear_timeouts: Annotated[int | None, Field(ge=0)] = None
    """
    Timeouts of a SYN that do not double the RTO (Linux since 6.5).
    """
    tail_loss_probe: bool | None = None
    """
    RFC 8985, section 7: with "rack", send a probe two RTTs after the last acknowledgement, so that a loss at the tail need
    not wait for the RTO.
    """
    timer_slack: Annotated[
        str | None,
        Field(
            examples=["2us", "1.5ms", "20s"],
            pattern="^[0-9]+(\\.[0-9]+)? *(s|ms|us|ns|ps|min)$",
        ),
    ] = None
    """
    What a probe and the end of a reordering window wait in addition: two ticks of Linux's clock.
    """
    timestamps: bool | None = None
    """
    RFC 7323: acknowledgements of what was sent again give RTT samples, and tell which copy they acknowledge, so that a spurious
    timeout is undone (RFC 3522).
    """
    turn_waits_for_join: bool | None = None
    """
    With joins under way, new data waits when round-robin's turn comes to a subflow whose SYN/ACK has not arrived; else
    that subflow is passed over.
    """


class Transport(Model):
    """
    One way of sending.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
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
            "xmp",
            "kernel:amp",
            "kernel:dcm",
            "kernel:dctcp",
            "kernel:lia",
            "kernel:xmp",
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
        | XmpCc
        | KernelAmpCc
        | KernelDcmCc
        | KernelDctcpCc
        | KernelLiaCc
        | KernelXmpCc
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
            "in-turn",
            "by-interface",
            "pinned",
            "rps",
            "flowlet",
            "mmptcp",
        ]
        | EcmpPaths
        | VlbPaths
        | DisjointPaths
        | InTurnPaths
        | ByInterfacePaths
        | PinnedPaths
        | RpsPaths
        | FlowletPaths
        | MmptcpPaths
        | None
    ) = None
    """
    Which of the paths between two hosts each packet takes: the name of a path policy, or a table with name and
    parameters; by default what suits the topology, mostly "ecmp".
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
    An experiment: a network, ways of sending, and who sends what when.
    """

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
    )
    controller: Annotated[FirstFitController | None, Field(discriminator="kind")] = None
    """
    Who sees the whole network and gives subflows their paths at fixed times: its kind and that kind's own fields.
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
    What happens to links while it runs. At one time, entries happen in their order.
    """
    hosts: Hosts | None = None
    """
    What hosts do beside their transports.
    """
    level: Literal["packet", "flow", "linux"] = "packet"
    """
    Where it runs. "packet": the packet-level simulator (default); "flow": rates without packets: congestion control's equilibrium, max-min fair while flows of a size come and go; "linux": this machine's kernel: network namespaces, TCP and MPTCP sockets, a marking switch; needs root and weftd.
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
                QueueProbe | FlowProbe | LatencyProbe, Field(discriminator="kind")
            ]
        ],
        Field(validate_default=True),
    ] = []
    """
    What to record beside the tables that every run yields.
    """
    queues: Queues
    """
    The queues at the heads of all links.
    """
    seed: Annotated[int, Field(ge=0, le=9223372036854775807)] = 1
    """
    Seed of everything random.
    """
    stop: Stop | None = None
    """
    What ends the experiment before `duration`.
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
    Ways of sending, by name.
    """


from weft.registered import extend

extend(Experiment, Transport)
