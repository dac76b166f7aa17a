"""Multipath flows and DCTCP flows on one bottleneck: the goodput of a connection compared with one DCTCP flow.

All flows are without an end and open within 1 ms. DCTCP over ECMP or sprayed is left out: with one path it is the
competing flow itself.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds, plot_with_band
from weft_papers.warp.settings import (
    COLOURS,
    DCTCP,
    MULTIPATH,
    OWN,
    bottleneck,
    extent,
    label,
    met,
    transport,
)

FLOWS, DCTCP_FLOWS = (1, 2, 4), (2, 4, 8, 16)
SUBFLOWS, MARKS, DELAYS_US = (4, 8), (10, 20), (2, 5)
SHOWN_SUBFLOWS, SHOWN_MARK, SHOWN_US = SHOWN = (4, 20, 5)
"""Subflows, K and link delay of the plot; the quick version has these only."""
END_MS, SETTLED_MS, QUICK_END_MS = 200, 50, 100
OPEN_WITHIN = "1ms"
QUICK = (
    f"{SHOWN_SUBFLOWS} subflows, K = {SHOWN_MARK} and links of {SHOWN_US} us only: 12 cells of 96; "
    f"{QUICK_END_MS} ms instead of {END_MS} ms"
)
JAIN = 0.99
NEAR = (0.9, 1.1)
CELL = ("subflows", "mark", "delay_us", "flows", "dctcp_flows")


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme in every cell."""
    settings = [SHOWN] if scale.quick else product(SUBFLOWS, MARKS, DELAYS_US)
    return [
        case(name, transport(name, setting[0]), setting, m, n, seed, quick=scale.quick)
        for setting in settings
        for m in FLOWS
        for n in DCTCP_FLOWS
        for name in MULTIPATH
        for seed in range(1, scale.seeds + 1)
    ]


