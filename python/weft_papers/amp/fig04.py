"""Figure 4 (section 3.2): the minimum window syndrome of one XMP flow that competes with DCTCP flows.

The paper omits the graphs of the text's variants. Here they are panels of their own: "min1" with cwnd_min = 1, "many"
with 2 subflows and 16 DCTCP flows, "dcm", "10ms" and "1gbps". Links of 1 Gbps have the delay of the authors'
simulator, 56 us. The RTT is then section 4.2's 250 us and the BDP 20 packets.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import (
    DCM,
    DCTCP,
    DELAY_US,
    RATE,
    SHOWN,
    STATED_DELAY_US,
    SUBFLOWS,
    TOLERANCE,
    XMP,
    K,
    transport,
)
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SECONDS = 1.0
QUICK_SECONDS = 0.2
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s"
DELAYS_US = (STATED_DELAY_US, DELAY_US, 8)
"""The two readings of `settings`, and one with a larger BDP."""
BDP_PACKETS = {2: 8.9, 5: 19.1, 8: 29.4}
"""The BDP in packets by link delay in us.

The round trip has 4 links, 2 times 1.17 us for a full packet of 1,462 bytes, and 2 times 34 ns for its ACK.
"""
SLOW_DELAY_US = 56
"""Delay of the links of 1 Gbps."""
SUBFLOWS_A = tuple(range(2, 9))
"""Numbers of subflows r in panel (a), with 8 DCTCP flows and K = 10."""
DCTCP_FLOWS_B = (2, 4, 6, 8, 10, 12, 14, 16)
"""Numbers of DCTCP flows n in panel (b), with one XMP flow of 4 subflows and K = 20; the text gives n = 8 only."""
XMP_FLOWS_MIN1 = (1, 4)
"""Numbers of XMP flows with cwnd_min = 1 and 4 subflows, with 8 DCTCP flows and K = 10."""
CWND_MIN = 2
SHORT_MS = 10
"""Duration of the text's shortest simulation."""
FLOOR_TOLERANCE = 0.02
"""Relative distance from the number of subflows up to which a ratio shows that all windows have the same size."""
UNFAIR = 1.25
"""Ratio of XMP's goodput to a DCTCP flow's from which the syndrome is present; the paper gives no number."""


