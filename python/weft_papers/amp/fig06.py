"""Figures 6 (section 4.1) and 11 (section 5.2): the time in which a multipath flow leaves a congested path.

The setting is figure 5's. A multipath flow of two subflows, one over each bottleneck, starts at 0 s. A DCTCP flow
uses the lower path from 1 to 2 s, and another one the upper path from 2 s on. The shift is over when the window of
the upper subflow is at its floor, that is, below cwnd_min + 1. AMP's own test for the floor is the same.

"MPTCP (beta = 4)" is the text's "modify MPTCP to reduce the cwnd of subflow by a constant factor when it sees
ECN-marked packets". It has MPTCP's linked increases, cuts a quarter once per window, and has DCM's floor of two
packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot
from numpy.typing import NDArray

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.amp.link_delays import with_stated_delay
from weft_papers.amp.settings import DELAY_US, SHOWN, STATED_DELAY_US, transport, two_bottlenecks
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

ALGORITHMS = ("mptcp", "dcm", "amp", "xmp")
CONSTANT = ("mptcp", "amp", "xmp")
"""Algorithms that cut by a constant factor."""
PAPER_MS = {"mptcp": 3, "dcm": 7, "amp": 3, "xmp": 3}
FIGURE = {"mptcp": "Figure 6(a)", "dcm": "Figure 6(b)", "amp": "Figure 11(a)", "xmp": "Figure 11(b)"}
PHASE_MS = 1000
QUICK_PHASE_MS = 50
QUICK = f"phases of {QUICK_PHASE_MS} ms instead of {PHASE_MS} ms, links of 5 us only"
WATCHED_MS = 20
"""Simulated time after the second DCTCP flow begins."""
SHOWN_MS = (-1.0, 12.0)
"""The part of that time that the plot shows and the table keeps."""
SAMPLED = "10us"
FLOOR = 2
DELAYS_US = (STATED_DELAY_US, DELAY_US, 8)
HOST_GBPS = 10
FAST_HOST_GBPS = 20
"""Rate of faster hosts, which are not in the paper: all of its links have 10 Gbps.

