"""Figures 5 and 6 (section V.A): the bottleneck's queue, 8 senders to 1 in the fat-tree, buffers of 100 and 500.

"8 servers as the senders and one server as the receiver ..., in which 10 subflows are synchronously sent" has two
readings. In one, each sender has 10 subflows, 80 in all. In the other there are 10 in all: six senders have one and
two have two. The claims are judged by 10 in all. With windows of one packet, 80 subflows have 72 packets more in
flight than the links hold. The paper's queue "from 0 to K" is then impossible with a buffer of 100. Both readings are
run. K is a fifth of the buffer, since the paper does not give it. Lengths are those after slow start.
"""

from __future__ import annotations

import random

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.sweeps.cases import Case
from weft_papers.amp_fg.settings import BDP, HOSTS, K_OF_BUFFER, SHOWN, experiment, fat_tree, tor_of, transport
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SENDERS = 8
SUBFLOWS = 10
EACH, IN_ALL = "10 subflows each", "10 subflows in all"
READINGS = (EACH, IN_ALL)
JUDGED, OTHER = IN_ALL, EACH
BUFFERS = (100, 500)
ALGORITHMS = ("lia", "xmp", "amp-fg")
MARKED = ("xmp", "amp-fg")
CAUSES = ("xmp-floor-1", "amp-fg-floor-2", "amp-fg-neighbours")
"""Variants that the notes compare with: the other algorithm's floor of the window, and Algorithm 1's XOR."""
SECONDS, WARM_UP_S = 2.0, 0.5
QUICK_SECONDS, QUICK_WARM_UP_S = 0.5, 0.2
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s"
LOW, HIGH = 0.01, 0.99
"""Shares of the time below which the queue counts as lowest and highest."""
EDGE = 0.1
"""Distance to empty and to full, as a share of the buffer, within which a queue fluctuates from 0 to full."""
OVERSHOOT = 1.25
"""Multiple of K up to which a queue is controlled, because senders receive a mark one RTT later."""
WAITS = "packets wait, without the one being sent"


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm with each buffer, for both readings."""
    return [
        _case(reading, buffer, algorithm, seed, quick=scale.quick)
        for reading in READINGS
        for buffer in BUFFERS
        for algorithm in (*ALGORITHMS, *CAUSES)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per length in packets: the share of time with at most that length.

    Each row also has the drops and timeouts of the run.
    """
    lengths = stats.queue_lengths(result.queues)
    steps = stats.cdf(lengths, "packets", weight="seconds").rename({"value": "packets"})
    drops = int(result.queues["drops"].sum())
    return steps.with_columns(drops=pl.lit(drops), timeouts=pl.lit(int(result.flows["timeouts"].sum())))


