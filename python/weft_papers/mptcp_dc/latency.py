"""The common parts of both versions of figure 8: packets by one-way latency on a small bottleneck, and the peaks.

One flow is alone on a bottleneck of 50 Mbit/s whose queue holds 10 packets. It is TCP (Reno), or multipath TCP (LIA)
with three subflows, all over that one path. Latency is that of a packet's worth of the application's data. It lasts
from the first transmission, by any subflow, until the receiving application has that data and all data before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft_papers.figure import Claim
from weft_papers.seed_summary import SeedSummary, over_seeds

TRANSPORTS: dict[str, dict[str, Any]] = {
    "tcp": {"cc": "reno"},
    "multipath": {"cc": "lia", "subflows": 3},
}
LABELS = {"tcp": "TCP", "multipath": "Multipath TCP"}
COLOURS = {"tcp": "#444444", "multipath": "#cc79a7"}
SECONDS, QUICK_SECONDS = 20, 6
WARM_UP_S = 1.0
"""Time until slow start is over."""
QUEUE_MS = 12 * 1514 * 8 / 50e3
"""Latency of a packet that finds the queue full: 10 that wait, one that is being sent, and its own serialisation."""
NO_LOSS_MS = 1.15 * QUEUE_MS
"""Latency beyond which a packet, or one before it, was retransmitted."""
RTO_MS = 200.0
"""The minimum RTO."""
BINS = 10
"""Bins per decade of the distribution."""
TIMED_OUT_MS = 10 ** (22 / BINS)
"""Latency from which a peak is one of timeouts.

The bin that ends at the minimum RTO counts, because data that a subflow sent after the lost packet waits less.
"""
MIN_SHARE = 5e-4
"""Share of all packets in a peak's highest bin, below which the peak counts as chance."""
PROMINENCE = 2
"""Ratio of a peak's height to that of the valley between it and any higher peak."""
NEAR = 1.6
"""Ratio, two bins, up to which positions of peaks count as equal."""
ALIKE = 0.1
"""Relative distance up to which throughputs count as equal."""
PEAK = (
    f"peaks of all seeds' distribution in bins of 1/{BINS} of a decade, {PROMINENCE} times as high as the valley to "
    f"any higher one and of {MIN_SHARE:.2%} of the packets or more; these settings were chosen after some runs had "
    "been "
    "seen"
)


def experiment(level: str, transport: str, settings: Mapping[str, Any], *, quick: bool) -> Experiment:
    """Returns a flow alone, with a transport of that name and these settings."""
    return Experiment.model_validate(
        {
            "name": f"latency-{transport}",
            "level": level,
            "duration": f"{QUICK_SECONDS if quick else SECONDS}s",
            "topology": {
                "kind": "many-to-one",
                "senders": 1,
                "rate": "50Mbps",
                "sender_rate": "500Mbps",
                "delay": "20us",
            },
            "queues": {"limit": "10 packets", "host": {"limit": "100 packets"}},
            "transports": {transport: {"profile": "linux", **settings}},
            "traffic": [{"kind": "bulk", "transport": transport, "from": "h0", "to": "r0"}],
            "probes": [{"kind": "latency"}],
        }
    )


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per bin of the distribution: `latency_ms` (its lower end) and `packets`.

    All rows have the same totals of the run: `all_packets`, of them `late` (beyond `NO_LOSS_MS`) and `after_rto` (at
    least `RTO_MS`), goodput and timeouts.
    """
    flow = result.flows.row(0, named=True)
    latency = pl.col("latency_s")
    latencies = result.latencies.filter(pl.col("sent_s") >= WARM_UP_S)
    counts = latencies.group_by(bin=(latency.log10() * BINS).floor().cast(pl.Int32)).agg(packets=pl.len()).sort("bin")
    return counts.select(
        "packets",
        latency_ms=1e3 * 10.0 ** (pl.col("bin") / BINS),
        all_packets=pl.lit(len(latencies)),
        late=pl.lit(latencies.filter(latency > NO_LOSS_MS * 1e-3).height),
        after_rto=pl.lit(latencies.filter(latency >= RTO_MS * 1e-3).height),
        goodput_mbps=pl.lit(flow["goodput_bps"] * 1e-6),
        timeouts=pl.lit(flow["timeouts"]).cast(pl.Int64),
    )


def distribution(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the bins of all runs together, from the first to the last: `latency_ms`, `packets` and their `share`."""
    bins = rows.select(bin=(pl.col("latency_ms").log10() * BINS).round().cast(pl.Int32), packets="packets")
    counts = bins.group_by("bin").agg(pl.col("packets").sum())
    first, last = bins.select(first=pl.col("bin").min(), last=pl.col("bin").max()).row(0)
    every = pl.DataFrame({"bin": pl.int_range(first, last + 1, dtype=pl.Int32, eager=True)})
    counts = every.join(counts, on="bin", how="left").fill_null(0).sort("bin")
    return counts.select(
        "packets", latency_ms=10.0 ** (pl.col("bin") / BINS), share=pl.col("packets") / pl.col("packets").sum()
    )


