"""The incast of sections 3.1 and 5.2: every second k flows, 50 us apart, to one receiver.

The paper's runs last 20 s. Here 20 rounds start in 20 s, and the run goes on long after the last flow. So it does not
cut off a flow that waits for a timeout; the idle time costs nothing. FCT is measured at the sender, to the last
acknowledgement, as in the authors' simulator.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.settings import PAPER_FCT_MS, SHOWN, many_to_one, transport, unfinished_ms
from weft_papers.figure import Scale, Table
from weft_papers.seed_summary import listed, over_seeds

FLOWS = (10, 20, 30, 40)
"""Values of k, the number of flows per round."""
ROUNDS = 20
QUICK_ROUNDS = 5
GAP_US = 50
INTERVAL_S = 1
SILENCE_S = 40
"""Simulated time after the last round has begun: an RTO of 1.5 s may double four times within it."""
LARGE_STD_MS = 1000
"""Standard deviation in ms above which XMP's and DCM's FCT counts as large.

Figure 2 has "above 1 second", figure 8 has "1 second" for the same flows; one rule serves both.
"""
SLOW_MS = 100
"""FCT in ms that shows a wait for a timeout: even 40 flows of 1 MB take 34 ms without one."""

FCT_SO_FAR = pl.coalesce("fct_ms", "unfinished_ms")
"""FCT, or for a flow that did not end the time that it had taken; `unfinished` counts such flows."""
FCT_MEAN = FCT_SO_FAR.mean().alias("fct_ms")
TIMED_OUT = (pl.col("timeouts") > 0).mean()


def incast(
    algorithm: str, k: int, size_kb: int, delay_us: int, rounds: int, *, gap_us: int = GAP_US, **changes: object
) -> Experiment:
    """Returns rounds of k flows of `algorithm`, each of `size_kb` KiB, over links of `delay_us`.

    `changes` are changes to the transport.
    """
    return many_to_one(
        f"incast-{algorithm}-{k}x{size_kb}KiB",
        senders=k,
        delay_us=delay_us,
        duration=f"{(rounds - 1) * INTERVAL_S + SILENCE_S}s",
        transports={algorithm: transport(algorithm, **changes)},
        traffic=[
            {
                "kind": "incast",
                "transport": algorithm,
                "flows": k,
                "size": f"{size_kb}KiB",
                "gap": f"{gap_us}us",
                "rounds": rounds,
                "interval": f"{INTERVAL_S}s",
            }
        ],
    )


def incast_cases(
    algorithms: Sequence[str],
    *,
    sizes_kb: Sequence[int],
    delays_us: Sequence[int],
    scale: Scale,
    flows: Sequence[int] = FLOWS,
) -> list[Case]:
    """Returns every combination, with `scale.seeds` seeds each; quick runs have fewer rounds."""
    rounds = QUICK_ROUNDS if scale.quick else ROUNDS
    return [
        Case(
            {"delay_us": delay_us, "size_kb": size_kb, "algorithm": algorithm, "k": k},
            incast(algorithm, k, size_kb, delay_us, rounds),
            seed,
        )
        for delay_us in delays_us
        for size_kb in sizes_kb
        for algorithm in algorithms
        for k in flows
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its round, FCT in ms, timeouts and suppression episodes.

    The FCT of a flow that did not end is null, and `unfinished_ms` is the time that it had taken.
    """
    return result.flows.select(
        "round",
        fct_ms=PAPER_FCT_MS,
        unfinished_ms=unfinished_ms(result.manifest["end_s"]),
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
        suppressions=pl.col("suppressions"),
    )


def mean_ratios(rows: pl.DataFrame, algorithms: Sequence[str], to: str) -> pl.DataFrame:
    """Divides the mean FCT of each of the algorithms by that of `to`.

    Returns:
        `size_kb`, `algorithm`, `k` and `ratio`, the mean over the seeds of each seed's ratio.
    """
    cell = ("size_kb", "k", "seed")
    means = rows.group_by(*cell, "algorithm", maintain_order=True).agg(FCT_MEAN)
    base = means.filter(algorithm=to).select(*cell, base="fct_ms")
    return (
        means.filter(pl.col("algorithm").is_in(algorithms))
        .join(base, on=cell, maintain_order="left")
        .group_by("size_kb", "algorithm", "k", maintain_order=True)
        .agg(ratio=(pl.col("fct_ms") / pl.col("base")).mean())
    )


def means(rows: pl.DataFrame, algorithms: Sequence[str]) -> str:
    """Formats the mean FCT of each of the algorithms in `rows` for notes, as in "xmp-stall 681 ms (658 to 705)"."""
    there = [name for name in algorithms if name in set(rows["algorithm"])]
    return listed((name, over_seeds(rows.filter(algorithm=name), FCT_MEAN, "ms")) for name in there)