def plot(rows: pl.DataFrame) -> Plot:
    """Share of time by the queue's length: one panel per buffer and reading, one line per seed, K dotted."""
    plot = Plot(figsize=(8, 6.4), layout="constrained")
    panels = plot.subplots(len(READINGS), len(BUFFERS), sharey=True)
    for reading, line in zip(READINGS, panels, strict=True):
        for buffer, axes in zip(BUFFERS, line, strict=True):
            for algorithm in ALGORITHMS:
                here, shown = _rows(rows, reading, buffer, algorithm), SHOWN[algorithm]
                for (seed,), steps in here.group_by("seed", maintain_order=True):
                    label = shown.label if seed == rows["seed"].min() else None
                    lengths, shares = steps["packets"], steps["fraction"]
                    axes.step(lengths, shares, where="post", label=label, color=shown.colour, linewidth=1)
            axes.axvline(buffer // K_OF_BUFFER, color="black", linestyle=":", linewidth=1)
            axes.set(xlim=(0, buffer), ylim=(0, 1), title=f"buffer of {buffer}, {reading}")
            axes.set_xlabel("queue length (packets)")
            axes.grid(visible=True, alpha=0.3)
        line[0].set_ylabel("share of time")
    panels[0][0].legend(frameon=False)
    plot.suptitle(f"Figures 5 and 6: {SENDERS} senders to 1")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section V.A, sentence by sentence, for each buffer, and that about both buffers."""
    return [*(claim for buffer in BUFFERS for claim in _of_buffer(rows, buffer)), _of_both(rows)]


def _case(reading: str, buffer: int, algorithm: str, seed: int, *, quick: bool) -> Case:
    *senders, receiver = random.Random(seed).sample(range(HOSTS), SENDERS + 1)  # noqa: S311 - not a secret
    counts = {sender: _subflows(reading, index) for index, sender in enumerate(senders)}
    spec = experiment(
        f"{algorithm}-{buffer}",
        topology=fat_tree(),
        seconds=QUICK_SECONDS if quick else SECONDS,
        buffer=buffer,
        transports={f"x{n}": transport(algorithm, n) for n in set(counts.values())},
        traffic=[
            {"kind": "bulk", "pairs": [[f"h{sender}", f"h{receiver}"]], "transport": f"x{n}"}
            for sender, n in counts.items()
        ],
        measure={"start": f"{QUICK_WARM_UP_S if quick else WARM_UP_S}s"},
        probes=[{"kind": "queue", "at": [f"{tor_of(receiver)}->h{receiver}"]}],
    )
    return Case({"reading": reading, "buffer": buffer, "algorithm": algorithm}, spec, seed)


def _subflows(reading: str, index: int) -> int:
    if reading == EACH:
        return SUBFLOWS
    return SUBFLOWS // SENDERS + (index < SUBFLOWS % SENDERS)


def _of_buffer(rows: pl.DataFrame, buffer: int) -> list[Claim]:
    k = buffer // K_OF_BUFFER
    figure = f"Figure {5 + BUFFERS.index(buffer)}, buffer of {buffer}"
    low, high = (_percentile(rows, JUDGED, buffer, "lia", part) for part in (LOW, HIGH))
    tops = {name: _percentile(rows, JUDGED, buffer, name, HIGH) for name in MARKED}
    means = {name: _mean(rows, JUDGED, buffer, name) for name in MARKED}
    lower = means["amp-fg"] / means["xmp"]
    return [
        Claim(
            f"{figure}: LIA's queue fluctuates between empty and full",
            f"0 to {buffer}",
            f"{low} to {high}",
            low.mean <= EDGE * buffer and high.mean >= (1 - EDGE) * buffer,
            f"{100 * LOW:.0f}st and {100 * HIGH:.0f}th percentile of how many {WAITS}; holds within {EDGE:.0%} of the "
            f"buffer at both ends. A halved window leaves half of what was under way, and the links hold only "
            f"{BDP:.0f} packets, so that without a timeout even a subflow alone leaves "
            f"{(buffer + BDP) / 2 - BDP:.0f} waiting; with {OTHER} {_percentile(rows, OTHER, buffer, 'lia', LOW)} to "
            f"{_percentile(rows, OTHER, buffer, 'lia', HIGH)}. {_repairs(rows, buffer, 'lia')}",
        ),
        Claim(
            f"{figure}: XMP and AMP-FG keep the queue between 0 and K",
            f"K, here {k}",
            f"up to {_named(tops)}",
            all(top.mean <= OVERSHOOT * k for top in tops.values()),
            f"{100 * HIGH:.0f}th percentile; holds up to {OVERSHOOT} K. {_floor(buffer)} Measured: with {OTHER} "
            f"{_named({name: _percentile(rows, OTHER, buffer, name, HIGH) for name in MARKED})}; with {JUDGED} "
            f"{_named({name: _percentile(rows, JUDGED, buffer, name, HIGH) for name in CAUSES[:2]})}. "
            f"{_repairs(rows, buffer, 'xmp')}; {_repairs(rows, buffer, 'amp-fg')}",
        ),
        Claim(
            f"{figure}: AMP-FG keeps the queue lower than XMP",
            "lower",
            f"{lower} of XMP's mean",
            lower.mean < 1,
            f"mean length with {JUDGED}: {_named(means)}; holds below 1; with {OTHER} "
            f"{_mean(rows, OTHER, buffer, 'amp-fg') / _mean(rows, OTHER, buffer, 'xmp')}. AMP-FG's windows go down "
            f"to 1 packet, XMP's to 2: with the same floor of 1 it is "
            f"{means['amp-fg'] / _mean(rows, JUDGED, buffer, 'xmp-floor-1')}, of 2 "
            f"{_mean(rows, JUDGED, buffer, 'amp-fg-floor-2') / means['xmp']}; with Algorithm 1's XOR "
            f"{_mean(rows, JUDGED, buffer, 'amp-fg-neighbours') / means['xmp']}",
        ),
    ]


def _of_both(rows: pl.DataFrame) -> Claim:
    small, large = BUFFERS
    grown = {reading: {name: _growth(rows, reading, name) for name in ALGORITHMS} for reading in READINGS}
    found = grown[JUDGED]
    return Claim(
        "AMP-FG's queue is less affected by the size of the buffer",
        "less",
        _named(found),
        all(found["amp-fg"].mean < found[name].mean for name in ALGORITHMS if name != "amp-fg"),
        f"packets by which the mean length grows from a buffer of {small} to one of {large}, and K with it, with "
        f"{JUDGED}; holds when AMP-FG's grows least. With {OTHER} {_named(grown[OTHER])}",
    )


def _growth(rows: pl.DataFrame, reading: str, algorithm: str) -> SeedSummary:
    small, large = (_mean(rows, reading, buffer, algorithm).values for buffer in BUFFERS)
    return SeedSummary(tuple(after - before for before, after in zip(small, large, strict=True)), "packets")


def _floor(buffer: int) -> str:
    """Describes the packets that windows at their floors leave in the queue."""
    left = {n: SENDERS * SUBFLOWS * n - BDP for n in (1, 2)}
    return (
        f"With a window of 1 packet, {SENDERS * SUBFLOWS} subflows have {left[1]:.0f} packets more under way than "
        f"the links hold, with XMP's least window of 2 {left[2]:.0f}, of a buffer of {buffer}."
    )


def _rows(rows: pl.DataFrame, reading: str, buffer: int, algorithm: str) -> pl.DataFrame:
    return rows.filter(reading=reading, buffer=buffer, algorithm=algorithm)


def _percentile(rows: pl.DataFrame, reading: str, buffer: int, algorithm: str, part: float) -> SeedSummary:
    reached = pl.col("packets").filter(pl.col("fraction") >= part - 1e-12).min()
    return over_seeds(_rows(rows, reading, buffer, algorithm), reached)


def _mean(rows: pl.DataFrame, reading: str, buffer: int, algorithm: str) -> SeedSummary:
    share = pl.col("fraction") - pl.col("fraction").shift(fill_value=0.0)
    return over_seeds(_rows(rows, reading, buffer, algorithm), (pl.col("packets") * share).sum())


def _repairs(rows: pl.DataFrame, buffer: int, algorithm: str) -> str:
    here = _rows(rows, JUDGED, buffer, algorithm)
    counts = (over_seeds(here, pl.col(column).first()) for column in ("drops", "timeouts"))
    return "{}: drops after slow start {}, timeouts of the whole run {}".format(SHOWN[algorithm].label, *counts)


def _named(spreads: dict[str, SeedSummary]) -> str:
    return listed((SHOWN[name].label, spread) for name, spread in spreads.items())
