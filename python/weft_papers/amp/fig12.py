"""Figure 12 (section 5.3): completion times of DCTCP incast jobs while each algorithm carries long flows.

A job's client sends 2 KB to each of 10 servers, and each server sends 64 KB back. At a time 8 jobs run, each with
newly drawn hosts. Every host has one long flow at a time to a random host. Its size has a Pareto distribution with
shape 1.5 and mean 192 MB. The simulation ends with the 1000th long flow. Requests and replies are separate
connections, so a job's time includes the handshakes of both.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.amp.fat_tree import DELAY_US, OTHER_DELAY_US, fat_tree, plot_cdf
from weft_papers.amp.settings import TOLERANCE, transport
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, percentile

BASELINE = "dctcp"
MULTIPATH = ("amp", "xmp", "dcm")
OTHERS = ("xmp", "dcm")
WITHOUT = "amp-without-suppression"
"""A variant that is not in the figure; it shows the effect of suppression on the jobs."""
SUBFLOWS = (4, 6, 8)
MAX_SUBFLOWS = 8
"""Number of subflows in the text's comparison."""
LONG_FLOWS, LONG_MB = 1000, 192
QUICK_FLOWS, QUICK_MB = 100, 12
QUICK = (
    f"the {QUICK_FLOWS}th long flow ends it instead of the {LONG_FLOWS}th, with a mean of {QUICK_MB} MB instead of "
    f"{LONG_MB}: a fortieth of the bytes, some 300 to 600 jobs instead of thousands; links of 2 us only"
)
PAPER = "paper"
VARIANTS: dict[str, dict[str, Any]] = {
    PAPER: {},
    f"links of {OTHER_DELAY_US} us": {"delay_us": OTHER_DELAY_US},
    "long flows along a permutation": {"pairs": "permutation"},
}
"""The paper's settings, and others that the notes compare with: one seed, `VARIED` only."""
VARIED = (("amp", MAX_SUBFLOWS), *(("xmp", n) for n in SUBFLOWS))
AT_MOST = "60s"
"""Limit of simulated time, which runs do not reach."""
PAPER_XMP_MS = {4: 1.2, 6: 1.5, 8: 1.8}
PAPER_AMP_MS = 1.1
"""90th percentile of the JCT with 8 subflows of AMP."""
SLIGHTLY = 0.25
"""Relative difference up to which a better value counts as slightly better."""
QUICKLY = 1.25
"""Growth of the JCT from 4 to 8 subflows that counts as quick; the paper's XMP has 1.5."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm and number of subflows for the long flows; at full size also the variants."""
    algorithms = [(BASELINE, 1), *((name, n) for n in SUBFLOWS for name in MULTIPATH), (WITHOUT, MAX_SUBFLOWS)]
    runs = [_case(name, n, PAPER, seed, scale) for name, n in algorithms for seed in range(1, scale.seeds + 1)]
    if not scale.quick:
        variants = [variant for variant in VARIANTS if variant != PAPER]
        runs += [_case(name, n, variant, 1, scale) for variant in variants for name, n in VARIED]
    return runs


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per job: JCT in ms and timeouts of its flows.

    The JCT of a job that the end of the run cut off is null, and `unfinished_ms` is the time that it had taken. Each
    row also has, for the whole run, the mean goodput of the long flows in Gbps and the share of their time in
    suppression.
    """
    timeouts = pl.col("timeouts") + pl.col("syn_timeouts")
    of_jobs = result.flows.drop_nulls("job").group_by("job").agg(timeouts=timeouts.sum())
    lasted = pl.col("acked_s").fill_null(result.manifest["end_s"]) - pl.col("start_s")
    long = result.flows.filter(traffic="long").select(
        goodput_gbps=pl.col("goodput_bps").mean() * 1e-9, suppressed=pl.col("suppressed_s").sum() / lasted.sum()
    )
    cut_off = pl.when(pl.col("end_s").is_null()).then(1e3 * (result.manifest["end_s"] - pl.col("start_s")))
    return (
        result.jobs.select("job", jct_ms=pl.col("jct_s") * 1e3, unfinished_ms=cut_off)
        .join(of_jobs, on="job", how="left", maintain_order="left")
        .with_columns(*(pl.lit(value).alias(f"long_{name}") for name, value in long.row(0, named=True).items()))
        .drop("job")
    )


def plot(rows: pl.DataFrame) -> Plot:
    """The CDF of the JCT for 4, 6 and 8 subflows, as in the paper; DCTCP's is the same in all."""
    here = rows.filter(variant=PAPER)
    plot = Plot(figsize=(11, 3.8), layout="constrained")
    panels = plot.subplots(1, len(SUBFLOWS), sharex=True, sharey=True)
    for panel, letter, n in zip(panels, "abc", SUBFLOWS, strict=True):
        shown = here.filter((pl.col("subflows") == n) | (pl.col("algorithm") == BASELINE))
        plot_cdf(panel, shown, "jct_ms", (*MULTIPATH, BASELINE), at_least="unfinished_ms")
        panel.axhline(0.9, color="black", linestyle=":", linewidth=1)
        panel.set(title=f"({letter}) {n} subflows", xlabel="job completion time (ms)")
    panels[0].legend(frameon=False)
    plot.suptitle("Figure 12: jobs by DCTCP, long flows by each algorithm")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.3, "Incast with background traffic", sentence by sentence."""
    here = rows.filter(variant=PAPER)
    baseline = _p90(here, BASELINE, 1)
    amp = {n: _p90(here, "amp", n) for n in SUBFLOWS}
    other = {name: {n: _p90(here, name, n) for n in SUBFLOWS} for name in OTHERS}
    xmp = other["xmp"]
    to_baseline = {n: amp[n] / baseline for n in SUBFLOWS}
    growth = {name: other[name][MAX_SUBFLOWS] / other[name][SUBFLOWS[0]] for name in OTHERS}
    to_xmp = amp[MAX_SUBFLOWS] / xmp[MAX_SUBFLOWS]
    without = _p90(here, WITHOUT, MAX_SUBFLOWS)
    return [
        Claim(
            "AMP's long flows do not harm the jobs: 4, 6 and 8 subflows give slightly better JCTs than long flows by "
            "DCTCP",
            "slightly better",
            f"{_over_subflows(to_baseline)} of DCTCP's {baseline}",
            all(1 - SLIGHTLY <= ratio.mean < 1 for ratio in to_baseline.values()),
            f"90th percentile of the JCT; holds when it is below DCTCP's and above {1 - SLIGHTLY} of it for 4, 6 and 8 "
            f"subflows; {_medians(here)}; {_tail(here)}",
        ),
        Claim(
            "More subflows of DCM or XMP make the JCT grow quickly",
            "XMP 1.5 times from 4 to 8 subflows",
            "; ".join(f"{name} {_over_subflows(times)}" for name, times in other.items()),
            all(
                times[4].mean < times[6].mean < times[8].mean and growth[name].mean >= QUICKLY
                for name, times in other.items()
            ),
            f"90th percentile of the JCT; holds when it rises from 4 to 6 to 8 subflows, and by {QUICKLY} in all, for "
            f"both; in all it is {listed(growth.items())}",
        ),
        *(_xmp(rows, n) for n in SUBFLOWS),
        Claim(
            "8 subflows of AMP: the 90th percentile of the JCT is 1.1 ms",
            f"{PAPER_AMP_MS} ms",
            str(amp[MAX_SUBFLOWS]),
            amp[MAX_SUBFLOWS].near(PAPER_AMP_MS, TOLERANCE),
            f"holds within {100 * TOLERANCE:.0f} %; {_varied(rows, 'amp', MAX_SUBFLOWS)}",
        ),
        Claim(
            "8 subflows: AMP's JCT is 39 % below XMP's",
            "39 %",
            str(SeedSummary(tuple(100 * (1 - ratio) for ratio in to_xmp.values), "%")),
            to_xmp.near(PAPER_AMP_MS / PAPER_XMP_MS[MAX_SUBFLOWS], TOLERANCE),
            "90th percentile of the JCT; holds when AMP's over XMP's is within "
            f"{100 * TOLERANCE:.0f} % of the paper's 1.1 / 1.8; it is {to_xmp}",
        ),
        Claim(
            "Suppression is what makes the competing jobs finish faster",
            "our SSR mechanism",
            f"8 subflows: {amp[MAX_SUBFLOWS]}, without suppression {without}",
            max(amp[MAX_SUBFLOWS].values) < min(without.values) and (without / amp[MAX_SUBFLOWS]).mean >= 1 + TOLERANCE,
            "90th percentile of the JCT; holds when without suppression it is longer in every seed, and by "
            f"{100 * TOLERANCE:.0f} % in the mean. Subflows of AMP's long flows are suppressed "
            f"{_suppressed(here)} of the time",
        ),
    ]


def _case(algorithm: str, subflows: int, variant: str, seed: int, scale: Scale) -> Case:
    long_flows, long_mb = (QUICK_FLOWS, QUICK_MB) if scale.quick else (LONG_FLOWS, LONG_MB)
    settings: dict[str, Any] = {"delay_us": DELAY_US, "pairs": "random"} | VARIANTS[variant]
    experiment = fat_tree(
        f"jobs-beside-{algorithm}-x{subflows}",
        duration=AT_MOST,
        delay_us=settings["delay_us"],
        transports={"dctcp": transport("dctcp"), "long": transport(algorithm, subflows=subflows)},
        traffic=[
            {
                "kind": "jobs",
                "name": "jobs",
                "transport": "dctcp",
                "servers": 10,
                "request": "2KiB",
                "block": "64KiB",
                "slots": 8,
            },
            {
                "kind": "closed-loop",
                "name": "long",
                "transport": "long",
                "pairs": settings["pairs"],
                "size": {"kind": "pareto", "shape": 1.5, "mean": f"{long_mb}MB"},
            },
        ],
        stop={"class": "long", "flows": long_flows},
    )
    return Case({"variant": variant, "subflows": subflows, "algorithm": algorithm}, experiment, seed)


def _p90(rows: pl.DataFrame, algorithm: str, subflows: int) -> SeedSummary:
    return _percentile(rows, algorithm, subflows, 90)


def _percentile(rows: pl.DataFrame, algorithm: str, subflows: int, percent: int) -> SeedSummary:
    here = rows.filter(algorithm=algorithm, subflows=subflows)
    return percentile(here, "jct_ms", percent, "ms", at_least="unfinished_ms")


def _xmp(rows: pl.DataFrame, subflows: int) -> Claim:
    paper = PAPER_XMP_MS[subflows]
    measured = _p90(rows.filter(variant=PAPER), "xmp", subflows)
    return Claim(
        f"{subflows} subflows of XMP: the 90th percentile of the JCT is {paper} ms",
        f"{paper} ms",
        str(measured),
        measured.near(paper, TOLERANCE),
        f"holds within {100 * TOLERANCE:.0f} %; {_varied(rows, 'xmp', subflows)}",
    )


def _over_subflows(spreads: dict[int, SeedSummary]) -> str:
    *first, last = (str(spread) for spread in spreads.values())
    return f"{', '.join(first)} and {last} with {', '.join(map(str, SUBFLOWS[:-1]))} and {SUBFLOWS[-1]} subflows"


def _medians(rows: pl.DataFrame) -> str:
    cells = [(BASELINE, 1), *(("amp", n) for n in SUBFLOWS)]
    medians = ((f"{name} x{n}", _percentile(rows, name, n, 50)) for name, n in cells)
    return f"medians {listed(medians)}"


def _tail(rows: pl.DataFrame) -> str:
    cells = [(BASELINE, 1), *((name, MAX_SUBFLOWS) for name in MULTIPATH)]
    late = (pl.col("timeouts") > 0) | pl.col("jct_ms").is_null()
    shares = (
        (f"{name} x{n}", over_seeds(rows.filter(algorithm=name, subflows=n), 100 * late.mean(), "%"))
        for name, n in cells
    )
    return f"jobs with a timeout or cut off by the run's end: {listed(shares)}"


def _suppressed(rows: pl.DataFrame) -> SeedSummary:
    return over_seeds(rows.filter(algorithm="amp", subflows=MAX_SUBFLOWS), 100 * pl.col("long_suppressed").first(), "%")


def _varied(rows: pl.DataFrame, algorithm: str, subflows: int) -> str:
    """Formats the same comparison in the other variants that were run."""
    runs = rows.filter(algorithm=algorithm, subflows=subflows)
    others = [variant for variant in VARIANTS if variant != PAPER and not runs.filter(variant=variant).is_empty()]
    note = listed((f"with {variant}", _p90(runs.filter(variant=variant), algorithm, subflows)) for variant in others)
    return f"links of {DELAY_US} us, long flows to random hosts; {note}" if note else f"links of {DELAY_US} us"