def case(
    name: str,
    transport: dict[str, Any],
    setting: tuple[int, int, int],
    flows: int,
    dctcp_flows: int,
    seed: int,
    *,
    quick: bool,
) -> Case:
    """Returns flows of a transport in a cell; `setting` is subflows, K and link delay."""
    labels: dict[str, str | int | float] = dict(zip(CELL, (*setting, flows, dctcp_flows), strict=True))
    end_ms = QUICK_END_MS if quick else END_MS
    return Case({**labels, "scheme": name}, _experiment(name, transport, labels, end_ms), seed)


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: Jain's index of all flows, and a multipath flow's mean goodput over a DCTCP flow's."""
    goodput, single = pl.col("goodput_bps"), pl.col("traffic") == "dctcp"
    return result.flows.select(
        jain=stats.jain(goodput), ratio=goodput.filter(~single).mean() / goodput.filter(single).mean()
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the criteria, for either scheduler, and the results of the rivals."""
    return [*(claim for name in OWN for claim in _judged(rows, name)), _rivals(rows)]


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput of a multipath flow over a DCTCP flow's: mean, lowest and highest of the seeds; the bar is shaded."""
    plot = Plot(figsize=(10, 3.8), layout="constrained")
    here = rows.filter(subflows=SHOWN_SUBFLOWS, mark=SHOWN_MARK, delay_us=SHOWN_US)
    panels = plot.subplots(1, len(FLOWS), sharey=True)
    for axes, m in zip(panels, FLOWS, strict=True):
        for name in (colour for colour in COLOURS if colour in MULTIPATH):
            spreads = [over_seeds(here.filter(scheme=name, flows=m, dctcp_flows=n), _RATIO) for n in DCTCP_FLOWS]
            plot_with_band(axes, DCTCP_FLOWS, spreads, COLOURS[name], marker="o", label=label(name), lw=1)
        axes.axhspan(*NEAR, color="#cccccc", alpha=0.5, linewidth=0)
        axes.set_yscale("log", base=2)
        axes.set(xticks=DCTCP_FLOWS, xlabel="DCTCP flows", title=f"{m} multipath flow{'s' if m > 1 else ''}")
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("goodput over a DCTCP flow's")
    panels[-1].legend(frameon=False, fontsize="x-small")
    plot.suptitle(f"{SHOWN_SUBFLOWS} subflows, competing with DCTCP, K = {SHOWN_MARK}, links of {SHOWN_US} us")
    return plot


_JAIN, _RATIO = pl.col("jain").first(), pl.col("ratio").first()


def cells(rows: pl.DataFrame, statistic: pl.Expr) -> dict[tuple[Any, ...], SeedSummary]:
    """Returns a statistic of a scheme over its seeds, by cell."""
    return {cell: over_seeds(some, statistic) for cell, some in rows.group_by(CELL, maintain_order=True)}


def fair(jain: float) -> bool:
    """Returns true if Jain's index meets its criterion."""
    return jain >= JAIN


def near(ratio: float) -> bool:
    """Returns true if the ratio of goodputs meets its criterion."""
    return NEAR[0] <= ratio <= NEAR[1]


def line(rows: pl.DataFrame) -> tuple[str, str, str, str]:
    """Formats a scheme's rows: cells that meet either criterion, the lowest index, and the range of the ratios."""
    jain, ratio = (cells(rows, value).values() for value in (_JAIN, _RATIO))
    counts = (
        f"{sum(bar(summary.mean) for summary in some)} of {len(some)}" for bar, some in ((fair, jain), (near, ratio))
    )
    return (*counts, extent([min(jain, key=lambda summary: summary.mean)]), extent(ratio))  # type: ignore[return-value]


HEADS = (f"index of at least {JAIN}", f"ratio of {NEAR[0]} to {NEAR[1]}", "lowest index", "ratios")
"""Headings of the columns that `line` returns."""


def _judged(rows: pl.DataFrame, name: str) -> list[Claim]:
    here = rows.filter(scheme=name)
    jain, ratio = (cells(here, value) for value in (_JAIN, _RATIO))
    missed = Table(
        ("subflows", "K", "link delay", "flows", "DCTCP flows", "Jain's index", "ratio"),
        tuple(
            (f"{cell[0]}", f"{cell[1]}", f"{cell[2]} us", f"{cell[3]}", f"{cell[4]}", str(jain[cell]), str(ratio[cell]))
            for cell in jain
            if not (fair(jain[cell].mean) and near(ratio[cell].mean))
        ),
    )
    return [
        Claim(
            f"{label(name)}: Jain's index in every cell",
            f"at least {JAIN}",
            met(jain.values(), fair),
            all(fair(summary.mean) for summary in jain.values()),
            "goodput of all flows, mean over the seeds; a table has the cells that miss either bar, if there are any",
            table=missed if missed.rows else None,
        ),
        Claim(
            f"{label(name)}: goodput of a connection over that of a DCTCP flow in every cell",
            f"{NEAR[0]} to {NEAR[1]}",
            met(ratio.values(), near),
            all(near(summary.mean) for summary in ratio.values()),
            "means over flows and seeds",
        ),
    ]


def _rivals(rows: pl.DataFrame) -> Claim:
    lines = [(name, line(rows.filter(scheme=name))) for name in MULTIPATH]
    return Claim(
        "Index and ratio of every scheme",
        "not judged",
        "; ".join(f"{label(name)}: {jain} and {ratio}" for name, (jain, ratio, *_) in lines),
        None,
        f"cells with an index of at least {JAIN}, and with a ratio within {NEAR[0]} and {NEAR[1]}",
        table=Table(("scheme", *HEADS), tuple((label(name), *cells) for name, cells in lines)),
    )


def _experiment(name: str, transport: dict[str, Any], labels: dict[str, Any], end_ms: int) -> Experiment:
    m, n = labels["flows"], labels["dctcp_flows"]
    entries = {name: (transport, 0, m), "dctcp": (DCTCP, m, m + n)}
    return bottleneck(
        f"{m}-{name}-{n}-dctcp",
        senders=m + n,
        delay_us=labels["delay_us"],
        mark=labels["mark"],
        duration=f"{end_ms}ms",
        measured_from=f"{SETTLED_MS}ms",
        transports={value: fields for value, (fields, _, _) in entries.items()},
        traffic=[
            {
                "kind": "bulk",
                "name": value,
                "transport": value,
                "from": f"{first}..{end}",
                "to": "r0",
                "jitter": OPEN_WITHIN,
            }
            for value, (_, first, end) in entries.items()
        ],
    )
