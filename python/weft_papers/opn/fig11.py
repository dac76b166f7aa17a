"""Figure 11 (section "Basic performances"): 800 short and 200 long flows from one rack to another.

Sizes are uniform: 40 to 60 packets, and 600 to 800. `weft_papers.opn.two_racks` describes when flows open.
"""

from __future__ import annotations

import random

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.opn import two_racks
from weft_papers.opn.settings import LABELS, MSS, OPNS, OTHERS, SCHEMES, WITH
from weft_papers.opn.two_racks import AT_ONCE, QUICK, SPREAD, abstract, bars, late, names, opens_ms
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, percentile

SHORT, LONG = "short", "long"
SIZES = {SHORT: (800, 40, 60), LONG: (200, 600, 800)}
"""Number of flows, and their smallest and largest size in packets."""
OPENS = opens_ms(sum(n * (least + most) / 2 for n, least, most in SIZES.values()))
CUT, TOLERANCE = 60, 10
"""Percent by which the paper's OPN is below MPTCP, and the tolerance in percentage points."""
LIKE = 0.1
"""Relative distance up to which throughputs are similar."""


__all__ = ["QUICK", "cases", "claims", "measure", "plot"]


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scheme and each reading of when flows open."""
    return two_racks.cases(_sizes, OPENS, scale)


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its kind, FCT in ms, goodput in Mbps and timeouts."""
    least = SIZES[LONG][1] * MSS
    return result.flows.select(
        kind=pl.when(pl.col("size_bytes") < least).then(pl.lit(SHORT)).otherwise(pl.lit(LONG)),
        fct_ms=pl.col("fct_s") * 1e3,
        mbps=pl.col("goodput_bps") * 1e-6,
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Short flows' mean and 99th percentile of FCT, long flows' throughput; flows open at once, range of seeds."""
    here = rows.filter(opens=AT_ONCE)
    panels = {
        "(a) mean FCT of short flows (ms)": {name: _mean(here, name) for name in SCHEMES},
        "(b) 99th percentile (ms)": {name: percentile(_of(here, name, SHORT), "fct_ms", 99) for name in SCHEMES},
        "(c) throughput of long flows (Mbps)": {name: _rate(here, name) for name in SCHEMES},
    }
    plot = Plot(figsize=(11, 3.6), layout="constrained")
    for axes, (title, values) in zip(plot.subplots(1, len(panels)), panels.items(), strict=True):
        bars(axes, title, values)
    plot.suptitle("Figure 11: 800 short and 200 long flows")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the section's last paragraph."""
    here = rows.filter(opens=AT_ONCE)
    mean = {name: _mean(here, name) for name in SCHEMES}
    tail = {name: percentile(_of(here, name, SHORT), "fct_ms", 99, "ms") for name in SCHEMES}
    rate = {name: _rate(here, name) for name in SCHEMES}
    timeouts = listed((LABELS[name], late(_of(here, name, SHORT))) for name in SCHEMES)
    opens = f"flows that open within {OPENS[AT_ONCE]:g} ms, and in the table over {OPENS[SPREAD]:g} ms"
    return [
        *(claim for name in OPNS for claim in _of_opn(rows, name, mean, tail, rate, f"{timeouts}; {opens}")),
        *abstract(here, {name: mean[name] for name in (*OPNS, "mptcp")}, "OPN's mean FCT of short flows"),
    ]


def _of_opn(
    rows: pl.DataFrame,
    name: str,
    mean: dict[str, SeedSummary],
    tail: dict[str, SeedSummary],
    rate: dict[str, SeedSummary],
    beside: str,
) -> list[Claim]:
    """Returns the claims with one of OPN's timers."""
    below = SeedSummary(tuple(100 * (1 - ratio) for ratio in (mean[name] / mean["mptcp"]).values), "%")
    return [
        Claim(
            f"OPN's mean FCT of short flows is {CUT} % below that of MPTCP, {WITH[name]}",
            f"{CUT} %",
            str(below),
            abs(below.mean - CUT) <= TOLERANCE,
            f"holds within {TOLERANCE} percentage points; {_listed(mean)}. Short flows with a timeout: {beside}",
            table=_table(rows) if name == OPNS[0] else None,
        ),
        Claim(
            f"OPN has the best 99th percentile of short flows' FCT, {WITH[name]}",
            "best",
            _listed(tail),
            tail[name].mean < min(tail[other].mean for other in OTHERS),
            "compared with the other schemes",
        ),
        Claim(
            f"OPN's throughput of long flows is similar to that of MPTCP, {WITH[name]}",
            "similar",
            _listed(rate),
            (rate[name] / rate["mptcp"]).near(1, LIKE),
            f"mean goodput of a long flow; holds within {LIKE:.0%}",
        ),
    ]


def _sizes(seed: int) -> list[int]:
    draw = random.Random(seed)  # noqa: S311 - not a secret
    sizes = [draw.randint(least, most) for n, least, most in SIZES.values() for _ in range(n)]
    draw.shuffle(sizes)
    return sizes


def _of(rows: pl.DataFrame, name: str, kind: str) -> pl.DataFrame:
    return rows.filter(scheme=name, kind=kind)


def _mean(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name, SHORT), pl.col("fct_ms").mean(), "ms")


def _rate(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name, LONG), pl.col("mbps").mean(), "Mbps")


def _listed(spreads: dict[str, SeedSummary]) -> str:
    return listed((LABELS[name], spread) for name, spread in spreads.items())


def _table(rows: pl.DataFrame) -> Table:
    """Returns a table of both readings of when flows open, with OPN's other readings."""
    cells = []
    for name in names(rows):
        row = [LABELS[name]]
        for opens in OPENS:
            here = rows.filter(opens=opens)
            tail = percentile(_of(here, name, SHORT), "fct_ms", 99, "ms")
            row += [str(_mean(here, name)), str(tail), str(_rate(here, name))]
        cells.append(tuple(row))
    heads = (f"{what}, flows open {opens}" for opens in OPENS for what in ("mean FCT", "p99", "long flows"))
    return Table(("short flows, and long ones' rate", *heads), tuple(cells))