def cases(scale: Scale) -> list[Case]:
    """Returns the runs of (a) by XMP's subflows, of (b) by DCTCP flows, and with cwnd_min = 1 by XMP flows."""
    panels = [
        *(_Cell("a", K, 1, 8, r) for r in SUBFLOWS_A),
        *(_Cell("b", 20, 1, n, SUBFLOWS) for n in DCTCP_FLOWS_B),
        *(_Cell("min1", K, m, 8, SUBFLOWS) for m in XMP_FLOWS_MIN1),
        _Cell("many", K, 1, 16, 2),
        _Cell("dcm", K, 1, 8, SUBFLOWS),
        _Cell("10ms", K, 1, 8, SUBFLOWS),
    ]
    cells = [(cell, delay_us) for delay_us in DELAYS_US for cell in panels]
    cells.append((_Cell("1gbps", K, 1, 8, SUBFLOWS), SLOW_DELAY_US))
    return [_case(cell, delay_us, seed, scale) for cell, delay_us in cells for seed in range(1, scale.seeds + 1)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its algorithm, its goodput in Gbps and its timeouts."""
    return result.flows.select(
        algorithm=pl.col("transport"),
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        timeouts=pl.col("timeouts"),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.2, "Demonstration of the syndrome", sentence by sentence."""
    claims = _claims(rows, DELAY_US)
    return [*claims, _variants(rows), _condition(rows), *with_stated_delay(claims, _claims(rows, STATED_DELAY_US))]


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput of XMP and of a DCTCP flow, as in the paper, by link delay: mean, lowest and highest of the seeds."""
    plot = Plot(figsize=(9, 8), layout="constrained")
    panels = plot.subplots(len(DELAYS_US), 2, sharey="col")
    for row, delay_us in zip(panels, DELAYS_US, strict=True):
        here = rows.filter(delay_us=delay_us)
        _plot_panel(row[0], here.filter(panel="a"), "subflows", f"(a) K = 10, 8 DCTCP, links of {delay_us} us")
        _plot_panel(row[1], here.filter(panel="b"), "dctcp_flows", f"(b) K = 20, r = 4, links of {delay_us} us")
    for panel in plot.axes:
        panel.set_ylim(bottom=0)
    panels[-1][0].set_xlabel("subflows of the XMP flow, r")
    panels[-1][1].set_xlabel("DCTCP flows, n")
    panels[0][0].legend(frameon=False)
    plot.suptitle("Figure 4: the minimum window syndrome")
    return plot


@dataclass(frozen=True)
class _Cell:
    panel: str
    mark: int
    xmp_flows: int
    dctcp_flows: int
    subflows: int


def _case(cell: _Cell, delay_us: int, seed: int, scale: Scale) -> Case:
    floor = {"cwnd_min": 1} if cell.panel == "min1" else {}
    multipath = "dcm" if cell.panel == "dcm" else "xmp"
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    experiment = coexistence(
        multipath,
        cell.xmp_flows,
        cell.dctcp_flows,
        delay_us=delay_us,
        seconds=SHORT_MS / 1000 if cell.panel == "10ms" else seconds,
        mark=cell.mark,
        multipath=transport(multipath, cc=(DCM if multipath == "dcm" else XMP) | floor, subflows=cell.subflows),
        dctcp=transport("dctcp", cc=DCTCP | floor),
        rate="1Gbps" if cell.panel == "1gbps" else RATE,
    )
    return Case({"delay_us": delay_us, **asdict(cell)}, experiment, seed)


def _claims(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    a = {r: _ratio(rows, "a", delay_us, subflows=r) for r in SUBFLOWS_A}
    b = _ratio(rows, "b", delay_us, dctcp_flows=8)
    min1 = {m: _ratio(rows, "min1", delay_us, xmp_flows=m) for m in XMP_FLOWS_MIN1}
    sixteen = _ratio(rows, "many", delay_us)
    many = [r for r in SUBFLOWS_A if r >= 3]
    return [
        Claim(
            "(a) 2 subflows: the 8 DCTCP flows have no problem",
            "no problem",
            str(a[2]),
            a[2].mean < UNFAIR,
            _note(f"holds below {UNFAIR}", rows, {"": ("a", {"subflows": 2})}),
        ),
        Claim(
            "(a) The syndrome begins as soon as XMP uses three subflows or more",
            "unfair from 3 subflows on",
            listed((f"{r} subflows", a[r]) for r in many),
            all(a[r].mean >= UNFAIR for r in many),
            _note(
                f"holds when it is at least {UNFAIR} for every r from 3 to 8",
                rows,
                {f"{r} subflows": ("a", {"subflows": r}) for r in many},
            ),
        ),
        Claim(
            "(a) 4 subflows: XMP obtains 2.3 times a DCTCP flow's goodput",
            "2.3",
            str(a[4]),
            a[4].near(2.3, TOLERANCE),
            _note("holds within 15 %", rows, {"": ("a", {"subflows": 4})}),
        ),
        Claim(
            "(b) K = 20, 8 DCTCP flows: the gap is a factor of two",
            "2",
            str(b),
            b.near(2.0, TOLERANCE),
            _note("holds within 15 %", rows, {"": ("b", {"dctcp_flows": 8})}),
        ),
        Claim(
            "(b) A larger marking threshold alleviates the problem marginally",
            "2.3 at K = 10, 2 at K = 20",
            f"{a[4]} at K = 10, {b} at K = 20",
            UNFAIR <= b.mean < a[4].mean,
            _note(
                f"8 DCTCP flows, 4 subflows; holds when K = 20 lowers it and leaves it at {UNFAIR} or more",
                rows,
                {"K = 10": ("a", {"subflows": 4}), "K = 20": ("b", {"dctcp_flows": 8})},
            ),
        ),
        Claim(
            "cwnd_min = 1 makes the syndrome less likely",
            "less likely",
            f"{min1[1]} with cwnd_min = 1, {a[4]} with 2",
            min1[1].mean < a[4].mean,
            _note(
                "8 DCTCP flows, 1 XMP flow of 4 subflows, K = 10; holds when it is lower with cwnd_min = 1",
                rows,
                {"cwnd_min = 1": ("min1", {"xmp_flows": 1}), "cwnd_min = 2": ("a", {"subflows": 4})},
            ),
        ),
        Claim(
            "cwnd_min = 1: 4 flows instead of 1 trigger the syndrome",
            "triggered by 4 flows",
            listed((f"{m} XMP", min1[m]) for m in XMP_FLOWS_MIN1),
            min1[4].mean >= UNFAIR and min1[4].mean > min1[1].mean,
            _note(
                f"8 DCTCP flows, K = 10; holds when it is at least {UNFAIR} with 4 XMP flows and more than with 1",
                rows,
                {f"{m} XMP": ("min1", {"xmp_flows": m}) for m in XMP_FLOWS_MIN1},
            ),
        ),
        Claim(
            "2 subflows: the problem recurs with 16 DCTCP flows",
            "at least about 16 DCTCP flows",
            f"{sixteen} with 16 DCTCP flows, {a[2]} with 8",
            sixteen.mean >= UNFAIR > a[2].mean,
            f"XMP's goodput over the mean of the DCTCP flows'; holds when it is at least {UNFAIR} with 16 and less "
            "with 8",
        ),
        Claim(
            "The syndrome gives multipath flows 2 to 5 times the throughput of single-path flows",
            "2-5 times",
            listed((f"{r} subflows", a[r]) for r in many),
            all(2 * (1 - TOLERANCE) <= a[r].mean <= 5 * (1 + TOLERANCE) for r in many),
            f"8 DCTCP flows, K = {K}; holds when every r from 3 to 8 is in that range, within 15 %",
        ),
    ]


def _variants(rows: pl.DataFrame) -> Claim:
    base = _ratio(rows, "a", DELAY_US, subflows=SUBFLOWS)
    found = {
        "DCM": _ratio(rows, "dcm", DELAY_US),
        f"{SHORT_MS} ms": _ratio(rows, "10ms", DELAY_US),
        "1 Gbps": _ratio(rows, "1gbps", SLOW_DELAY_US),
    }
    return Claim(
        "DCM, 10 ms and links of 1 Gbps show a very similar trend",
        "a very similar trend",
        listed(found.items()),
        all(summary.near(base.mean, TOLERANCE) for summary in found.values()),
        f"goodput over the mean of the DCTCP flows'; 4 subflows, 8 DCTCP flows, K = {K}; holds within 15 % of XMP's "
        f"{base} in {SECONDS:.0f} s at 10 Gbps",
    )


def _condition(rows: pl.DataFrame) -> Claim:
    """Returns the claim about the number of windows, (BDP + K) / cwnd_min, from which all are at their floor.

    A multipath flow then gets the goodput of as many DCTCP flows as it has subflows.
    """
    cells = [(delay_us, r, _ratio(rows, "a", delay_us, subflows=r)) for delay_us in DELAYS_US for r in SUBFLOWS_A]
    limit = {delay_us: (BDP_PACKETS[delay_us] + K) / CWND_MIN for delay_us in DELAYS_US}
    right = [(8 + r > limit[delay_us]) == summary.near(r, FLOOR_TOLERANCE) for delay_us, r, summary in cells]
    return Claim(
        "All windows are at their floor when more than (BDP + K) / cwnd_min flows and subflows share the bottleneck",
        "larger than (BDP + K) / cwnd_min",
        f"{sum(right)} of {len(right)} cells",
        all(right),
        f"8 DCTCP flows and r = 2 to 8 subflows, links of 2, 5 and 8 us, so that the limit is "
        f"{', '.join(f'{r:.1f}' for r in limit.values())}; at their floors r subflows get r times a DCTCP flow's "
        f"goodput; holds when the ratio is within {100 * FLOOR_TOLERANCE:.0f} % of r above the limit and not below it",
        table=Table(
            ("links", *(f"r = {r}" for r in SUBFLOWS_A)),
            tuple((f"{d} us", *(str(_ratio(rows, "a", d, subflows=r)) for r in SUBFLOWS_A)) for d in DELAYS_US),
        ),
    )


def _ratio(rows: pl.DataFrame, panel: str, delay_us: int, **cell: int) -> SeedSummary:
    here = rows.filter(panel=panel, delay_us=delay_us, **cell)
    goodput = pl.col("goodput_gbps").mean()
    multipath, dctcp = here.filter(pl.col("algorithm") != "dctcp"), here.filter(algorithm="dctcp")
    return over_seeds(multipath, goodput) / over_seeds(dctcp, goodput)


def _note(holds: str, rows: pl.DataFrame, named: dict[str, tuple[str, dict[str, int]]]) -> str:
    """Describes the judged ratio and its values with the other link delays."""
    others = []
    for delay_us in DELAYS_US:
        if delay_us != DELAY_US:
            ratios = {name: _ratio(rows, panel, delay_us, **cell) for name, (panel, cell) in named.items()}
            others.append(f"with {delay_us} us {listed(ratios.items())}")
    return (
        f"XMP's goodput over the mean of the DCTCP flows'; {holds}; links of {DELAY_US} us, a BDP of 20 packets; "
        f"{'; '.join(others)}. The smaller the BDP (9, 19 and 29 packets at 2, 5 and 8 us), the more windows sit at "
        "their floor"
    )


def _plot_panel(panel: Axes, rows: pl.DataFrame, over: str, title: str) -> None:
    for algorithm in ("dctcp", "xmp"):
        goodput = pl.col("goodput_gbps").mean()
        by_seed = rows.filter(algorithm=algorithm).group_by(over, "seed").agg(goodput)
        low, high = pl.col("goodput_gbps").min(), pl.col("goodput_gbps").max()
        # Rounding may put a mean just outside of equal values.
        below, above = (goodput - low).clip(lower_bound=0), (high - goodput).clip(lower_bound=0)
        cells = by_seed.group_by(over).agg(mean=goodput, below=below, above=above).sort(over)
        shown = SHOWN[algorithm]
        panel.errorbar(
            cells[over],
            cells["mean"],
            yerr=(cells["below"], cells["above"]),
            label=f"{shown.label}, mean of its flows" if algorithm == "dctcp" else shown.label,
            color=shown.colour,
            marker=shown.marker,
            capsize=3,
            linewidth=1,
        )
    panel.set(title=title, ylabel="goodput (Gbps)")
    panel.grid(visible=True, alpha=0.3)