def peaks(counts: Sequence[int]) -> list[int]:
    """Returns the positions of a distribution's peaks.

    From each peak, the way to any higher bin leads through a valley. A peak has at least `MIN_SHARE` of the packets
    in its highest bin and is `PROMINENCE` times as high as the valley.
    """
    found, fewest = [], MIN_SHARE * sum(counts)
    for index, height in enumerate(counts):
        # Of equal bins without a valley between them, the first is the peak.
        left = next((i for i in range(index - 1, -1, -1) if counts[i] >= height), None)
        right = next((i for i in range(index + 1, len(counts)) if counts[i] > height), None)
        valleys = []
        if left is not None:
            valleys.append(min(counts[left : index + 1]))
        if right is not None:
            valleys.append(min(counts[index : right + 1]))
        if height >= max(1, fewest) and all(height >= PROMINENCE * valley for valley in valleys):
            found.append(index)
    return found


def peaks_ms(rows: pl.DataFrame) -> list[float]:
    """Returns the middles of the peaks' bins."""
    counts = distribution(rows)
    middle = 10 ** (0.5 / BINS)
    return [float(counts["latency_ms"][index]) * middle for index in peaks(counts["packets"].to_list())]


def judge(tcp: pl.DataFrame, multipath: pl.DataFrame, notes: Sequence[str]) -> list[Claim]:
    """Returns section 4's claims about figure 8; each of `notes` is added to the note of one claim."""
    whole, fast, slow, through = notes
    after_rto = {"tcp": share(tcp, "after_rto"), "multipath": share(multipath, "after_rto")}
    ratio = goodput(multipath) / goodput(tcp)
    return [
        Claim(
            "TCP shows two peaks: no retransmission, fast retransmission",
            "two peaks",
            f"peaks at {listed_ms(peaks_ms(tcp))}; beyond {digits(NO_LOSS_MS)} ms {share(tcp, 'late')}",
            bands(peaks_ms(tcp)) == [True, True, False],
            f"a peak below {digits(NO_LOSS_MS)} ms, one from there to {TIMED_OUT_MS:.0f} ms and none beyond; {PEAK}; "
            f"{hump(tcp)}; {whole}",
        ),
        Claim(
            "Multipath TCP shows the same two peaks",
            "the same",
            f"peaks at {listed_ms(peaks_ms(multipath))}; beyond {digits(NO_LOSS_MS)} ms {share(multipath, 'late')}",
            has_peaks_of(peaks_ms(multipath), peaks_ms(tcp)),
            f"a peak below {digits(NO_LOSS_MS)} ms, and one within a factor of {NEAR} of TCP's beyond that; {fast}",
        ),
        Claim(
            "Multipath TCP also shows smaller peaks from retransmission timeouts of one subflow",
            "smaller peaks",
            f"delayed by at least {RTO_MS:.0f} ms: {after_rto['multipath']} of packets, by TCP {after_rto['tcp']}; "
            f"timeouts {timeouts(multipath)}, of TCP {timeouts(tcp)}",
            bands(peaks_ms(multipath))[2] and after_rto["multipath"].mean > 2 * after_rto["tcp"].mean,
            f"a peak at {TIMED_OUT_MS:.0f} ms or beyond, and more than twice TCP's share from {RTO_MS:.0f} ms on, the "
            "minimum RTO. The bin below that counts because what was sent after the lost packet waits less than the "
            f"RTO; it did not before runs had been seen; {slow}",
        ),
        Claim(
            "Throughput is unaffected by these timeouts",
            "unaffected",
            f"multipath over TCP {ratio}",
            ratio.near(1, ALIKE),
            f"goodput, each run's of the same seed; holds within {ALIKE:.0%}; {LABELS['tcp']} {goodput(tcp)}, "
            f"{LABELS['multipath']} {goodput(multipath)}; {through}",
        ),
    ]


