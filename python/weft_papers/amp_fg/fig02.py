"""Figures 2 and 3 (section II): the queue and its oscillation while every sender goes from 4 subflows to 8 and back.

A flow's number of subflows cannot change here. So every sender has a flow of 4 subflows for the whole run. Another
flow of 4 subflows opens when the paper adds subflows and stops when the paper removes them. The four subflows of each
flow are coupled. The paper does this from the 3rd to the 8th RTT, too short for anything but slow start. So its RTTs
count here as `UNIT` RTTs, after a warm-up.

The paper does not give the following, which were chosen: 8 senders to 1; XMP for its "ECN-based MPTCP"; XMP with one
subflow for single path. The notes have LIA. An oscillation is the change of the queue within 100 us.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.amp_fg.settings import BDP, RTT_US, SHOWN, experiment, transport
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, over_seeds

SENDERS = 8
SUBFLOWS = 4
DELAY_US = 18
"""Delay of each of the two links of a path: a full packet and its acknowledgement take 100 us."""
BEFORE, DURING, AFTER = "4 subflows", "8 subflows", "4 again"
ENDS = {BEFORE: 3, DURING: 8, AFTER: 13}
"""Ends of the phases, in the paper's RTTs."""
UNIT, QUICK_UNIT = 200, 40
"""RTTs here for each of the paper's RTTs."""
QUICK = f"{QUICK_UNIT} RTTs for each of the paper's instead of {UNIT}"
WARM_UP_MS = 50
SAMPLE_US = 20
SINGLE, MULTI = "single path", "multipath"
ALGORITHMS = ("xmp", "lia")


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm, with one subflow and with more."""
    return [
        _case(paths, algorithm, seed, QUICK_UNIT if scale.quick else UNIT)
        for paths in (MULTI, SINGLE)
        for algorithm in ALGORITHMS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per sample: `at_s` after the warm-up, the queue's `length`, and its `change` within one RTT."""
    length = pl.col("length_packets").cast(pl.Int64)
    samples = result.traces.drop_nulls("length_packets").sort("time_s")
    change = (length - length.shift(RTT_US // SAMPLE_US)).abs()
    return samples.select(at_s=pl.col("time_s") - WARM_UP_MS * 1e-3, length=length, change=change).drop_nulls()


def plot(rows: pl.DataFrame) -> Plot:
    """(2) the queue of XMP's first seed over time, and (3) the distribution of its change within an RTT."""
    xmp = rows.filter(algorithm="xmp")
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    first = xmp.filter(paths=MULTI, seed=rows["seed"].min())
    left.plot((first["at_s"] * 1e3).to_list(), first["length"].to_list(), linewidth=0.5, color=SHOWN["xmp"].colour)
    left.set(xlabel="time (ms)", ylabel="queue length (packets)")
    left.set_title("(2) 4, 8 and 4 subflows of each sender")
    for label, here in {SINGLE: xmp.filter(paths=SINGLE), BEFORE: _of(xmp, BEFORE), DURING: _of(xmp, DURING)}.items():
        changes = here["change"].sort().to_list()
        right.plot(changes, [(n + 1) / len(changes) for n in range(len(changes))], label=label, linewidth=1.2)
    right.set(xlabel="change within an RTT (packets)", ylabel="CDF", title="(3) oscillation")
    right.legend(frameon=False)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section II about figures 2 and 3."""
    xmp = rows.filter(algorithm="xmp")
    often = {phase: _often(xmp, phase) for phase in ENDS}
    wide = {phase: _wide(xmp, phase) for phase in ENDS}
    single = over_seeds(xmp.filter(paths=SINGLE), pl.col("change").mean())
    multi = {phase: _change(xmp, phase) for phase in ENDS}
    return [
        Claim(
            "With 8 subflows instead of 4 the queue oscillates faster",
            "accelerated",
            _listed(often),
            often[DURING].mean > max(often[BEFORE].mean, often[AFTER].mean),
            f"times in a ms that it crosses its phase's mean; holds when 8 subflows are above both; LIA "
            f"{_listed({phase: _often(rows.filter(algorithm='lia'), phase) for phase in ENDS})}",
        ),
        Claim(
            "With 8 subflows instead of 4 the amplitude becomes larger",
            "larger",
            _listed(wide),
            wide[DURING].mean > max(wide[BEFORE].mean, wide[AFTER].mean),
            f"packets from the 5th to the 95th percentile of its length; holds when 8 subflows are above both; LIA "
            f"{_listed({phase: _wide(rows.filter(algorithm='lia'), phase) for phase in ENDS})}",
        ),
        Claim(
            "The oscillation of single path TCP is smaller than that of MPTCP",
            "smaller",
            f"{single}; {_listed(multi)}",
            single.mean < min(spread.mean for spread in multi.values()),
            "mean change of the length within an RTT, packets; holds when it is below that of all three phases; LIA "
            f"{over_seeds(rows.filter(algorithm='lia', paths=SINGLE), pl.col('change').mean())}; "
            f"{_listed({phase: _change(rows.filter(algorithm='lia'), phase) for phase in ENDS})}. XMP's windows "
            f"are at least 2 packets, {2 * SENDERS * SUBFLOWS} of {SENDERS} senders with {SUBFLOWS} subflows, of which "
            f"the links hold {BDP:.0f}: the queue's mean is {_listed({phase: _mean(xmp, phase) for phase in ENDS})}",
        ),
        Claim(
            "The oscillation becomes larger as subflows increase from 4 to 8",
            "larger",
            f"{multi[BEFORE]} to {multi[DURING]}",
            multi[DURING].mean > multi[BEFORE].mean,
            "mean change of the length within an RTT, packets; holds when it rises",
        ),
    ]


def _case(paths: str, algorithm: str, seed: int, unit: int) -> Case:
    at_us = {phase: WARM_UP_MS * 1000 + end * unit * RTT_US for phase, end in ENDS.items()}
    senders: dict[str, Any] = {"kind": "bulk", "from": f"0..{SENDERS}", "to": "r0", "transport": algorithm}
    traffic = [senders | {"name": "always", "jitter": f"{RTT_US}us"}]
    if paths == MULTI:
        times = {"start": f"{at_us[BEFORE]}us", "stop": f"{at_us[DURING]}us"}
        traffic.append(senders | {"name": "added", "jitter": f"{RTT_US}us"} | times)
    spec = experiment(
        f"{algorithm}-{paths}",
        topology={"kind": "many-to-one", "senders": SENDERS, "delay": f"{DELAY_US}us"},
        seconds=at_us[AFTER] * 1e-6,
        transports={algorithm: transport(algorithm, SUBFLOWS if paths == MULTI else 1)},
        traffic=traffic,
        measure={"start": f"{WARM_UP_MS}ms"},
        probes=[{"kind": "queue", "at": ["s0->r0"], "interval": f"{SAMPLE_US}us"}],
    )
    return Case({"paths": paths, "algorithm": algorithm, "unit": unit}, spec, seed)


def _of(rows: pl.DataFrame, phase: str) -> pl.DataFrame:
    """Returns the samples of a phase with several subflows."""
    begins = {BEFORE: 0, DURING: ENDS[BEFORE], AFTER: ENDS[DURING]}[phase]
    at = pl.col("at_s") / (pl.col("unit") * RTT_US * 1e-6)
    return rows.filter(at >= begins, at < ENDS[phase], paths=MULTI)


def _often(rows: pl.DataFrame, phase: str) -> SeedSummary:
    above = (pl.col("length") > pl.col("length").mean()).cast(pl.Int8)
    return over_seeds(_of(rows, phase), (above.diff().abs().sum()) / (pl.len() * SAMPLE_US * 1e-3))


def _wide(rows: pl.DataFrame, phase: str) -> SeedSummary:
    length = pl.col("length")
    return over_seeds(_of(rows, phase), length.quantile(0.95) - length.quantile(0.05))


def _mean(rows: pl.DataFrame, phase: str) -> SeedSummary:
    return over_seeds(_of(rows, phase), pl.col("length").mean())


def _change(rows: pl.DataFrame, phase: str) -> SeedSummary:
    return over_seeds(_of(rows, phase), pl.col("change").mean())


def _listed(spreads: dict[str, SeedSummary]) -> str:
    return ", ".join(f"{phase}: {spread}" for phase, spread in spreads.items())
