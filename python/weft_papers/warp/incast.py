"""Incast: rounds of k flows to one receiver, compared with DCTCP's; subflows join at once or after 256 KiB.

Rounds are those of AMP's figure 8: the flows of a round are 50 us apart, and all have ended long before the run does.
Rounds with flows that open at one instant were added after the quick version had been seen, since flows of 32 KiB
last less than 50 us. Their criteria are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import GAP_US, INTERVAL_S, QUICK_ROUNDS, ROUNDS, SILENCE_S
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds, plot_with_band
from weft_papers.warp.settings import (
    COLOURS,
    DCTCP,
    MULTIPATH,
    TURNS,
    WARP,
    bottleneck,
    extent,
    label,
    met,
    transport,
)

FLOWS, SIZES_KIB = (5, 10, 20, 40, 70, 100), (32, 128, 1024)
QUICK_FLOWS, QUICK_SIZES_KIB = (10, 40, 100), (32, 128)
SUBFLOWS, DELAY_US, MARK = 4, 2, 10
SINGLE = "dctcp"
GAPS_US = {GAP_US: f"{GAP_US} us apart", 0: "at one instant"}
"""Labels of the gaps between the flows of a round."""
AT_ONCE, LATER = JOINS = ("at once", "after 256 KiB")
QUICK = (
    f"{QUICK_ROUNDS} rounds instead of {ROUNDS}; {', '.join(map(str, QUICK_SIZES_KIB))} KiB and "
    f"k = {', '.join(map(str, QUICK_FLOWS))} only"
)
MAX_RATIO = 1.05
"""Maximum ratio of the FCT to DCTCP's."""
BEYOND = 40
"""Number of flows beyond which the mean FCT must be below DCTCP's."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme, way of joining, size and number of flows."""
    sizes, flows = (QUICK_SIZES_KIB, QUICK_FLOWS) if scale.quick else (SIZES_KIB, FLOWS)
    schemes = [(SINGLE, AT_ONCE, DCTCP)]
    for name in MULTIPATH:
        schemes.append((name, AT_ONCE, transport(name, SUBFLOWS)))
        schemes.append((name, LATER, transport(name, SUBFLOWS, join_after="256KiB")))
    return [
        case(name, joins, fields, size_kib, k, seed, gap_us=gap_us, quick=scale.quick)
        for gap_us in GAPS_US
        for size_kib in sizes
        for k in flows
        for name, joins, fields in schemes
        for seed in range(1, scale.seeds + 1)
    ]


