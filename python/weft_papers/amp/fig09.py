"""Figure 9 (section 5.2): Jain's index of 1, 2 and 4 multipath flows that share a bottleneck with n DCTCP flows."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import DELAY_US, SHOWN, STATED_DELAY_US
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SECONDS = 1.0
QUICK_SECONDS = 0.1
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s, links of 5 us only"
PANELS = {1: "a", 2: "b", 4: "c"}
"""Panels by number of multipath flows."""
DCTCP_FLOWS = (2, 4, 6, 8, 16)
"""Values of n, of which the paper's text has only 4 and 8."""
MULTIPATH = ("amp", "xmp", "dcm")
WITHOUT = "amp-without-suppression"
ALGORITHMS = (*MULTIPATH, WITHOUT)
DELAYS_US = (STATED_DELAY_US, DELAY_US, 8)
JITTER = "1ms"
"""Upper bound of random starts, which are not in the paper: they show the effect of flows in lockstep."""
HOST_JITTER = "500ns"
"""Upper bound of each packet's delay at its host, as in profile `linux`; it is not in the paper.

It shows the effect of phases of packets.
"""
NEAR = 0.05
"""Distance up to which indices count as equal; the paper gives no number."""
MARGINAL = 0.1
"""Distance up to which indices differ marginally; the paper gives no number."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm with each number of DCTCP flows; with links of 5 us also with either jitter."""
    settings = [(delay_us, "0s", "0s") for delay_us in ((DELAY_US,) if scale.quick else DELAYS_US)]
    settings += [(DELAY_US, JITTER, "0s"), (DELAY_US, "0s", HOST_JITTER)]
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    return [
        Case(
            {
                "delay_us": delay_us,
                "jitter": jitter,
                "host_jitter": host_jitter,
                "flows": m,
                "dctcp_flows": n,
                "algorithm": algorithm,
            },
            coexistence(algorithm, m, n, delay_us=delay_us, seconds=seconds, jitter=jitter, host_jitter=host_jitter),
            seed,
        )
        for delay_us, jitter, host_jitter in settings
        for m in PANELS
        for n in DCTCP_FLOWS
        for algorithm in ALGORITHMS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns Jain's index of all flows' goodput, and a multipath flow's mean goodput over a DCTCP flow's."""
    goodput, dctcp = pl.col("goodput_bps"), pl.col("transport") == "dctcp"
    return result.flows.select(
        jain=stats.jain(goodput), ratio=goodput.filter(~dctcp).mean() / goodput.filter(dctcp).mean()
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Jain's index over n, one panel per number of multipath flows: mean, lowest and highest of the seeds."""
    plot = Plot(figsize=(10, 3.6), layout="constrained")
    panels = plot.subplots(1, len(PANELS), sharey=True)
    here = _setting(rows, DELAY_US, "0s")
    for axes, (m, letter) in zip(panels, PANELS.items(), strict=True):
        _plot_panel(axes, here.filter(flows=m))
        axes.set_title(f"({letter}) {m} multipath flow{'s' if m > 1 else ''}")
    panels[0].set_ylabel("Jain's index")
    panels[0].legend(frameon=False, fontsize="small")
    plot.suptitle(f"Figure 9: fairness with DCTCP, links of {DELAY_US} us")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.2, "Effectiveness to the minimum window syndrome", and those about SSR."""
    claims = _claims(rows, DELAY_US)
    stated = _claims(rows, STATED_DELAY_US) if STATED_DELAY_US in set(rows["delay_us"]) else []
    return [*claims, _fewer_than_4(_setting(rows, DELAY_US, "0s")), *with_stated_delay(claims, stated)]


def _claims(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    here = _setting(rows, delay_us, "0s")
    return [_fairest(rows, here), *_weak(here), _aggravates(here), _without(here)]


def _setting(rows: pl.DataFrame, delay_us: int, jitter: str, host_jitter: str = "0s") -> pl.DataFrame:
    return rows.filter(delay_us=delay_us, jitter=jitter, host_jitter=host_jitter)


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per pair of multipath and DCTCP flows: each algorithm's mean index over the seeds."""
    return rows.pivot("algorithm", index=["flows", "dctcp_flows"], values="jain", aggregate_function="mean")


def _fairest(rows: pl.DataFrame, here: pl.DataFrame) -> Claim:
    def best(setting: pl.DataFrame) -> tuple[int, int]:
        cells = _means(setting)
        return len(cells.filter(pl.col("amp") > pl.max_horizontal("xmp", "dcm"))), len(cells)

    count, total = best(here)
    others = ["{} in {} of {}".format(words, *best(setting)) for words, setting in _other_settings(rows)]
    return Claim(
        "In almost all cases AMP is fairer than XMP and DCM",
        "almost all",
        f"in {count} of {total} cells; {_cell(here, 1, 8)}; {_cell(here, 4, 8)}",
        count >= 0.9 * total,
        f"mean index over the seeds; holds when AMP's is the highest in 9 of 10 cells. {', '.join(others)}",
    )


def _other_settings(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    delays_us = [d for d in rows["delay_us"].unique().sort() if d != DELAY_US]
    delays = [(f"with {d} us", _setting(rows, d, "0s")) for d in delays_us]
    return [
        *delays,
        (f"with {DELAY_US} us and starts spread over {JITTER}", _setting(rows, DELAY_US, JITTER)),
        (
            f"with {DELAY_US} us and up to {HOST_JITTER} of jitter at the hosts",
            _setting(rows, DELAY_US, "0s", HOST_JITTER),
        ),
    ]


def _cell(rows: pl.DataFrame, m: int, n: int) -> str:
    return f"{m} with {n} DCTCP: {listed((a, _jain(rows, a, m, n)) for a in MULTIPATH)}"


def _jain(rows: pl.DataFrame, algorithm: str, m: int, n: int) -> SeedSummary:
    return over_seeds(rows.filter(algorithm=algorithm, flows=m, dctcp_flows=n), pl.col("jain").first())


def _weak(rows: pl.DataFrame) -> list[Claim]:
    fewer_than_8 = [n for n in DCTCP_FLOWS if n < 8]
    return [
        _marginal(
            "(a) With fewer than 8 DCTCP flows the syndrome is weak and the schemes differ marginally",
            rows,
            1,
            fewer_than_8,
            16,
        ),
        _marginal("(b) With 4 DCTCP flows the syndrome is weak and the schemes differ marginally", rows, 2, [4], 8),
    ]


def _fewer_than_4(rows: pl.DataFrame) -> Claim:
    """Returns the claim by the other reading of "given less than 8 flows in Figure 9(a) and 4 flows in Figure 9(b)"."""
    return _marginal(
        "(b) With fewer than 4 DCTCP flows the syndrome is weak and the schemes differ marginally", rows, 2, [2], 8
    )


def _marginal(claim: str, rows: pl.DataFrame, m: int, weak: list[int], strong: int) -> Claim:
    apart = {n: _apart(rows, m, n) for n in weak}
    return Claim(
        claim,
        "marginal difference",
        "; ".join(_cell(rows, m, n) for n in weak),
        all(value <= MARGINAL for value in apart.values()),
        f"holds when the highest mean index is at most {MARGINAL} above the lowest in each cell; they are "
        + ", ".join(f"{digits(value)} apart at n = {n}" for n, value in apart.items())
        + f", and {digits(_apart(rows, m, strong))} at n = {strong}. A multipath flow at its floor is worth "
        "4 x 2 packets: whether windows sit at the floor depends on BDP + K",
    )


def _apart(rows: pl.DataFrame, m: int, n: int) -> float:
    means = [_jain(rows, algorithm, m, n).mean for algorithm in MULTIPATH]
    return max(means) - min(means)


def _aggravates(rows: pl.DataFrame) -> Claim:
    one, four = ({a: _jain(rows, a, m, 4) for a in MULTIPATH} for m in (1, 4))
    return Claim(
        "More multipath flows aggravate the unfairness even with few DCTCP flows",
        "4 DCTCP flows: (c) less fair than (a)",
        f"1 multipath flow {listed(one.items())}; 4 {listed(four.items())}",
        all(four[a].mean < one[a].mean - NEAR for a in ("xmp", "dcm")),
        f"4 DCTCP flows; holds when the index of XMP and of DCM falls by more than {NEAR}",
    )


def _without(rows: pl.DataFrame) -> Claim:
    cells = _means(rows.filter(pl.col("dctcp_flows") >= 4))
    names = (WITHOUT, "xmp", "dcm")
    apart = cells.select(pl.max_horizontal(names) - pl.min_horizontal(names)).to_series()
    lost = cells.select(pl.col("amp") - pl.col(WITHOUT)).to_series()
    return Claim(
        "Without SSR all three schemes are equally poor",
        "equally poor",
        f"AMP without suppression, XMP and DCM at most {digits(max(apart))} apart; suppression is worth "
        f"{digits(min(lost))} to {digits(max(lost))} of index",
        max(apart) <= NEAR and min(lost) > 0,
        f"cells with 4 DCTCP flows or more; holds when the three mean indices are at most {NEAR} apart and AMP's with "
        "suppression is higher in each",
    )


def _plot_panel(axes: Axes, rows: pl.DataFrame) -> None:
    for algorithm in ALGORITHMS:
        cells = (
            rows.filter(algorithm=algorithm)
            .group_by("dctcp_flows")
            .agg(mean=pl.col("jain").mean(), low=pl.col("jain").min(), high=pl.col("jain").max())
            .sort("dctcp_flows")
        )
        n, shown, line = cells["dctcp_flows"], SHOWN[algorithm], "--" if algorithm == WITHOUT else "-"
        axes.fill_between(n, cells["low"], cells["high"], color=shown.colour, alpha=0.15, linewidth=0)
        jain, label, marker = cells["mean"], shown.label, shown.marker
        axes.plot(n, jain, line, label=label, color=shown.colour, marker=marker, linewidth=1)
    axes.set(xticks=DCTCP_FLOWS, ylim=(0.5, 1.02), xlabel="DCTCP flows, n")
    axes.grid(visible=True, alpha=0.3)
