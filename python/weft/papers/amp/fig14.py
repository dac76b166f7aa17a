"""Figure 14 (section 5.3): the data mining workload; below 100 KB by DCTCP, the rest by each algorithm.

The paper gives the mean time between the flows of a host, 780 us, and not how long the simulation lasts. Flows of the
data mining workload have a mean of 7.5 MB, so a host is asked for 77 Gbps, and its link takes 10. There is no steady
state then: long flows pile up as long as the simulation lasts, and the FCT of short ones grows with them. The length
is the one number that had to be chosen: `LENGTH_MS`, a round one near which the paper's percentiles for AMP come out.
The notes and the plot have others.

The source of the authors' simulator has a time between flows in thousands of these, for each pair of hosts: some 6 ms a
host, a load of 1. So the 780 us may be a slip of units. One seed shows what that load gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from weft.papers.amp.fat_tree import DELAY_US, OTHER_DELAY_US, fat_tree, plot_cdf
from weft.papers.amp.settings import BY_SENDER, PAPER_FCT_MS, SHOWN, TOLERANCE, transport
from weft.papers.figure import Claim
from weft.papers.seed_summary import SeedSummary, listed, over_seeds, percentile
from weft.sweep import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

    from weft.api import Result
    from weft.papers.figure import Scale

ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
MULTIPATH = ("amp", "xmp", "dcm")
OTHERS = ("xmp", "dcm")
WITHOUT = "amp-without-suppression"
"""Not in the paper: it shows what of the difference is suppression."""
INTERVAL_US = 780
LOAD_ONE_US = 6_000
SHORT = "100KB"
LENGTH_MS = 200
"""Of the claims."""
FULL_MS = 300
QUICK_MS = 200
LENGTHS_MS = (50, 100, 150, 200, 250, 300)
QUICK = f"{QUICK_MS} ms simulated instead of {FULL_MS}, links of 2 us only"
PAPER_MS = {90: {"amp": 0.18, "xmp": 0.27, "dcm": 0.28}, 99: {"amp": 0.78, "xmp": 1.35, "dcm": 1.41}}
"""FCT of the short flows by percentile."""
ALIKE = 1.25
"""Goodputs within a quarter of one another count as almost identical."""


def cases(scale: Scale) -> list[Case]:
    """Each algorithm for the long flows; at full size one seed with links of 5 us, and with fewer flows."""
    length_ms = QUICK_MS if scale.quick else FULL_MS
    runs = [
        _case(name, DELAY_US, length_ms, seed) for name in (*ALGORITHMS, WITHOUT) for seed in range(1, scale.seeds + 1)
    ]
    others = [(OTHER_DELAY_US, INTERVAL_US), (DELAY_US, LOAD_ONE_US)]
    return (
        runs
        if scale.quick
        else [
            *runs,
            *(
                _case(name, delay_us, length_ms, 1, interval_us)
                for delay_us, interval_us in others
                for name in MULTIPATH
            ),
        ]
    )


def measure(result: Result) -> pl.DataFrame:
    """One row a flow that opened: its class, FCT in ms, goodput in Gbps and timeouts.

    `start_ms` is when it opened, `from_ms` whence FCT counts, `end_ms` when it ended; null: not before the run did.
    """
    return result.flows.filter(pl.col("start_s") < result.manifest["end_s"]).select(
        "class",
        start_ms=pl.col("start_s") * 1e3,
        from_ms=pl.col("established_s") * 1e3,
        end_ms=pl.col("acked_s") * 1e3,
        fct_ms=PAPER_FCT_MS,
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Section 5.3, "General workload", its last paragraph."""
    length_ms = min(LENGTH_MS, _longest(rows))
    return [
        *(_percentile(rows, length_ms, percent, name) for percent in PAPER_MS for name in MULTIPATH),
        *(_improvement(rows, length_ms, percent) for percent in PAPER_MS),
        _goodput(rows, length_ms),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Short flows' FCT: CDF up to where what the end cut off could change it, and percentiles (hollow: at least).

    The percentiles are over the length of the simulation, mean and range of the seeds.
    """
    from matplotlib.figure import Figure

    here = rows.filter(delay_us=DELAY_US, interval_us=INTERVAL_US)
    length_ms = min(LENGTH_MS, _longest(rows))
    plot = Figure(figsize=(11, 3.8), layout="constrained")
    left, *right = plot.subplots(1, 3)
    plot_cdf(left, _short(here, length_ms), "fct_ms", ALGORITHMS, at_least="unfinished_ms")
    left.set_xlabel("FCT of short flows (ms)")
    left.set_title(f"{length_ms} ms simulated")
    left.legend(frameon=False)
    for panel, percent in zip(right, PAPER_MS, strict=True):
        _plot_lengths(panel, here, percent)
    plot.suptitle("Figure 14: data mining workload")
    return plot


def _case(algorithm: str, delay_us: int, length_ms: int, seed: int, interval_us: int = INTERVAL_US) -> Case:
    experiment = fat_tree(
        f"data-mining-{algorithm}",
        duration=f"{length_ms}ms",
        delay_us=delay_us,
        transports={"dctcp": transport("dctcp"), "long": transport(algorithm)},
        traffic=[
            {
                "kind": "poisson",
                "name": "long",
                "transport": "long",
                "pairs": "random",
                "interval": f"{interval_us}us",
                "size": {"kind": "empirical", "cdf": "data-mining"},
                "classes": [{"name": "short", "below": SHORT, "transport": "dctcp"}],
            }
        ],
    )
    labels: dict[str, str | int | float] = {
        "delay_us": delay_us,
        "interval_us": interval_us,
        "length_ms": length_ms,
        "algorithm": algorithm,
    }
    return Case(labels, experiment, seed)


def _longest(rows: pl.DataFrame) -> int:
    return int(rows.select(pl.col("length_ms").max()).item())


def _short(rows: pl.DataFrame, length_ms: float) -> pl.DataFrame:
    """The short flows that a simulation of that length would have shown.

    Where it would have cut a flow off, `fct_ms` is null and `unfinished_ms` the time that the flow had taken.
    """
    opened = rows.filter(pl.col("class") == "short", pl.col("start_ms") < length_ms)
    ended = (pl.col("end_ms") <= length_ms).fill_null(value=False)
    taken = length_ms - pl.col("from_ms").clip(upper_bound=length_ms).fill_null(length_ms)
    return opened.with_columns(
        fct_ms=pl.when(ended).then("fct_ms"),
        unfinished_ms=pl.when(~ended).then(taken),
    )


def _fct(
    rows: pl.DataFrame,
    length_ms: float,
    percent: int,
    algorithm: str,
    delay_us: int = DELAY_US,
    interval_us: int = INTERVAL_US,
) -> SeedSummary:
    here = _short(rows.filter(delay_us=delay_us, interval_us=interval_us, algorithm=algorithm), length_ms)
    return percentile(here, "fct_ms", percent, "ms", at_least="unfinished_ms")


def _percentile(rows: pl.DataFrame, length_ms: float, percent: int, algorithm: str) -> Claim:
    paper = PAPER_MS[percent][algorithm]
    measured = _fct(rows, length_ms, percent, algorithm)
    return Claim(
        f"The {percent}th percentile of short flows' FCT beside long flows by {SHOWN[algorithm].label}",
        f"{paper} ms",
        str(measured),
        measured.near(paper, TOLERANCE),
        f"holds within {100 * TOLERANCE:.0f} %; {BY_SENDER}; "
        f"{_unfinished(rows, length_ms, percent, algorithm)}; "
        f"{_elsewhere(rows, length_ms, percent, algorithm)}",
    )


def _unfinished(rows: pl.DataFrame, length_ms: float, percent: int, algorithm: str) -> str:
    """How many of the short flows the end cut off, and what leaving them out would make of it."""
    here = _short(rows.filter(delay_us=DELAY_US, interval_us=INTERVAL_US, algorithm=algorithm), length_ms)
    share = over_seeds(here, 100 * pl.col("fct_ms").is_null().mean(), "%")
    ended = percentile(here.drop_nulls("fct_ms"), "fct_ms", percent, "ms")
    return (
        f"the end cut off {share} of the flows, which count as no faster than they were by then; of those that ended "
        f"it is {ended}"
    )


def _elsewhere(rows: pl.DataFrame, length_ms: float, percent: int, algorithm: str) -> str:
    """The same in simulations of other lengths, with the other link delay and at a load of 1."""
    lengths = {ms: _fct(rows, ms, percent, algorithm) for ms in _other_lengths(rows, length_ms)}
    others = listed((f"at {ms} ms", fct) for ms, fct in lengths.items())
    as_well = [f"{ms} ms" for ms, fct in lengths.items() if fct.near(PAPER_MS[percent][algorithm], TOLERANCE)]
    note = (
        f"at {length_ms} ms of simulation with links of {DELAY_US} us. Hosts are asked for 7.7 times what their links "
        f"take, so FCTs grow with the length, which the paper does not give: {others}; "
        f"within {100 * TOLERANCE:.0f} %, too, at {', '.join(as_well) or 'none of these'}"
    )
    if rows.filter(delay_us=OTHER_DELAY_US, algorithm=algorithm).is_empty():
        return note
    slower = _fct(rows, length_ms, percent, algorithm, OTHER_DELAY_US)
    fewer = _fct(rows, length_ms, percent, algorithm, interval_us=LOAD_ONE_US)
    return (
        f"{note}; with links of {OTHER_DELAY_US} us and one seed {slower} at {length_ms} ms, with "
        f"{LOAD_ONE_US / 1000:.0f} ms between a host's flows, a load of 1, and one seed {fewer}"
    )


def _other_lengths(rows: pl.DataFrame, length_ms: float) -> list[int]:
    return [ms for ms in LENGTHS_MS if ms <= _longest(rows) and ms != length_ms]


def _improvement(rows: pl.DataFrame, length_ms: float, percent: int) -> Claim:
    paper = {name: PAPER_MS[percent][name] / PAPER_MS[percent]["amp"] for name in OTHERS}
    measured = {name: _ratio(rows, length_ms, percent, name) for name in OTHERS}
    others = "; ".join(
        f"at {ms} ms {listed((name, _ratio(rows, ms, percent, name)) for name in OTHERS)}"
        for ms in _other_lengths(rows, length_ms)
    )
    return Claim(
        f"{percent}th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM",
        ", ".join(f"{name} {ratio:.2f} times AMP's" for name, ratio in paper.items()),
        f"{listed(measured.items())} times AMP's",
        all(measured[name].near(paper[name], TOLERANCE) for name in OTHERS),
        f"holds within {100 * TOLERANCE:.0f} % of both ratios, at {length_ms} ms; {others}. "
        f"Without suppression AMP's own would be {_ratio(rows, length_ms, percent, WITHOUT)} times as long",
    )


def _ratio(rows: pl.DataFrame, length_ms: float, percent: int, algorithm: str) -> SeedSummary:
    return _fct(rows, length_ms, percent, algorithm) / _fct(rows, length_ms, percent, "amp")


def _goodput(rows: pl.DataFrame, length_ms: float) -> Claim:
    here = rows.filter(delay_us=DELAY_US, interval_us=INTERVAL_US)
    long = here.filter(pl.col("class") == "long", pl.col("end_ms") <= length_ms)
    opened = here.filter(pl.col("class") == "long", pl.col("start_ms") < length_ms)
    percents = (10, 50, 90)
    goodputs = {
        name: [percentile(long.filter(algorithm=name), "goodput_gbps", p, "Gbps") for p in percents]
        for name in (*ALGORITHMS, WITHOUT)
    }
    left_out = {
        name: f"{100 * (1 - long.filter(algorithm=name).height / opened.filter(algorithm=name).height):.0f} %"
        for name in ALGORITHMS
    }
    across = [[goodputs[name][n].mean for name in ALGORITHMS] for n in range(len(percents))]
    apart = [max(means) / min(means) for means in across]
    return Claim(
        "The goodput of long flows is distributed almost identically across all schemes",
        "almost identical",
        "; ".join(
            f"{p}th percentile {listed((name, goodputs[name][n]) for name in ALGORITHMS)}"
            for n, p in enumerate(percents)
        ),
        all(ratio <= ALIKE for ratio in apart),
        f"long flows that ended within {length_ms} ms, which leaves out "
        f"{', '.join(f'{name} {share}' for name, share in left_out.items())}; holds when the largest is "
        f"at most {ALIKE} times the smallest at "
        f"each of the three percentiles; they are {', '.join(f'{ratio:.2f}' for ratio in apart)} times. AMP without "
        f"suppression: {listed((f'{p}th', goodputs[WITHOUT][n]) for n, p in enumerate(percents))}",
    )


def _plot_lengths(panel: Axes, rows: pl.DataFrame, percent: int) -> None:
    lengths = [ms for ms in LENGTHS_MS if ms <= _longest(rows)]
    for algorithm in ALGORITHMS:
        shown = SHOWN[algorithm]
        over = [_fct(rows, ms, percent, algorithm) for ms in lengths]
        means = [fct.mean for fct in over]
        reach = (
            # Rounding may put a mean just outside of equal values.
            [max(0.0, fct.mean - min(fct.values)) for fct in over],
            [max(0.0, max(fct.values) - fct.mean) for fct in over],
        )
        panel.errorbar(
            lengths,
            means,
            yerr=reach,
            label=shown.label,
            color=shown.colour,
            marker=shown.marker,
            capsize=3,
            linewidth=1,
        )
        open_ended = [(ms, fct.mean) for ms, fct in zip(lengths, over, strict=True) if fct.at_least]
        panel.plot(
            [ms for ms, _ in open_ended],
            [mean for _, mean in open_ended],
            shown.marker,
            color=shown.colour,
            markerfacecolor="white",
        )
        if algorithm in PAPER_MS[percent]:
            panel.axhline(PAPER_MS[percent][algorithm], color=shown.colour, linestyle=":", linewidth=1)
    panel.set_title(f"{percent}th percentile; dotted: the paper's")
    panel.set_xlabel("length of the simulation (ms)")
    panel.set_ylabel("FCT of short flows (ms)")
    panel.set_ylim(bottom=0)
    panel.grid(visible=True, alpha=0.3)
