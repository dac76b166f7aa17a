"""Multipath TCP and transports that spray packets: AMP, Warp, LIA, DCTCP, Ultra Ethernet, NDP and RoCE on one fabric.

The fabric is a fat-tree of 128 hosts, 100 Gbps and 1 us, in which each transport runs alone, in switches with the
queues that it was designed for:

- TCP has FIFOs of 100 packets and K = 20 packets, or buffers that the ports of a switch share (alpha = 1), with the
  memory of the FIFOs together.
- Ultra Ethernet has queues of a bandwidth-delay product that trim, and the marks of the UEC's simulator.
- NDP has queues of eight packets that trim, and sends ten headers per data packet (SIGCOMM 2017, section 3.1). Its
  first window is the bandwidth-delay product. With the default of 30 packets, which is less here, a first quick run
  had 1.58 times the optimum in the permutation; the window was set after that run.
- RoCE has DCQCN, queues of 100 packets that pause their neighbours, and the marks of DCQCN's deployment (SIGCOMM 2015,
  section 6.1).

The following was chosen. Packets of all transports have 4,150 bytes on the wire. TCP is Linux's, with an RTO of at
least 1 ms and delayed acknowledgements of at most 0.5 ms. LIA, AMP and Warp have eight subflows. A permutation and the
incast have one flow per sender. Web search has Poisson arrivals and 60 % of the hosts' rate. 5 % of the links between
aggregation and core switches are slow (a quarter of their rate) from the beginning, or fail after 50 us, which routing
knows 200 us later.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.beyond.alone import Alone
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds
from weft_papers.style import Style
from weft_papers.uet.scenario import HEADER, MTU, mark_ramp

K, QUICK_K = 8, 4
"""Ports of a switch of the fat-tree."""
RATE_BPS = 100e9
LIMIT = 100
"""Packets that a port may hold, as a FIFO and before it pauses its neighbours."""
BDP = 43
"""Bandwidth-delay product in packets, rounded up."""
TCP: dict[str, Any] = {
    "mss": f"{MTU - HEADER}B",
    "header": f"{HEADER}B",
    "ack_size": f"{HEADER}B",
    "min_rto": "1ms",
    "delayed_ack_timeout": "500us",
}
SUBFLOWS = 8
TRANSPORTS: dict[str, dict[str, Any]] = {
    "ecmp": {"cc": "dctcp", "paths": "ecmp", "tcp": TCP},
    "rps": {"cc": "dctcp", "paths": "rps", "tcp": TCP},
    **{name: {"cc": name, "subflows": SUBFLOWS, "paths": "ecmp", "tcp": TCP} for name in ("lia", "amp", "warp")},
    "nscc": {"kind": "uet", "uet": {"control": "sender", "entropies": 128}},
    "rccc": {"kind": "uet", "uet": {"control": "receiver", "entropies": 128}},
    "ndp": {"kind": "ndp", "ndp": {"mtu": f"{MTU}B", "initial_window": BDP}},
    "roce": {"kind": "roce", "roce": {"mtu": f"{MTU}B"}},
}
ALONE = Alone(
    {
        "ecmp": Style("DCTCP, ECMP", "#444444"),
        "rps": Style("DCTCP, sprayed", "#d55e00"),
        "lia": Style("LIA x 8", "#cc79a7"),
        "amp": Style("AMP x 8", "#0072b2"),
        "warp": Style("Warp x 8", "#56b4e9"),
        "nscc": Style("UET, NSCC", "#009e73"),
        "rccc": Style("UET, RCCC", "#7fc97f"),
        "ndp": Style("NDP", "#e69f00"),
        "roce": Style("RoCE, DCQCN", "#999999"),
    }
)
OF_TCP = ("ecmp", "rps", "lia", "amp", "warp")
MULTIPATH = ("lia", "amp", "warp")
SINGLE_PATH = ("ecmp", "roce")
SPRAYED = ("rps", "nscc", "rccc", "ndp")
WITHOUT_LOSS = ("nscc", "rccc", "ndp", "roce")
"""Transports whose switches trim packets or pause their neighbours."""
PERMUTATION, INCAST, WEB, SLOW, FAILED = "permutation", "incast", "web search", "slow links", "failed links"
LOADS = (PERMUTATION, INCAST, WEB, SLOW, FAILED)
FIFO, SHARED = "fifo", "shared"
SIZE_BYTES, INCAST_BYTES = 2_000_000, 256_000
SENDERS, QUICK_SENDERS = 64, 8
OPENS_MS, QUICK_OPENS_MS = 2, 1
"""Time for which flows of web search arrive."""
END_MS = 20
SHORT_BYTES = 100_000
QUICK = f"{QUICK_K**3 // 4} hosts instead of {K**3 // 4}, {QUICK_SENDERS} senders instead of {SENDERS}"
NEAR, EXACT, APART = 1.25, 1.05, 1.5
"""Ratios to the optimum: of sprayed packets, of credit under incast, and of single paths."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each transport under each load, and of TCP with shared buffers."""
    cells = [(load, FIFO, name) for load in LOADS for name in TRANSPORTS]
    cells += [(load, SHARED, name) for load in (PERMUTATION, INCAST, WEB) for name in OF_TCP]
    return [_case(*cell, seed, quick=scale.quick) for cell in cells for seed in range(1, scale.seeds + 1)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: FCT in us, flows that did not end or had a timeout, lost and trimmed packets.

    A flow that did not end counts with the time that it had taken.
    """
    fct = pl.coalesce("fct_s", "unfinished_s") * 1e6
    short = pl.col("size_bytes") <= SHORT_BYTES
    return result.flows.select(
        mean_us=fct.mean(),
        last_us=fct.max(),
        p99_short_us=fct.filter(short).quantile(0.99, interpolation="linear"),
        unfinished=pl.col("fct_s").is_null().sum(),
        late=(pl.col("timeouts") > 0).sum(),
        drops=pl.col("packets_dropped").sum(),
        trims=pl.col("packets_trimmed").sum(),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run; the tables have all transports."""
    whole = rows.filter(pl.col("load") != FAILED)
    return [
        _all_at_most(rows, PERMUTATION, SPRAYED, NEAR, "sprayed packets"),
        _single_paths(rows),
        _before(rows, PERMUTATION, MULTIPATH, "ecmp", "multipath TCP ends before DCTCP over ECMP"),
        _all_at_most(rows, INCAST, ("rccc", "ndp"), EXACT, "credit of the receiver"),
        ALONE.none(
            "Without failed links no flow has a timeout where switches trim or pause", whole, "late", WITHOUT_LOSS
        ),
        ALONE.none("Without failed links RoCE loses no packet", whole, "drops", ("roce",)),
        _short(rows),
        _before(rows, SLOW, (*MULTIPATH, "nscc", "rccc"), "rps", "multipath TCP and UET end before sprayed DCTCP"),
        _before(rows, FAILED, (*MULTIPATH, "nscc", "rccc"), "ecmp", "multipath TCP and UET end before DCTCP over ECMP"),
        _shared(rows),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Time until the last flow ended, over the optimum, and p99 FCT of short flows: mean and range of the seeds."""
    fifos = rows.filter(buffer=FIFO)
    panels = {}
    for load in LOADS:
        column, what = ("p99_short_us", "p99 of short flows") if load == WEB else ("last_us", "last flow")
        panels[f"{load}:\n{what} (us)"] = [_of(fifos, load, name, column) for name in TRANSPORTS]
    return ALONE.plot(panels)


def optimum_us(load: str, senders: int) -> float:
    """Returns the time until the last byte could arrive: data on the busiest host's link, and the path's delays."""
    flows, size = (senders, INCAST_BYTES) if load == INCAST else (1, SIZE_BYTES)
    packets = -(-size // (MTU - HEADER))
    wire = flows * (size + packets * HEADER)
    links = 6
    return (wire * 8 + (links - 1) * MTU * 8) / RATE_BPS * 1e6 + links


def _case(load: str, buffer: str, name: str, seed: int, *, quick: bool) -> Case:
    k, senders = (QUICK_K, QUICK_SENDERS) if quick else (K, SENDERS)
    experiment = Experiment.model_validate(
        {
            "name": f"{load}-{buffer}-{name}".replace(" ", "-"),
            "duration": f"{END_MS}ms",
            "topology": {"kind": "fat-tree", "k": k, "rate": "100Gbps", "delay": "1us"},
            "transports": {name: TRANSPORTS[name]},
            "traffic": [_traffic(load, name, k, senders, quick=quick)],
            "events": slow_or_failed(load),
            **queues_for(name, buffer, k),
        }
    )
    return Case({"load": load, "buffer": buffer, "transport": name, "senders": senders}, experiment, seed)


def _traffic(load: str, name: str, k: int, senders: int, *, quick: bool) -> dict[str, Any]:
    hosts = k**3 // 4
    match load:
        case "incast":
            pairs = [[hosts - 1 - sender, 0] for sender in range(senders)]
            return {"kind": "bulk", "transport": name, "pairs": pairs, "size": f"{INCAST_BYTES}B", "jitter": "1us"}
        case "web search":
            return {
                "kind": "poisson",
                "transport": name,
                "pairs": "random",
                "size": {"cdf": "web-search"},
                "load": 0.6,
                "stop": f"{QUICK_OPENS_MS if quick else OPENS_MS}ms",
            }
        case _:
            size = f"{SIZE_BYTES}B"
            return {"kind": "bulk", "transport": name, "pairs": "permutation", "size": size, "jitter": "1us"}


def slow_or_failed(load: str) -> list[dict[str, Any]]:
    """Returns the link events of a load; none for other loads than `SLOW` and `FAILED`."""
    links = {"layer": "agg-core", "fraction": 0.05}
    match load:
        case "slow links":
            return [links | {"at": "0s", "rate": "25Gbps"}]
        case "failed links":
            return [links | {"at": "50us", "state": "down", "detection_delay": "200us"}]
        case _:
            return []


def queues_for(name: str, buffer: str, k: int) -> dict[str, Any]:
    """Returns the queues of the switches for a transport, and of the hosts."""
    if name in OF_TCP:
        packets = LIMIT * k if buffer == SHARED else LIMIT
        kind = {"name": "shared", "buffer": f"{packets * MTU}B", "alpha": 1} if buffer == SHARED else "fifo"
        return {"queues": {"limit": f"{packets} packets", "mark": "20 packets", "kind": kind}}
    marks = mark_ramp(BDP)
    queues: dict[str, dict[str, Any]] = {
        "nscc": {"limit": f"{BDP - 1} packets", "kind": {"name": "trimming"} | marks},
        "rccc": {"limit": f"{BDP - 1} packets", "kind": {"name": "trimming"} | marks},
        "ndp": {
            "limit": "8 packets",
            "kind": {"name": "trimming", "headers": f"{8 * MTU}B", "ratio": 10, "overflow": "return"},
        },
        "roce": {"limit": f"{LIMIT} packets", "kind": {"name": "lossless"} | ROCE_MARKS},
    }
    # Control of the receiver needs no marks at the last link.
    layers = {"tor-host": {"queue": {"name": "trimming"}}} if name == "rccc" else {}
    return {"queues": queues[name], "hosts": {"qdisc": "switch"}, "layers": layers}


ROCE_MARKS: dict[str, Any] = {"mark_min": "5KB", "mark_max": "200KB", "mark_probability": 0.01}


def _of(rows: pl.DataFrame, load: str, name: str, column: str) -> SeedSummary:
    return over_seeds(rows.filter(load=load, transport=name), pl.col(column).first())


def _ratio(rows: pl.DataFrame, load: str, name: str) -> SeedSummary:
    """Returns the time until the last flow ended over the optimum. It is a lower bound if a flow did not end."""
    found = rows.filter(load=load, transport=name, buffer=FIFO)
    best = optimum_us(load, int(found["senders"][0]))
    ended = over_seeds(found, pl.col("last_us").first())
    open_flows = int(found["unfinished"].sum()) > 0
    return SeedSummary(tuple(value / best for value in ended.values), at_least=open_flows)


def _table(rows: pl.DataFrame, load: str) -> Table:
    """Returns a line per transport: last and mean FCT, p99 of short flows, flows with a timeout, lost packets."""
    columns = {
        "last_us": "last flow, us",
        "mean_us": "mean, us",
        **({"p99_short_us": f"p99 up to {SHORT_BYTES // 1000} KB, us"} if load == WEB else {}),
        "unfinished": "did not end",
        "late": "flows with a timeout",
        "drops": "lost packets",
        "trims": "trimmed packets",
    }
    return ALONE.table(rows.filter(load=load, buffer=FIFO), columns)


def _all_at_most(rows: pl.DataFrame, load: str, names: tuple[str, ...], bound: float, what: str) -> Claim:
    found = {name: _ratio(rows, load, name) for name in names}
    return ALONE.at_most(
        f"{load.capitalize()}: {what} end within {bound} of the optimum",
        bound,
        found,
        "last flow over the time of the data on a host's link; holds if the mean of each does",
        _table(rows, load),
    )


def _single_paths(rows: pl.DataFrame) -> Claim:
    found = {name: _ratio(rows, PERMUTATION, name) for name in SINGLE_PATH}
    return ALONE.at_least(
        f"Permutation: transports with one path need at least {APART} times the optimum",
        APART,
        found,
        "some link of the network has at least two flows if a hash chooses the paths",
    )


def _before(rows: pl.DataFrame, load: str, names: tuple[str, ...], last: str, what: str) -> Claim:
    return ALONE.sooner(
        f"{load.capitalize()}: {what}",
        last,
        {name: _ratio(rows, load, name) for name in (last, *names)},
        "last flow over the optimum without such links; holds if the mean of each does",
        _table(rows, load) if load != PERMUTATION else None,
    )


def _short(rows: pl.DataFrame) -> Claim:
    found = {name: _of(rows.filter(buffer=FIFO), WEB, name, "p99_short_us") for name in ("ecmp", "nscc", "rccc", "ndp")}
    return Claim(
        "Web search: the 99th percentile of short flows is lower with UET and NDP than with DCTCP over ECMP",
        "lower",
        ALONE.listed(found),
        all(found[name].mean < found["ecmp"].mean for name in ("nscc", "rccc", "ndp")),
        f"FCT in us of flows up to {SHORT_BYTES // 1000} KB; holds if the mean of each does",
        table=_table(rows, WEB),
    )


def _shared(rows: pl.DataFrame) -> Claim:
    incast = rows.filter(load=INCAST)
    found = {
        name: [int(incast.filter(transport=name, buffer=buffer)["late"].sum()) for buffer in (FIFO, SHARED)]
        for name in OF_TCP
    }
    return Claim(
        "Incast: no flow of TCP has a timeout if the ports of a switch share the memory of their FIFOs",
        "0",
        ", ".join(f"{ALONE.styles[name].label} {shared} ({fifo} with FIFOs)" for name, (fifo, shared) in found.items()),
        all(shared == 0 for _, shared in found.values()),
        "flows with a timeout, over all seeds; a congested port alone may hold half of the buffer",
    )