def table(ratios: pl.DataFrame) -> Table:
    """Returns one row per size and algorithm, with one column per number of flows."""
    ks = ratios["k"].unique().sort().to_list()
    grouped = ratios.group_by("size_kb", "algorithm", maintain_order=True).agg("k", "ratio")
    rows = []
    for size_kb, algorithm, row_ks, row_ratios in grouped.iter_rows():
        ratio_by_k = dict(zip(row_ks, row_ratios, strict=True))
        cells = (digits(ratio_by_k[k]) if k in ratio_by_k else "" for k in ks)
        rows.append((f"{size_kb} KB", _label(algorithm), *cells))
    return Table(("size", "algorithm", *(f"k = {k}" for k in ks)), tuple(rows))


def extent(ratios: pl.DataFrame) -> str:
    """Formats the smallest and largest ratio of each algorithm, as in "XMP 0.996 to 308, DCM 0.97 to 291"."""
    found = ratios.group_by("algorithm", maintain_order=True).agg(low=pl.col("ratio").min(), high=pl.col("ratio").max())
    return ", ".join(f"{_label(name)} {digits(low)} to {digits(high)}" for name, low, high in found.iter_rows())


def _label(algorithm: str) -> str:
    return SHOWN[algorithm].label if algorithm in SHOWN else algorithm


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per size, number of flows and algorithm: FCT and timeouts over all its flows."""
    return rows.group_by("size_kb", "k", "algorithm", maintain_order=True).agg(
        flows=pl.len(),
        unfinished=pl.col("fct_ms").is_null().sum(),
        mean_fct_ms=FCT_MEAN,
        **{f"p{p}_fct_ms": FCT_SO_FAR.quantile(p / 100, interpolation="linear") for p in (5, 25, 50, 75, 95, 99)},
        flows_with_timeout_percent=100 * TIMED_OUT,
        most_timeouts=pl.col("timeouts").max(),
    )


def plot_fct(rows: pl.DataFrame, algorithms: Sequence[str], title: str) -> Plot:
    """FCT over k on a log scale, one panel per size: mean, and the flows from the 5th to the 95th percentile."""
    from weft.plots.axes import set_log

    sizes = rows["size_kb"].unique(maintain_order=True).to_list()
    plot = Plot(figsize=(max(5.2, 3.2 * len(sizes)), 3.6), layout="constrained")
    panels = plot.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for panel, size_kb in zip(panels, sizes, strict=True):
        _plot_panel(panel, rows.filter(size_kb=size_kb), algorithms)
        panel.set_title(f"{size_kb} KB", fontsize="medium")
    shown = summary(rows.filter(pl.col("algorithm").is_in(algorithms))).select("p5_fct_ms", "p95_fct_ms", "mean_fct_ms")
    values = pl.concat([shown[name].drop_nulls() for name in shown.columns]).to_list()
    if values:
        set_log(panels[0].yaxis, min(values), max(values))
    panels[0].set_ylabel("flow completion time (ms)")
    panels[0].legend(frameon=False)
    # The title has two lines, because a plot of one panel is not wider.
    plot.suptitle(f"{title}\nmarks: mean; bars: 5th to 95th, thick 25th to 75th percentile", fontsize="medium")
    return plot


def _plot_panel(panel: Axes, rows: pl.DataFrame, algorithms: Sequence[str]) -> None:
    # The numbers of flows are categories. Each algorithm has a fixed offset within a category, so an
    # absent one leaves a gap.
    ks = rows["k"].unique().sort().to_list()
    step = 0.7 / len(algorithms)
    for index, algorithm in enumerate(algorithms):
        points = summary(rows.filter(algorithm=algorithm)).sort("k")
        shift = step * (index - (len(algorithms) - 1) / 2)
        at = [ks.index(k) + shift for k in points["k"]]
        shown = SHOWN[algorithm]
        for low, high, width in (("p5", "p95", 1.2), ("p25", "p75", 3.5)):
            panel.vlines(
                at, points[f"{low}_fct_ms"].to_list(), points[f"{high}_fct_ms"].to_list(), shown.colour, linewidth=width
            )
        mean = points["mean_fct_ms"].to_list()
        panel.plot(at, mean, shown.marker, label=shown.label, color=shown.colour, markeredgecolor="white")
    panel.set_xticks(range(len(ks)), [str(k) for k in ks])
    panel.set_xlabel("flows in a round, k")
    panel.grid(visible=True, which="major", axis="y", alpha=0.3)
