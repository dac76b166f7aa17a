"""A permutation on the leaf-spine of `beyond/all-schemes` where some spines are slow, and where one is lost.

The optimum is that of the flow level: max-min fair rates over the paths of the same subflows.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.sweeps.cases import Case
from weft_papers.beyond import all_schemes
from weft_papers.beyond.all_schemes import LOADS, QUICK_SETTLED_MS, SETTLED_MS, SUBFLOWS, Load
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds
from weft_papers.warp.settings import COLOURS, RIVALS, SCHEMES, TURNS, WARP, label

OPTIMUM = "max-min"
DOWN_MS, QUICK_DOWN_MS, DETECT_MS = 20, 8, 10
SLOW, LOST = "slow", "lost"
SCENES = {
    SLOW: f"{all_schemes.SLOW} of {all_schemes.SPINES} spines at {all_schemes.MBPS} Mbps",
    LOST: "one spine lost",
}
QUICK = (
    f"{all_schemes.QUICK_LEAVES} racks instead of {all_schemes.LEAVES}, measured for "
    f"{all_schemes.QUICK_LONG_MS - QUICK_SETTLED_MS} ms instead of {all_schemes.LONG_MS - SETTLED_MS} ms; the spine is "
    f"lost at {QUICK_DOWN_MS} ms instead of {DOWN_MS} ms"
)
PART = 0.9
"""Minimum share of the optimum."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme in either scene, and the optimum."""
    down = {
        "at": f"{QUICK_DOWN_MS if scale.quick else DOWN_MS}ms",
        "state": "down",
        "detection_delay": f"{DETECT_MS}ms",
    }
    events = {SLOW: LOADS["slow"].events, LOST: [down | {"nodes": ["spine0"]}]}
    loads = {scene: Load(words, events=events[scene]) for scene, words in SCENES.items()}
    return [
        _case(scene, load, scheme, seed, quick=scale.quick)
        for scene, load in loads.items()
        for scheme in (*SCHEMES, OPTIMUM)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: mean goodput of a flow, that of the slowest, Jain's index, and flows with a timeout."""
    timeouts = pl.col("timeouts") if "timeouts" in result.flows.columns else pl.lit(0)
    return result.flows.select(
        mbps=pl.col("goodput_bps").mean() * 1e-6,
        slowest=pl.col("goodput_bps").min() * 1e-6,
        jain=stats.jain("goodput_bps"),
        late=100 * (timeouts > 0).mean(),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Mean goodput of a flow over that of max-min fair rates: mean and range of the seeds; the bar is dotted."""
    plot = Plot(figsize=(10, 4), layout="constrained")
    for axes, (scene, words) in zip(plot.subplots(1, len(SCENES), sharey=True), SCENES.items(), strict=True):
        parts = {name: _part(rows.filter(load=scene), name) for name in SCHEMES}
        means, reach = means_and_ranges(parts.values())
        colours = [COLOURS.get(part, "#bbbbbb") for part in parts]
        axes.barh([label(part) for part in parts], means, xerr=reach, color=colours)
        axes.axvline(PART, color="black", linestyle=":", linewidth=1)
        axes.set_title(words, fontsize="medium")
        axes.set_xlabel("goodput over that of max-min fair rates")
        axes.grid(visible=True, axis="x", alpha=0.3)
    plot.axes[0].invert_yaxis()
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claim of the criterion in either scene; the table has every scheme."""
    return [_judged(rows.filter(load=scene), words) for scene, words in SCENES.items()]


def _case(scene: str, load: Load, scheme: str, seed: int, *, quick: bool) -> Case:
    if scheme != OPTIMUM:
        return all_schemes.case(scene, load, scheme, SCHEMES[scheme], seed, quick=quick)
    at_packet_level = all_schemes.case(scene, load, OPTIMUM, SCHEMES[WARP], seed, quick=quick)
    spec: dict[str, Any] = at_packet_level.experiment.model_dump(mode="json", by_alias=True, exclude_unset=True)
    spec |= {"level": "flow", "sharing": "max-min"}
    return Case(at_packet_level.labels, Experiment.model_validate(spec), seed)


def _of(rows: pl.DataFrame, name: str, column: str = "mbps") -> SeedSummary:
    return over_seeds(rows.filter(scheme=name), pl.col(column).first())


def _part(rows: pl.DataFrame, name: str) -> SeedSummary:
    return _of(rows, name) / _of(rows, OPTIMUM)


def _judged(rows: pl.DataFrame, words: str) -> Claim:
    parts = {name: _part(rows, name) for name in SCHEMES}
    best = max(RIVALS, key=lambda name: parts[name].mean)
    lines = tuple(
        (
            SCHEMES[name].label if name in SCHEMES else "max-min fair",
            *(str(_of(rows, name, column)) for column in ("mbps", "slowest", "jain", "late")),
            str(_part(rows, name)),
        )
        for name in (*SCHEMES, OPTIMUM)
    )
    heads = ("goodput of a flow (Mbps)", "slowest", "Jain's index", "flows with a timeout (%)", "over max-min")
    return Claim(
        f"{words}: goodput over that of max-min fair rates",
        f"at least {PART}",
        listed((label(name), parts[name]) for name in (WARP, TURNS, best)),
        parts[WARP].mean >= PART,
        f"means of the flows, seed by seed; max-min fair over the {SUBFLOWS} paths of a flow's subflows; the "
        "last one is the best rival. DCTCP, MMPTCP and OPN have paths of their own",
        table=Table(("scheme", *heads), lines),
    )