def in_words(rows: pl.DataFrame) -> str:
    """Formats the peaks, late packets and timeouts of one transport."""
    return (
        f"peaks at {listed_ms(peaks_ms(rows))}, beyond {digits(NO_LOSS_MS)} ms {share(rows, 'late')}, "
        f"at least {RTO_MS:.0f} ms {share(rows, 'after_rto')}, timeouts {timeouts(rows)}"
    )


def plot_panels(panels: Mapping[str, pl.DataFrame]) -> Plot:
    """Draws a panel for each of these titles, with TCP and multipath TCP."""
    plot = Plot(figsize=(4.5 * len(panels), 3.8), layout="constrained")
    every = plot.subplots(1, len(panels), sharex=True, sharey=True)
    for panel, (title, rows) in zip(every, panels.items(), strict=True):
        for transport in TRANSPORTS:
            _plot_distribution(panel, rows.filter(transport=transport), transport)
        panel.set(xscale="log", yscale="log", xlabel="one-way latency (ms)")
        panel.axvline(RTO_MS, color="#999999", linestyle=":", linewidth=1)
        panel.set_title(title)
        panel.grid(visible=True, alpha=0.3)
    every[0].set_ylabel(f"share of packets (a bin: a decade / {BINS})")
    every[0].legend(frameon=False, fontsize="small")
    plot.suptitle("Figure 8: 50 Mbit/s, a queue of 10 packets (dotted: minimum RTO)")
    return plot


def bands(peaks: Sequence[float]) -> list[bool]:
    """Returns whether there is a peak without loss, by fast retransmission, and by a timeout."""
    return [
        any(peak <= NO_LOSS_MS for peak in peaks),
        any(NO_LOSS_MS < peak < TIMED_OUT_MS for peak in peaks),
        any(peak >= TIMED_OUT_MS for peak in peaks),
    ]


def has_peaks_of(peaks: Sequence[float], expected: Sequence[float]) -> bool:
    """Returns true if there is a peak without loss, and one by fast retransmission where `of` has one."""
    fast = [value for value in expected if NO_LOSS_MS < value < TIMED_OUT_MS]
    return bands(peaks)[0] and any(one / NEAR <= peak <= one * NEAR for one in fast for peak in peaks)


def share(rows: pl.DataFrame, column: str) -> SeedSummary:
    """Returns the percentage of all packets that a column counts."""
    return over_seeds(rows, 100 * pl.col(column).first() / pl.col("all_packets").first(), "%")


def goodput(rows: pl.DataFrame) -> SeedSummary:
    """Returns the flow's goodput."""
    return over_seeds(rows, pl.col("goodput_mbps").first(), "Mbit/s")


def timeouts(rows: pl.DataFrame) -> SeedSummary:
    """Returns the flow's timeouts."""
    return over_seeds(rows, pl.col("timeouts").first())


def hump(rows: pl.DataFrame) -> str:
    """Formats the height of the packets that fast retransmission delays over the valley before them."""
    counts = distribution(rows)
    # From the highest bin on.
    after = counts[counts["packets"].arg_max() or 0 :]
    slow = after.filter(pl.col("latency_ms") > NO_LOSS_MS, pl.col("latency_ms") < TIMED_OUT_MS)
    if slow.is_empty():
        return f"nothing from {digits(NO_LOSS_MS)} ms on"
    top = slow.row(int(slow["packets"].arg_max() or 0), named=True)
    valley = after.filter(pl.col("latency_ms") < top["latency_ms"])["packets"].min()
    rise = top["packets"] / max(1, float(valley))  # type: ignore[arg-type]
    top_words = f"highest at {digits(top['latency_ms'])} ms, {digits(rise)} times the valley"
    return f"beyond {digits(NO_LOSS_MS)} ms it is {top_words}"


def listed_ms(peaks: Sequence[float]) -> str:
    """Formats latencies, as in "2.24, 5.62 ms"."""
    return ", ".join(digits(peak) for peak in peaks) + " ms" if peaks else "none"


def _plot_distribution(panel: Axes, rows: pl.DataFrame, transport: str) -> None:
    """Draws the share of packets by latency, all seeds together."""
    counts = distribution(rows).filter(pl.col("packets") > 0)
    panel.step(
        counts["latency_ms"],
        counts["share"],
        where="post",
        label=LABELS[transport],
        color=COLOURS[transport],
        linewidth=1,
    )
