"""Figures 6 and 11, traffic shifting, on this machine's kernel: the time to leave a congested path.

The setting is figure 5's at 200 Mbit/s instead of 10 Gbps. A multipath flow has two subflows, one over each
bottleneck. A DCTCP flow uses the lower path in the second phase, and another one the upper path from the third phase
on. The shift is over when the window of the upper subflow is at its floor. The same setting runs at the packet level.

A window changes once per round. A round in which ten packets queue takes 50 times as long at 200 Mbit/s as at 10
Gbps. So the paper's times are scaled by the rates: 3 ms are 150 ms here.

All runs are repeated at 50 Mbit/s, with all times four times as long. A packet then takes 240 us, which is long
compared with the delays of the kernel's timers and processing.

The paper's "MPTCP (beta = 4)" cuts a quarter at a mark. The kernel's LIA treats a mark as a loss and halves (beta =
2).
"""

from __future__ import annotations

import math

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.fig06 import TOLERANCE_MS, plot_windows, shifting_traffic
from weft_papers.amp.linux_settings import LEVELS, RATE_MBPS, TRANSPORTS, experiment
from weft_papers.amp.settings import RATE_BPS, SHOWN
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

ALGORITHMS = ("amp", "xmp", "dcm", "mptcp")
CONSTANT = ("amp", "xmp")
"""Algorithms that cut by a constant factor."""
PAPER_MS = {"amp": 3, "xmp": 3, "dcm": 7, "mptcp": 3}
SCALED = RATE_BPS / (RATE_MBPS * 1e6)
"""Ratio of a round's duration here to that at the paper's rate."""
SLOWER = (1, 4)
"""Divisors of 200 Mbit/s that give the rates of the runs."""
PHASE_MS, WATCHED_MS = 1000, 800
QUICK_PHASE_MS = 500
QUICK = f"AMP and LIA only, phases of {QUICK_PHASE_MS} ms instead of {PHASE_MS} ms"
BEFORE_MS = 100
"""Time before the second DCTCP flow begins that the table keeps."""
SAMPLED = "1ms"
FLOOR = 2
LEVELS_ALIKE = 0.3
"""Relative distance up to which times at the two levels count as equal."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm at both levels and rates; the quick version runs at the faster rate."""
    phase_ms = QUICK_PHASE_MS if scale.quick else PHASE_MS
    return [
        Case(
            {"level": level, "slower": slower, "algorithm": algorithm},
            _shifting(level, slower, algorithm, phase_ms),
            seed,
        )
        for level in LEVELS
        for slower in (SLOWER[:1] if scale.quick else SLOWER)
        for algorithm in (ALGORITHMS[::3] if scale.quick else ALGORITHMS)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per sample of a subflow (0 is the upper one).

    Its time in ms counts from the beginning of the second DCTCP flow. `floor_ms` is the first time at which the upper
    window was at its floor, or null if the run does not show that. `before_packets` is the upper window's mean in the
    100 ms before.
    """
    begun_s = result.flows.filter(traffic="upper")["start_s"].item()
    watched_ms = (result.manifest["end_s"] - begun_s) * 1e3
    before_ms = BEFORE_MS * watched_ms / WATCHED_MS
    traces = result.traces.select(
        "subflow", "cwnd_packets", "active", time_ms=(pl.col("time_s") - begun_s) * 1e3
    ).filter(pl.col("time_ms").is_between(-before_ms, watched_ms))
    upper = traces.filter(subflow=0)
    floor = upper.filter(pl.col("time_ms") > 0, pl.col("cwnd_packets") < FLOOR + 1)["time_ms"].min()
    before = upper.filter(pl.col("time_ms") <= 0)["cwnd_packets"].mean()
    return traces.with_columns(floor_ms=pl.lit(floor, pl.Float64), before_packets=pl.lit(before, pl.Float64))


def plot(rows: pl.DataFrame) -> Plot:
    """Both windows of the multipath flow around the beginning of the second DCTCP flow on Linux, first seed."""
    names = [name for name in ALGORITHMS if name in rows["algorithm"]]
    plot = Plot(figsize=(8, 2.8 * ((len(names) + 1) // 2)), layout="constrained")
    panels = plot.subplots((len(names) + 1) // 2, 2, sharex=True, squeeze=False)
    here = rows.filter(level="linux", slower=SLOWER[0], seed=rows["seed"].min())
    plot_windows(panels, here, {name: SHOWN[name].label for name in names}, dict.fromkeys(names, 0.0))
    plot.suptitle("Figures 6 and 11 on Linux, 200 Mbit/s: traffic shifting")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 4.1, observation (3), and section 5.2, "Traffic shifting speed", for a kernel."""
    slower = rows.filter(slower=SLOWER[-1])
    rows = rows.filter(slower=SLOWER[0])
    linux, packet = rows.filter(level="linux"), rows.filter(level="packet")
    names = [name for name in ALGORITHMS if name in rows["algorithm"]]
    claims = [*(_time(linux, packet, slower, name) for name in names), _levels(linux, packet, slower, names)]
    if not {*CONSTANT, "dcm"} <= set(names):
        return claims
    took = {name: _took(linux, name) for name in ALGORITHMS}
    apart_ms = SCALED * 1
    return [
        *claims,
        Claim(
            "A constant cut shifts traffic faster than DCM's cut by alpha",
            f"3 ms against 7 ms, {digits(3 * SCALED)} against {digits(7 * SCALED)} ms scaled",
            listed((SHOWN[name].label, took[name]) for name in (*CONSTANT, "dcm")),
            all(took[name].mean < took["dcm"].mean for name in CONSTANT),
            f"holds when AMP and XMP are faster than DCM, mean of the seeds; "
            f"{_packet(packet, (*CONSTANT, 'dcm'))}{_slower(slower, (*CONSTANT, 'dcm'))}",
        ),
        Claim(
            "AMP and XMP achieve similar traffic shifting times",
            "similar",
            listed((SHOWN[name].label, took[name]) for name in CONSTANT),
            abs(took["amp"].mean - took["xmp"].mean) <= apart_ms,
            f"holds within {digits(apart_ms)} ms, which is 1 ms scaled; {_packet(packet, CONSTANT)}"
            f"{_slower(slower, CONSTANT)}",
        ),
    ]


def _shifting(level: str, slower: int, algorithm: str, phase_ms: int) -> Experiment:
    transport = TRANSPORTS[algorithm] | {"subflows": 2}
    if algorithm == "mptcp":
        # A TCP that implements only RFC 3168 treats a mark as a loss.
        transport["cc"] = transport["cc"] | {"beta": 2}
    return experiment(
        f"shifting-{algorithm}",
        level=level,
        duration=f"{slower * (2 * phase_ms + WATCHED_MS)}ms",
        topology={"kind": "two-bottlenecks", "rate": f"{RATE_MBPS // slower}Mbps"},
        transports={algorithm: transport, "dctcp": TRANSPORTS["dctcp"]},
        traffic=shifting_traffic(algorithm, slower * phase_ms),
        probes=[{"kind": "flow", "traffic": "both", "interval": SAMPLED}],
    )


def _took(rows: pl.DataFrame, algorithm: str) -> SeedSummary:
    """Returns the time to the floor; infinite if the window did not reach it."""
    return over_seeds(rows.filter(algorithm=algorithm), pl.col("floor_ms").first().fill_null(float("inf")), "ms")


def _time(linux: pl.DataFrame, packet: pl.DataFrame, slower: pl.DataFrame, name: str) -> Claim:
    took, scaled_ms, label = _took(linux, name), PAPER_MS[name] * SCALED, SHOWN[name].label
    before = over_seeds(linux.filter(algorithm=name), pl.col("before_packets").first(), "packets")
    without = " LIA in the kernel halves at a mark, the paper's cuts a quarter." if name == "mptcp" else ""
    return Claim(
        f"{label} finishes its traffic shifting after about {PAPER_MS[name]} ms at 10 Gbps",
        f"about {PAPER_MS[name]} ms, {digits(scaled_ms)} ms scaled",
        str(took),
        abs(took.mean - scaled_ms) <= TOLERANCE_MS * SCALED,
        f"until the upper window is below {FLOOR + 1} packets, from {before} before, sampled every {SAMPLED}; holds "
        f"within {digits(TOLERANCE_MS * SCALED)} ms of the paper's time scaled by the rates, the 1 ms of figure 6; "
        f"{_packet(packet, (name,))}{_slower(slower, (name,))}.{without}",
    )


def _levels(linux: pl.DataFrame, packet: pl.DataFrame, slower: pl.DataFrame, names: list[str]) -> Claim:
    took = {name: (_took(linux, name), _took(packet, name)) for name in names}
    # If neither level reaches the floor, there is no ratio, and the levels agree.
    ratios = {name: here / there for name, (here, there) in took.items() if min(here.mean, there.mean) < math.inf}
    note = f"time to the floor on Linux over that at the packet level; holds within {LEVELS_ALIKE:.0%} of 1 for each"
    if not slower.is_empty():
        at = {name: [_took(slower.filter(level=level), name) for level in LEVELS] for name in ratios}
        shown = listed((SHOWN[name].label, here / there) for name, (here, there) in at.items())
        note += f"; with links of {RATE_MBPS // SLOWER[-1]} Mbit/s {shown}"
    return Claim(
        "The packet level says the same as the kernel (not the paper's claim)",
        "the same",
        listed((SHOWN[name].label, ratio) for name, ratio in ratios.items()),
        all(ratio.near(1, LEVELS_ALIKE) for ratio in ratios.values()),
        note,
    )


def _packet(packet: pl.DataFrame, names: tuple[str, ...]) -> str:
    return f"packet level {listed((SHOWN[name].label, _took(packet, name)) for name in names)}"


def _slower(rows: pl.DataFrame, names: tuple[str, ...]) -> str:
    if rows.is_empty():
        return ""
    took = listed((SHOWN[name].label, _took(rows.filter(level="linux"), name)) for name in names)
    packet = _packet(rows.filter(level="packet"), names)
    return f". With links of {RATE_MBPS // SLOWER[-1]} Mbit/s, all {SLOWER[-1]} times as long: {took}; {packet}"
