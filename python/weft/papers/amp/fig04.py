"""Figure 4 (section 3.2): the minimum window syndrome, DCTCP flows beside one XMP flow on one bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from weft.papers.amp.settings import SHOWN, SUBFLOWS, many_to_one, transport
from weft.papers.figure import Claim
from weft.papers.spread import Spread, listed, over_seeds
from weft.sweep import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

    from weft.api import Result
    from weft.papers.figure import Scale

SECONDS = 1.0
QUICK_SECONDS = 0.2
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s"
DELAYS_US = (2, 5, 8)
"""The paper's, the one its BDP needs, and one at which its ratios come out, which the notes quote."""
DELAY_US = 5
"""The link delay of the claims, for it gives the BDP of 20 packets that section 3.2 reasons with."""
SUBFLOWS_A = tuple(range(2, 9))
"""(a): r beside 8 DCTCP flows, K = 10."""
DCTCP_FLOWS_B = (2, 4, 6, 8, 10, 12, 14, 16)
"""(b): n beside one XMP flow of 4 subflows, K = 20; the text gives n = 8 only."""
UNFAIR = 1.25
"""The syndrome is there when XMP's goodput is that many times a DCTCP flow's; no number is in the paper."""
TOLERANCE = 0.15
"""Of the paper's ratios, which have two digits."""


def cases(scale: Scale) -> list[Case]:
    """(a) over the subflows of XMP, (b) over the number of DCTCP flows."""
    panels = [("a", 10, 8, r) for r in SUBFLOWS_A] + [("b", 20, n, SUBFLOWS) for n in DCTCP_FLOWS_B]
    return [
        _case(panel, mark, dctcp_flows, subflows, delay_us, seed, scale)
        for delay_us in DELAYS_US
        for panel, mark, dctcp_flows, subflows in panels
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """One row a flow: its algorithm, its goodput in Gbps and its timeouts."""
    return result.flows.select(
        algorithm=pl.col("transport"),
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        timeouts=pl.col("timeouts"),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Section 3.2, "Demonstration of the syndrome", sentence by sentence."""
    a = {r: _ratio(rows, "a", DELAY_US, subflows=r) for r in SUBFLOWS_A}
    b = _ratio(rows, "b", DELAY_US, dctcp_flows=8)
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
            _near(a[4], 2.3),
            _note("holds within 15 %", rows, {"": ("a", {"subflows": 4})}),
        ),
        Claim(
            "(b) K = 20, 8 DCTCP flows: the gap is a factor of two",
            "2",
            str(b),
            _near(b, 2.0),
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
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Mean goodput of the DCTCP flows and of XMP, as in the paper, for both link delays."""
    from matplotlib.figure import Figure

    plot = Figure(figsize=(9, 8), layout="constrained")
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


def _case(panel: str, mark: int, dctcp_flows: int, subflows: int, delay_us: int, seed: int, scale: Scale) -> Case:
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    experiment = many_to_one(
        f"syndrome-{dctcp_flows}-dctcp-1-xmp-x{subflows}",
        senders=dctcp_flows + 1,
        delay_us=delay_us,
        duration=f"{seconds}s",
        mark=mark,
        transports={"dctcp": transport("dctcp"), "xmp": transport("xmp", subflows=subflows)},
        traffic=[
            {"kind": "bulk", "transport": "xmp", "from": "h0", "to": "r0"},
            {"kind": "bulk", "transport": "dctcp", "from": f"1..{dctcp_flows + 1}", "to": "r0"},
        ],
    )
    labels: dict[str, str | int | float] = {
        "panel": panel,
        "delay_us": delay_us,
        "mark": mark,
        "dctcp_flows": dctcp_flows,
        "subflows": subflows,
    }
    return Case(labels, experiment, seed)


def _ratio(rows: pl.DataFrame, panel: str, delay_us: int, **cell: int) -> Spread:
    here = rows.filter(panel=panel, delay_us=delay_us, **cell)
    goodput = pl.col("goodput_gbps").mean()
    return over_seeds(here.filter(algorithm="xmp"), goodput) / over_seeds(here.filter(algorithm="dctcp"), goodput)


def _note(holds: str, rows: pl.DataFrame, named: dict[str, tuple[str, dict[str, int]]]) -> str:
    """What is compared, and the same with the other link delays."""
    others = []
    for delay_us in DELAYS_US:
        if delay_us != DELAY_US:
            ratios = {name: _ratio(rows, panel, delay_us, **cell) for name, (panel, cell) in named.items()}
            others.append(f"with {delay_us} us {listed(ratios.items())}")
    return (
        f"XMP's goodput over the mean of the DCTCP flows'; {holds}; links of {DELAY_US} us, a BDP of 20 packets; "
        f"{'; '.join(others)}. The smaller the BDP (10, 20 and 29 packets at 2, 5 and 8 us), the more windows sit at "
        "their floor"
    )


def _near(measured: Spread, paper: float) -> bool:
    return abs(measured.mean - paper) <= TOLERANCE * paper


def _plot_panel(panel: Axes, rows: pl.DataFrame, over: str, title: str) -> None:
    for algorithm in ("dctcp", "xmp"):
        goodput = pl.col("goodput_gbps").mean()
        by_seed = rows.filter(algorithm=algorithm).group_by(over, "seed").agg(goodput)
        cells = by_seed.group_by(over).agg(mean=goodput, std=pl.col("goodput_gbps").std().fill_null(0)).sort(over)
        shown = SHOWN[algorithm]
        panel.errorbar(
            cells[over].to_numpy(),
            cells["mean"].to_numpy(),
            yerr=cells["std"].to_numpy(),
            label=f"{shown.label}, mean of its flows" if algorithm == "dctcp" else shown.label,
            color=shown.colour,
            marker=shown.marker,
            capsize=3,
            linewidth=1,
        )
    panel.set_title(title)
    panel.set_ylabel("goodput (Gbps)")
    panel.grid(visible=True, alpha=0.3)