With 10 Gbps the packets of a flow alone on its path queue at its host's own port. They queue at the bottleneck only
when another flow begins. With faster hosts they queue at the bottleneck.
"""
TOLERANCE_MS = 1
"""Tolerance for the paper's numbers, which are whole milliseconds read from a plot."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm for each link delay, and with faster links of the hosts."""
    phase_ms = QUICK_PHASE_MS if scale.quick else PHASE_MS
    delays_us = (DELAY_US,) if scale.quick else DELAYS_US
    settings = [*((delay_us, HOST_GBPS) for delay_us in delays_us), (DELAY_US, FAST_HOST_GBPS)]
    return [
        Case(
            {"delay_us": delay_us, "host_gbps": host_gbps, "algorithm": algorithm},
            _shifting(algorithm, delay_us, host_gbps, phase_ms),
            seed,
        )
        for delay_us, host_gbps in settings
        for algorithm in ALGORITHMS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per sample of a subflow (0 is the upper one).

    Its time in ms counts from the beginning of the second DCTCP flow. `floor_ms` is the first time at which the upper
    window was at its floor, or null if that did not happen within `WATCHED_MS`.
    """
    begun_s = result.flows.filter(traffic="upper")["start_s"].item()
    traces = result.traces.select("subflow", "cwnd_packets", "active", time_ms=(pl.col("time_s") - begun_s) * 1e3)
    floor = traces.filter(pl.col("time_ms") > 0, pl.col("cwnd_packets") < FLOOR + 1, subflow=0)["time_ms"].min()
    return traces.filter(pl.col("time_ms").is_between(*SHOWN_MS)).with_columns(floor_ms=pl.lit(floor, pl.Float64))


def plot(rows: pl.DataFrame) -> Plot:
    """Both windows of the multipath flow around the beginning of the second DCTCP flow, first seed."""
    plot = Plot(figsize=(8, 5.6), layout="constrained")
    panels = plot.subplots(2, 2, sharex=True, sharey=True)
    here = rows.filter(delay_us=DELAY_US, host_gbps=HOST_GBPS, seed=rows["seed"].min())
    titles = {name: f"{FIGURE[name]}: {SHOWN[name].label}" for name in ALGORITHMS}
    plot_windows(panels, here, titles, {name: _took(rows, name, DELAY_US).mean for name in ALGORITHMS})
    plot.suptitle(f"Figures 6 and 11: traffic shifting, links of {DELAY_US} us; dotted: over, mean of the seeds")
    return plot


def plot_windows(
    panels: NDArray[Any], rows: pl.DataFrame, titles: Mapping[str, str], dotted_ms: Mapping[str, float]
) -> None:
    """Draws a panel per algorithm that has a title: both windows, and a dotted line at a time."""
    for axes, (name, title) in zip(panels.flat, titles.items(), strict=False):
        for subflow, words, style in ((0, "upper, congested", "-"), (1, "lower", "--")):
            window = rows.filter(algorithm=name, subflow=subflow)
            times, packets = window["time_ms"], window["cwnd_packets"]
            axes.plot(times, packets, style, color=SHOWN[name].colour, linewidth=1, label=words)
        axes.axvline(dotted_ms[name], color="#888888", linestyle=":", linewidth=1)
        axes.set_title(title)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False)
    for axes in panels[-1]:
        axes.set_xlabel("time after the second DCTCP flow began (ms)")
    for axes in panels[:, 0]:
        axes.set_ylabel("cwnd (packets)")


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 4.1, observation (3), and section 5.2, "Traffic shifting speed"."""
    claims = _claims(rows, DELAY_US)
    stated = _claims(rows, STATED_DELAY_US) if STATED_DELAY_US in set(rows["delay_us"]) else []
    return [*claims, *with_stated_delay(claims, stated)]


def _claims(rows: pl.DataFrame, delay_us: int) -> list[Claim]:
    took = _all(rows, delay_us)
    slower = SeedSummary(tuple(d - m for d, m in zip(took["dcm"].values, took["mptcp"].values, strict=True)), "ms")
    return [
        *(_time(rows, name, delay_us) for name in ("mptcp", "dcm")),
        Claim(
            "DCM is 4 ms slower than MPTCP",
            "4 ms",
            str(slower),
            abs(slower.mean - 4) <= TOLERANCE_MS,
            f"holds within {TOLERANCE_MS} ms; {_other_settings(rows, ('mptcp', 'dcm'))}. The two differ only in the "
            "cut, a quarter against alpha / 2. The place of the queue when the other flow begins decides: with all"
            f" links of {HOST_GBPS} Gbps in the flow's own host, with faster hosts at the bottleneck",
        ),
        *(_time(rows, name, delay_us) for name in ("amp", "xmp")),
        Claim(
            "A constant cut shifts traffic faster than DCM's cut by alpha",
            "3 ms against 7 ms",
            listed(took.items()),
            all(c < d for name in CONSTANT for c, d in zip(took[name].values, took["dcm"].values, strict=True)),
            "holds when MPTCP, AMP and XMP are faster than DCM in every seed",
        ),
        Claim(
            "AMP and XMP achieve similar traffic shifting times",
            "similar",
            listed((name, took[name]) for name in ("amp", "xmp")),
            abs(took["amp"].mean - took["xmp"].mean) <= TOLERANCE_MS,
            f"holds within {TOLERANCE_MS} ms",
        ),
    ]


def shifting_traffic(algorithm: str, phase_ms: int) -> list[dict[str, Any]]:
    """Returns the multipath flow, a DCTCP flow on the lower path in phase 2, and one on the upper path afterwards."""
    return [
        {"kind": "bulk", "name": "both", "transport": algorithm, "from": "S2", "to": "D2"},
        {
            "kind": "bulk",
            "name": "lower",
            "transport": "dctcp",
            "from": "S3",
            "to": "D3",
            "start": f"{phase_ms}ms",
            "stop": f"{2 * phase_ms}ms",
        },
        {
            "kind": "bulk",
            "name": "upper",
            "transport": "dctcp",
            "from": "S1",
            "to": "D1",
            "start": f"{2 * phase_ms}ms",
        },
    ]


def _shifting(algorithm: str, delay_us: int, host_gbps: int, phase_ms: int) -> Experiment:
    return two_bottlenecks(
        f"shifting-{algorithm}",
        delay_us=delay_us,
        host_gbps=host_gbps,
        duration=f"{2 * phase_ms + WATCHED_MS}ms",
        transports={algorithm: transport(algorithm, subflows=2), "dctcp": transport("dctcp")},
        traffic=shifting_traffic(algorithm, phase_ms),
        probes=[{"kind": "flow", "traffic": "both", "interval": SAMPLED}],
    )


def _took(rows: pl.DataFrame, algorithm: str, delay_us: int, host_gbps: int = HOST_GBPS) -> SeedSummary:
    """Returns the time to the floor; infinite if the window did not reach it."""
    here = rows.filter(algorithm=algorithm, delay_us=delay_us, host_gbps=host_gbps)
    return over_seeds(here, pl.col("floor_ms").first().fill_null(float("inf")), "ms")


def _all(
    rows: pl.DataFrame, delay_us: int, names: tuple[str, ...] = ALGORITHMS, host_gbps: int = HOST_GBPS
) -> dict[str, SeedSummary]:
    return {name: _took(rows, name, delay_us, host_gbps) for name in names}


def _time(rows: pl.DataFrame, name: str, delay_us: int) -> Claim:
    took, paper = _took(rows, name, delay_us), PAPER_MS[name]
    return Claim(
        f"{FIGURE[name]}: {SHOWN[name].label} finishes its traffic shifting after about {paper} ms",
        f"about {paper} ms",
        str(took),
        abs(took.mean - paper) <= TOLERANCE_MS,
        f"until the upper window is below {FLOOR + 1} packets, sampled every {SAMPLED}; holds within {TOLERANCE_MS} "
        f"ms; {_other_settings(rows, (name,))}",
    )


def _other_settings(rows: pl.DataFrame, names: tuple[str, ...]) -> str:
    delays_us = [d for d in rows["delay_us"].unique().sort() if d != DELAY_US]
    others = [f"with {d} us {listed(_all(rows, d, names).items())}" for d in delays_us]
    fast = listed(_all(rows, DELAY_US, names, FAST_HOST_GBPS).items())
    return "; ".join((f"links of {DELAY_US} us", *others, f"with hosts' links of {FAST_HOST_GBPS} Gbps {fast}"))