def case(
    name: str, joins: str, transport: dict[str, Any], size_kib: int, k: int, seed: int, *, gap_us: int, quick: bool
) -> Case:
    """Returns rounds of k flows of a transport."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    experiment = bottleneck(
        f"incast-{name}-{k}x{size_kib}KiB",
        senders=k,
        delay_us=DELAY_US,
        mark=MARK,
        duration=f"{(rounds - 1) * INTERVAL_S + SILENCE_S}s",
        transports={name: transport},
        traffic=[rounds_of(name, k, size_kib, gap_us=gap_us, rounds=rounds)],
    )
    return Case({"gap_us": gap_us, "size_kib": size_kib, "k": k, "scheme": name, "joins": joins}, experiment, seed)


def rounds_of(name: str, k: int, size_kib: int, *, gap_us: int, rounds: int) -> dict[str, Any]:
    """Returns the traffic of rounds of k flows of a transport."""
    return {
        "kind": "incast",
        "transport": name,
        "flows": k,
        "size": f"{size_kib}KiB",
        "gap": f"{gap_us}us",
        "rounds": rounds,
        "interval": f"{INTERVAL_S}s",
    }


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: FCT in ms (mean and 99th percentile), per cent of flows with a timeout, unfinished flows.

    A flow that did not end counts with the time that it had taken.
    """
    fct = pl.coalesce("fct_s", "unfinished_s") * 1e3
    return result.flows.select(
        mean_ms=fct.mean(),
        p99_ms=fct.quantile(0.99, interpolation="linear"),
        late=100 * ((pl.col("timeouts") + pl.col("syn_timeouts")) > 0).mean(),
        unfinished=pl.col("fct_s").is_null().sum(),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the criteria, for each way of opening and of joining, and the results of the rivals."""
    by_gap = {gap_us: rows.filter(gap_us=gap_us) for gap_us in GAPS_US}
    judged = (claim for gap_us, here in by_gap.items() for joins in JOINS for claim in _judged(here, gap_us, joins))
    return [*judged, *(_schemes(here, gap_us) for gap_us, here in by_gap.items())]


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT over DCTCP's by k, joins at once: mean and range of the seeds; below, flows that open at one instant."""
    sizes = rows["size_kib"].unique().sort().to_list()
    plot = Plot(figsize=(3.4 * len(sizes), 6), layout="constrained")
    for gap_us, panels in zip(GAPS_US, plot.subplots(2, len(sizes), sharex=True, sharey="row"), strict=True):
        here = rows.filter(gap_us=gap_us)
        for axes, size_kib in zip(panels, sizes, strict=True):
            for name in (colour for colour in COLOURS if colour in MULTIPATH):
                ratios = {
                    cell[1]: value
                    for cell, value in ratio(here, name, AT_ONCE, "mean_ms").items()
                    if cell[0] == size_kib
                }
                plot_with_band(axes, list(ratios), ratios.values(), COLOURS[name], marker="o", label=label(name), lw=1)
            axes.axhline(MAX_RATIO, color="#888888", linestyle=":", linewidth=1)
            axes.set_yscale("log")
            axes.set_title(f"{size_kib} KiB, {GAPS_US[gap_us]}", fontsize="medium")
            axes.grid(visible=True, alpha=0.3)
        panels[0].set_ylabel("mean FCT over DCTCP's")
    for axes in plot.axes[-len(sizes) :]:
        axes.set_xlabel("flows in a round, k")
    plot.axes[0].legend(frameon=False, fontsize="x-small")
    return plot


def ratio(
    rows: pl.DataFrame, name: str, joins: str, column: str, to: str = SINGLE
) -> dict[tuple[int, int], SeedSummary]:
    """Returns the ratio of a column to DCTCP's, seed by seed, by size and k."""
    found = _cells(rows.filter(scheme=name, joins=joins), column)
    base = _cells(rows.filter(scheme=to, joins=AT_ONCE), column)
    return {cell: found[cell] / base[cell] for cell in found}


def _cells(rows: pl.DataFrame, column: str) -> dict[tuple[int, int], SeedSummary]:
    groups = rows.group_by("size_kib", "k", maintain_order=True)
    return {(cell[0], cell[1]): over_seeds(some, pl.col(column).first()) for cell, some in groups}


def _judged(rows: pl.DataFrame, gap_us: int, joins: str) -> list[Claim]:
    where = f"{GAPS_US[gap_us]}, joins {joins}"
    mean, p99 = (ratio(rows, WARP, joins, column) for column in ("mean_ms", "p99_ms"))
    late, least = _cells(rows.filter(scheme=WARP, joins=joins), "late"), _cells(rows.filter(scheme=SINGLE), "late")
    more = {cell: late[cell].mean - least[cell].mean for cell in late}
    beyond = {cell: value for cell, value in mean.items() if cell[1] > BEYOND}
    worse = max(more, key=lambda cell: more[cell])
    table = Table(
        ("size", "k", "mean FCT over DCTCP's", "99th percentile", "flows with a timeout (%)", "DCTCP's"),
        tuple(
            (f"{cell[0]} KiB", f"{cell[1]}", str(mean[cell]), str(p99[cell]), str(late[cell]), str(least[cell]))
            for cell in mean
        ),
    )

    def within(ratio_mean: float) -> bool:
        return ratio_mean <= MAX_RATIO

    def below(ratio_mean: float) -> bool:
        return ratio_mean < 1

    return [
        _claim(f"{where}: mean FCT over DCTCP's in every cell", f"at most {MAX_RATIO}", mean, within, WHY, table),
        _claim(f"{where}: 99th percentile of the FCT over DCTCP's in every cell", f"at most {MAX_RATIO}", p99, within),
        Claim(
            f"{where}: no more flows with a timeout than DCTCP's, in every cell",
            "no more",
            f"{sum(value <= 0 for value in more.values())} of {len(more)} cells; of {worse[0]} KiB and k = {worse[1]} "
            f"{digits(late[worse].mean)} %, DCTCP's {digits(least[worse].mean)} %",
            max(more.values()) <= 0,
            "share of the flows of a cell, mean over the seeds; shown is the cell with the largest difference",
        ),
        _claim(
            f"{where}: mean FCT over DCTCP's beyond k = {BEYOND}",
            "below 1",
            beyond,
            below,
            "in every cell with a larger k. With the second way of joining a flow of at most 256 KiB is DCTCP's, and "
            "equal to it",
        ),
    ]


WHY = "mean over the seeds of each seed's ratio; the table has every cell"


def _claim(
    sentence: str,
    bar: str,
    ratios: dict[tuple[int, int], SeedSummary],
    meets: Callable[[float], bool],
    note: str = "mean over the seeds of each seed's ratio",
    table: Table | None = None,
) -> Claim:
    worst = max(ratios, key=lambda cell: ratios[cell].mean)
    return Claim(
        sentence,
        bar,
        f"{met(ratios.values(), meets)}; highest with {worst[0]} KiB and k = {worst[1]}",
        all(meets(summary.mean) for summary in ratios.values()),
        note,
        table=table,
    )


def _schemes(rows: pl.DataFrame, gap_us: int) -> Claim:
    lines, words = [], []
    for name in MULTIPATH:
        for joins in JOINS:
            mean, p99 = (list(ratio(rows, name, joins, value).values()) for value in ("mean_ms", "p99_ms"))
            within = [sum(summary.mean <= MAX_RATIO for summary in some) for some in (mean, p99)]
            late = _cells(rows.filter(scheme=name, joins=joins), "late").values()
            unfinished = rows.filter(scheme=name, joins=joins)["unfinished"].sum()
            counts = tuple(f"{n} of {len(mean)}" for n in within)
            lines.append((label(name), joins, *counts, extent(mean), extent(p99), extent(late), f"{unfinished}"))
            if joins == AT_ONCE:
                words.append(f"{label(name)} {counts[0]}, {extent(mean)}")
    heads = (
        "scheme",
        "joins",
        f"cells with a mean of at most {MAX_RATIO}",
        f"with a 99th percentile of at most {MAX_RATIO}",
    )
    more = ("means", "99th percentiles", "flows with a timeout (%)", "did not end")
    return Claim(
        f"{GAPS_US[gap_us]}: the same of every scheme",
        "not judged",
        f"joins at once: {'; '.join(words)}",
        None,
        f"cells with a mean FCT of at most {MAX_RATIO} times DCTCP's, and the range of that ratio. {label(TURNS)} has "
        "the "
        "other scheduler",
        table=Table((*heads, *more), tuple(lines)),
    )
