"""Figure 10 (section 5.2): the bottleneck's queue with 4 DCTCP flows and 1 or 4 multipath flows."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.sweeps.cases import Case
from weft_papers.amp.coexistence import coexistence
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import DELAY_US, SHOWN, STATED_DELAY_US
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SECONDS = 1.0
QUICK_SECONDS = 0.2
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s, links of 5 us only"
PANELS = {1: "a", 4: "b"}
"""Panels by number of multipath flows."""
DCTCP_FLOWS = 4
ALGORITHMS = ("amp", "xmp", "dcm")
OTHERS = ("xmp", "dcm")
WITHOUT = "amp-without-suppression"
MORE_FLOWS = 8
"""Multipath flows for the text's "if the intensity of the syndrome grows"; the paper gives no number."""
DELAYS_US = (STATED_DELAY_US, DELAY_US, 8)
ALIKE = 3
"""Distance in packets up to which lengths count as equal."""
CLOSE = 2
"""Distance in packets from the paper's median up to which a median counts as the paper's."""
DOUBLE = 20
"""The paper's length of the queue under the syndrome, in packets."""
IN_SERVICE = 0
"""Packets being sent that a length counts: 0, as in the authors' simulator, or 1, as in section 3.2's example."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm in each panel, for each link delay."""
    return [
        Case(
            {"delay_us": delay_us, "flows": m, "algorithm": algorithm},
            coexistence(
                algorithm, m, DCTCP_FLOWS, delay_us=delay_us, seconds=QUICK_SECONDS if scale.quick else SECONDS
            ),
            seed,
        )
        for delay_us in ((DELAY_US,) if scale.quick else DELAYS_US)
        for m, names in {1: ALGORITHMS, 4: (*ALGORITHMS, WITHOUT), MORE_FLOWS: ALGORITHMS}.items()
        for algorithm in names
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per length in packets: the share of time with at most that length.

    A length includes the packet in service if `IN_SERVICE` is 1.
    """
    lengths = stats.queue_lengths(result.queues)
    steps = stats.cdf(lengths, "packets", weight="seconds")
    return steps.rename({"value": "packets"}).with_columns(pl.col("packets") + IN_SERVICE)


def plot(rows: pl.DataFrame) -> Plot:
    """The distributions of the queue's length, mean over the seeds, one panel per number of multipath flows."""
    plot = Plot(figsize=(8, 3.6), layout="constrained")
    panels = plot.subplots(1, len(PANELS), sharey=True)
    for axes, (m, letter) in zip(panels, PANELS.items(), strict=True):
        _plot_panel(axes, rows.filter(delay_us=DELAY_US, flows=m))
        axes.set_title(f"({letter}) {m} multipath flow{'s' if m > 1 else ''}, {DCTCP_FLOWS} DCTCP flows")
    panels[0].set_ylabel("share of time")
    panels[0].legend(frameon=False)
    plot.suptitle(f"Figure 10: queue length, links of {DELAY_US} us")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.2, "Effectiveness to the minimum window syndrome", about queues."""
    claims = _claims(rows, DELAY_US)
    stated = _claims(rows, STATED_DELAY_US) if STATED_DELAY_US in set(rows["delay_us"]) else []
    return [*claims, *with_stated_delay(claims, stated)]


def _claims(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    a, b = ({name: _percentile(rows, delay_us, m, name, 0.5) for name in ALGORITHMS} for m in PANELS)
    p90 = {name: _percentile(rows, delay_us, 1, name, 0.9) for name in ALGORITHMS}
    above = {name: _above(rows, delay_us, name, DOUBLE) for name in OTHERS}
    one_less = {name: _above(rows, delay_us, name, DOUBLE - 1) for name in OTHERS}
    more = {name: _percentile(rows, delay_us, MORE_FLOWS, name, 0.5) for name in ALGORITHMS}
    without = {name: _percentile(rows, delay_us, 4, name, 0.5) for name in (WITHOUT, *OTHERS)}
    return [
        Claim(
            "(a) Without the syndrome the queue lengths of AMP, XMP and DCM are alike",
            "similar distributions",
            f"median {listed(a.items())}; 90th percentile {listed(p90.items())}",
            _range(a) <= ALIKE and _range(p90) <= ALIKE,
            f"holds when medians and 90th percentiles lie within {ALIKE} packets; {_others(rows, 1)}",
        ),
        Claim(
            "(a) The median queue with AMP is 10 packets",
            "10 packets",
            str(a["amp"]),
            abs(a["amp"].mean - 10) <= CLOSE,
            f"holds within {CLOSE} packets: K is 10; {_others(rows, 1)}",
        ),
        Claim(
            "(b) 4 flows of XMP or DCM keep the queue above 20 packets at the median, twice that of (a)",
            "above 20 packets",
            listed((name, b[name]) for name in OTHERS),
            all(b[name].mean > DOUBLE for name in OTHERS),
            f"holds when both medians are above 20; {_others(rows, 4)}. All windows sit at their floor there: 40 "
            "packets, less a BDP of 9, 19 and 29 with links of 2, 5 and 8 us",
        ),
        Claim(
            "(b) With XMP and DCM the queue is above 20 packets all the time",
            "all the time",
            listed((name, above[name]) for name in OTHERS),
            all(above[name].mean >= 95 for name in OTHERS),
            "share of the time; holds when it is at least 95 %. The packet being sent is not counted as in the queue; "
            f"with it the shares are {listed(one_less.items())}",
        ),
        Claim(
            "(b) The median queue with AMP is 12 packets, about 2 more than in (a)",
            "12 packets, 2 more",
            f"{b['amp']} against {a['amp']} in (a)",
            abs(b["amp"].mean - 12) <= CLOSE and abs(b["amp"].mean - a["amp"].mean) <= ALIKE,
            f"holds when it is within {CLOSE} packets of 12 and within {ALIKE} of (a)'s; {_others(rows, 4)}",
        ),
        Claim(
            "(b) Without SSR the three schemes have equally poor queues",
            "equally poor performance",
            listed(without.items()),
            _range(without) <= ALIKE and without[WITHOUT].mean > b["amp"].mean + ALIKE,
            f"medians; holds when they are within {ALIKE} packets, and AMP's more than {ALIKE} above that with SSR, "
            f"{b['amp']}",
        ),
        Claim(
            "If the intensity of the syndrome grows, the queue becomes more inflated, and AMP mitigates it better",
            "more inflated accordingly",
            f"{MORE_FLOWS} multipath flows: {listed(more.items())}; 4: {listed(b.items())}",
            all(more[name].mean > b[name].mean + ALIKE and more["amp"].mean < more[name].mean for name in OTHERS),
            f"medians with {DCTCP_FLOWS} DCTCP flows; holds when those of XMP and DCM grow by more than {ALIKE} "
            "packets, and AMP's is below both",
        ),
    ]


def _percentile(rows: pl.DataFrame, delay_us: int, m: int, algorithm: str, fraction: float) -> SeedSummary:
    here = rows.filter(delay_us=delay_us, flows=m, algorithm=algorithm)
    reached = pl.col("fraction") >= fraction
    return over_seeds(here, pl.col("packets").filter(reached).min())


def _above(rows: pl.DataFrame, delay_us: int, algorithm: str, packets: int) -> SeedSummary:
    here = rows.filter(delay_us=delay_us, flows=4, algorithm=algorithm)
    at_most = pl.col("fraction").filter(pl.col("packets") <= packets).max().fill_null(0)
    return over_seeds(here, 100 * (1 - at_most), "%")


def _range(spreads: dict[str, SeedSummary]) -> float:
    means = [spread.mean for spread in spreads.values()]
    return max(means) - min(means)


def _others(rows: pl.DataFrame, m: int) -> str:
    """Formats the medians with the other link delays."""
    delays_us = rows["delay_us"].unique().sort().to_list()
    medians = (
        f"with {d} us {listed((name, _percentile(rows, d, m, name, 0.5)) for name in ALGORITHMS)}"
        for d in delays_us
        if d != DELAY_US
    )
    return "; ".join((f"links of {DELAY_US} us", *medians))


def _plot_panel(axes: Axes, rows: pl.DataFrame) -> None:
    for algorithm in ALGORITHMS:
        shown = SHOWN[algorithm]
        for (seed,), steps in rows.filter(algorithm=algorithm).group_by("seed", maintain_order=True):
            label = shown.label if seed == rows["seed"].min() else None
            lengths, shares = steps["packets"], steps["fraction"]
            axes.step(lengths, shares, where="post", label=label, color=shown.colour, linewidth=1)
    axes.set(xlim=(0, 40), ylim=(0, 1), xlabel="queue length (packets)")
    axes.grid(visible=True, alpha=0.3)
