"""Figure 7 (section V.B): a client asks 8 servers at once for objects of 10 KB to 128 MB; their completion times.

One job follows the other; its client and its servers are drawn for each. Sizes have "the uniform distribution from
10KB to 128MB". So fewer than one object in a hundred is below 1 MB, and a small object competes with far larger ones.
In another reading all objects of a job have one size. "A server is randomly selected as the aggregator" does not say
how many jobs there are at a time. In a third reading there are 16, and objects are up to a tenth of that size, so that
the runs are short. All three are run, the third at full size only. A request is 2 KB. The paper does not give
MMPTCP's number of subflows; here it is 4, as for the others.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.amp_fg.settings import SHOWN, experiment, fat_tree, transport
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds

SUBFLOWS = {"dctcp": 1, "mmptcp": 4, "lia": 4, "xmp": 4, "amp-fg": 4}
OTHERS = ("dctcp", "mmptcp", "lia", "xmp")
SERVERS = 8
UNIFORM, EQUAL, CONCURRENT = "uniform", "equal", "concurrent"
SLOTS = 16
"""Jobs at a time in the third reading."""
MIN_KB, SMALL_MB, LARGE_MB, MAX_MB = 10, 1.0, 100.0, 128.0
JOBS = 100
EQUAL_KB = {10: 50, 100: 50, 1_000: 20, 10_000: 5, 128_000: 2}
"""Number of jobs by the size of their objects in KB."""
QUICK_PART = 10
"""Divisor of the size of large objects in the quick version, and with concurrent jobs."""
QUICK_JOBS = 10
QUICK_EQUAL_KB = {10: 5, 100: 5, 1_000: 2}
QUICK = (
    f"objects up to {MAX_MB / QUICK_PART:.1f} MB, large from {LARGE_MB / QUICK_PART:.0f} MB on, and {QUICK_JOBS} jobs "
    f"instead of {JOBS}"
)
PAPER = {
    "small": {"dctcp": 8.9, "mmptcp": 26.2, "lia": 19.5, "xmp": 16.3},
    "large": {"dctcp": 21.2, "mmptcp": 38.3, "lia": 24.9, "xmp": 12.8},
}
"""Percent by which AMP-FG's mean FCT is below the others' in the paper."""
WORDS = {"small": "Between 10 KB and 1 MB", "large": "Above 100 MB"}
TOLERANCE = 5
"""Tolerance in percentage points for the paper's numbers."""
AT_MOST_S = 3600.0
"""Limit of simulated time, which the last job does not reach."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm, for objects of all sizes and for each size alone."""
    equal = QUICK_EQUAL_KB if scale.quick else EQUAL_KB
    readings = [(UNIFORM, 0, QUICK_JOBS if scale.quick else JOBS), *((EQUAL, kb, n) for kb, n in equal.items())]
    readings += [] if scale.quick else [(CONCURRENT, 0, JOBS)]
    return [
        _case(reading, kb, jobs, name, seed, quick=scale.quick)
        for reading, kb, jobs in readings
        for name in SUBFLOWS
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per complete object: its size in MB, FCT in ms and timeouts, and its job's completion time in ms.

    Every job has as many objects, so that a mean over the objects is one over the jobs. A job that the end of the run
    has cut off has no completion time.
    """
    objects = result.flows.filter(pl.col("size_bytes") >= MIN_KB * 1000).drop_nulls("fct_s")
    rows = objects.join(result.jobs.select("job", "jct_s"), on="job", how="left", maintain_order="left")
    size_mb, fct_ms, jct_ms = (pl.col("size_bytes") * 1e-6, pl.col("fct_s") * 1e3, pl.col("jct_s") * 1e3)
    return rows.select(size_mb=size_mb, fct_ms=fct_ms, jct_ms=jct_ms, timeouts="timeouts")


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT of small and of large objects, uniform sizes, and the range of the seeds."""
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    for axes, kind in zip(plot.subplots(1, len(PAPER)), PAPER, strict=True):
        means, reach = means_and_ranges(_mean(rows, kind, name) for name in SUBFLOWS)
        colours = [SHOWN[name].colour for name in SUBFLOWS]
        labels = [f"{SHOWN[name].label}-{n}" if n > 1 else SHOWN[name].label for name, n in SUBFLOWS.items()]
        axes.bar(labels, means, yerr=reach, color=colours, capsize=3)
        axes.set(title=f"{kind} objects", ylabel="mean FCT (ms)")
        axes.grid(visible=True, axis="y", alpha=0.3)
    plot.suptitle("Figure 7: one client, 8 servers at once")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section V.B.1, without those about a size of which a seed has drawn no object."""
    drawn = [kind for kind in PAPER if not _objects(rows, kind, "amp-fg").is_empty()]
    found = [claim for kind in drawn for claim in _of_kind(rows, kind)]
    readings = [reading for reading in (UNIFORM, CONCURRENT) if len(_objects(rows, "small", "amp-fg", reading)) > 0]
    return [*found, *(_abstract(rows, reading) for reading in readings), _jobs(rows)]


def _case(reading: str, kb: int, jobs: int, name: str, seed: int, *, quick: bool) -> Case:
    part = QUICK_PART if quick or reading == CONCURRENT else 1
    most = f"{MAX_MB / part:g}MB"
    block: Any = f"{kb}KB" if kb else {"kind": "uniform", "min": f"{MIN_KB}KB", "max": most}
    spec = experiment(
        f"{name}-{reading}",
        topology=fat_tree(),
        seconds=AT_MOST_S,
        transports={name: transport(name, SUBFLOWS[name])},
        traffic=[
            {
                "kind": "jobs",
                "name": "objects",
                "transport": name,
                "servers": SERVERS,
                "request": "2KB",
                "block": block,
                "slots": SLOTS if reading == CONCURRENT else 1,
            }
        ],
        # A job has a request and an object for each server.
        stop={"class": "objects", "flows": 2 * SERVERS * jobs},
    )
    large_mb = LARGE_MB / part
    return Case({"reading": reading, "size_kb": kb, "large_mb": large_mb, "algorithm": name}, spec, seed)


def _objects(rows: pl.DataFrame, kind: str, name: str, reading: str = UNIFORM) -> pl.DataFrame:
    """Returns the objects with sizes drawn uniformly."""
    size = pl.col("size_mb")
    return rows.filter(
        size <= SMALL_MB if kind == "small" else size > pl.col("large_mb"), reading=reading, algorithm=name
    )


def _mean(rows: pl.DataFrame, kind: str, name: str, reading: str = UNIFORM) -> SeedSummary:
    return over_seeds(_objects(rows, kind, name, reading), pl.col("fct_ms").mean(), "ms")


def _abstract(rows: pl.DataFrame, reading: str) -> Claim:
    """Returns the claim of the abstract, with one job at a time or with several."""
    means = {name: _mean(rows, "small", name, reading) for name in SUBFLOWS}
    below = {name: _below(means["amp-fg"], means[name]) for name in OTHERS}
    jobs = f", {SLOTS} jobs at a time" if reading == CONCURRENT else ""
    late = listed((SHOWN[name].label, _late(rows, "small", name, reading)) for name in SUBFLOWS)
    return Claim(
        f"{WORDS['small']}, AMP-FG's FCT is below that of LIA and XMP{jobs}",
        "below",
        listed((f"below {SHOWN[name].label}", below[name]) for name in ("lia", "xmp")),
        all(below[name].mean > 0 for name in ("lia", "xmp")),
        "the abstract, of the mean; negative where it is above; "
        f"{listed((SHOWN[name].label, mean) for name, mean in means.items())}. Objects with a timeout: {late}",
    )


def _of_kind(rows: pl.DataFrame, kind: str) -> list[Claim]:
    means = {name: _mean(rows, kind, name) for name in SUBFLOWS}
    below = {name: _below(means["amp-fg"], means[name]) for name in OTHERS}
    count = _objects(rows, kind, "amp-fg").height
    late = listed((SHOWN[name].label, _late(rows, kind, name)) for name in SUBFLOWS)
    return [
        Claim(
            f"{WORDS[kind]}, AMP-FG has the least FCT",
            "least",
            listed((SHOWN[name].label, mean) for name, mean in means.items()),
            all(percent.mean > 0 for percent in below.values()),
            f"mean over {count} objects of sizes drawn uniformly; holds when it is below all others. Objects with a "
            f"timeout: {late}. All objects of a job share the "
            "client's link; a further cause was not looked for",
            table=_equal(rows),
        ),
        *(
            Claim(
                f"{WORDS[kind]}, AMP-FG's FCT is {paper} % below that of {SHOWN[name].label}",
                f"{paper} %",
                str(below[name]),
                abs(below[name].mean - paper) <= TOLERANCE,
                f"of the mean; negative where it is above; holds within {TOLERANCE} percentage points",
            )
            for name, paper in PAPER[kind].items()
        ),
    ]


def _jobs(rows: pl.DataFrame) -> Claim:
    """Returns the completion times of jobs, which the section defines and the paper does not show."""
    means = {
        reading: {
            name: over_seeds(rows.filter(reading=reading, algorithm=name), pl.col("jct_ms").mean(), "ms")
            for name in SUBFLOWS
        }
        for reading in (UNIFORM, CONCURRENT)
        if not rows.filter(reading=reading).is_empty()
    }
    words = [listed((SHOWN[name].label, mean) for name, mean in of.items()) for of in means.values()]
    return Claim(
        "Mean time until a job has all of its objects",
        "no value",
        words[0],
        None,
        '"Only when the response objects are completely rendered by all servers, the browser application is '
        'completed"; one job at a time'
        + "".join(f". With {SLOTS} at a time and objects up to a tenth as large: {more}" for more in words[1:]),
    )


def _below(ours: SeedSummary, theirs: SeedSummary) -> SeedSummary:
    return SeedSummary(tuple(100 * (1 - ratio) for ratio in (ours / theirs).values), "%")


def _late(rows: pl.DataFrame, kind: str, name: str, reading: str = UNIFORM) -> SeedSummary:
    return over_seeds(_objects(rows, kind, name, reading), 100 * (pl.col("timeouts") > 0).mean(), "%")


def _equal(rows: pl.DataFrame) -> Table:
    """Formats the mean FCT if all objects of a job have one size."""
    here = rows.filter(reading=EQUAL)
    sizes = here["size_kb"].unique().sort().to_list()
    cells = []
    for size in sizes:
        by_algorithm = {name: here.filter(size_kb=size, algorithm=name) for name in SUBFLOWS}
        means = (str(over_seeds(value, pl.col("fct_ms").mean(), "ms")) for value in by_algorithm.values())
        cells.append((f"{size} KB each", *means))
    return Table(("mean FCT", *(SHOWN[name].label for name in SUBFLOWS)), tuple(cells))
