"""Figure 13 (section 5.3): half of the hosts send long flows, the others short DCTCP flows, along a permutation.

Every host sends to one other and receives from one other. Half of the hosts, drawn at random, have one long flow each
for the whole run. The others open short flows at the times of a Poisson process; their sizes are uniform from 1 KB to
1 MB.

The rate of 256 per second is that of all hosts together, as in the source of the authors' simulator. The text can be
read as the rate of each host, which is 64 times higher; that reading is run as well. A run of the paper's 10 s takes
some 5 minutes, and most of the randomness is in the permutation. So the first seed has 10 s, too, and the claims are
judged by runs of `SECONDS` with every seed. Their notes have the results of the other runs.

The text's "other combinations" swap the two: DCTCP for long flows and a multipath protocol for short ones. They run
with the first seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.sweeps.cases import Case
from weft_papers.amp.fat_tree import DELAY_US, HOSTS, OTHER_DELAY_US, beta_warning, fat_tree, plot_cdf
from weft_papers.amp.settings import BY_SENDER, PAPER_FCT_MS, SHOWN, transport, unfinished_ms
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, percentile

ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
MULTIPATH = ("amp", "xmp", "dcm")
CONSTANT = "dcm-constant-cut"
"""A variant that is not in the paper: DCM with a cut by a quarter instead of DCTCP's, to explain DCM's longer queues.
"""
SHORT_FLOWS = 256
"""Arrivals per second of all hosts that send short flows."""
SENDERS = HOSTS // 2
"""Number of hosts that send short flows."""
PAPER_SECONDS = 10.0
SECONDS = 2.0
QUICK_SECONDS = 0.15
QUICK = f"{QUICK_SECONDS} s simulated instead of {SECONDS:.0f} s and {PAPER_SECONDS:.0f} s, links of 2 us only"
STAGES = ("host-tor", "tor-agg", "agg-core")
ALIKE = 1.1
"""Ratio up to which goodputs, utilisations and percentiles of the FCT differ little."""
LONGER = 1.1
"""Ratio from which an FCT counts as longer."""
TENTH = (5, 20)
"""Range in percent of the flows that counts as about 10 %."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm for the long flows.

    The first seed also has longer runs, links of 5 us, and more short flows.
    """
    each = SENDERS * SHORT_FLOWS
    others = [
        (DELAY_US, PAPER_SECONDS, SHORT_FLOWS, 1),
        (OTHER_DELAY_US, SECONDS, SHORT_FLOWS, 1),
        (DELAY_US, SECONDS, each, 1),
    ]
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    judged = [(DELAY_US, seconds, SHORT_FLOWS, seed) for seed in range(1, scale.seeds + 1)]
    return [
        *(_case(name, *run) for run in judged for name in (*ALGORITHMS, CONSTANT)),
        *(_case(name, *run) for run in others if not scale.quick for name in ALGORITHMS),
        *(_case("dctcp", *judged[0], short=name) for name in MULTIPATH if not scale.quick),
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per value: its name `what`, its `value`, and for a utilisation the stage and direction.

    The FCT of a flow that the end of the run cut off is null, and `at_least` is the time that it had taken.
    """
    flows = result.flows
    fct = flows.filter(traffic="short").select(
        what=pl.lit("fct_ms"), value=PAPER_FCT_MS, at_least=unfinished_ms(result.manifest["end_s"])
    )
    rows = (
        # A flow that was to open after the end of the run has neither.
        fct.filter(pl.col("value").is_not_null() | pl.col("at_least").is_not_null()),
        flows.filter(traffic="long").select(what=pl.lit("goodput_gbps"), value=pl.col("goodput_bps") * 1e-9),
        stats.utilisation(result.links).select("stage", "direction", what=pl.lit("utilisation"), value=pl.col("mean")),
    )
    return pl.concat(rows, how="diagonal").select("what", "stage", "direction", "value", "at_least")


def plot(rows: pl.DataFrame) -> Plot:
    """CDFs of the short flows' FCT and of the long flows' goodput, and utilisation by stage, as in the paper."""
    here = _judged(rows)
    plot = Plot(figsize=(12, 3.8), layout="constrained")
    short, long, stages = plot.subplots(1, 3)
    plot_cdf(short, here.filter(what="fct_ms"), "value", ALGORITHMS, at_least="at_least")
    short.set(title="(a) short flows", xlabel="FCT (ms)")
    short.legend(frameon=False)
    plot_cdf(long, here.filter(what="goodput_gbps"), "value", ALGORITHMS, up_to=100)
    long.set(title="(b) long flows", xlabel="goodput (Gbps)")
    _plot_utilisation(stages, here)
    plot.suptitle("Figure 13: short DCTCP flows, long flows by each algorithm")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.3, "General workload", sentence by sentence."""
    here = _judged(rows)
    mean = {name: _mean_fct(here, name) for name in ALGORITHMS}
    p90 = {name: _fct(here, name, 90) for name in ALGORITHMS}
    goodput = {name: _goodput(here, name) for name in ALGORITHMS}
    fct = f"means {listed(mean.items())}; 90th percentiles {listed(p90.items())}"
    percentiles = "; ".join(
        f"{p}th percentile {listed((name, _fct(here, name, p)) for name in ALGORITHMS)}" for p in (50, 99)
    )
    return [
        Claim(
            "(a) Short flows achieve the best FCT when AMP and XMP are used for long flows",
            "best with AMP and XMP",
            fct,
            all(
                max(fcts[name].mean for name in ("amp", "xmp")) < min(fcts[name].mean for name in ("dcm", "dctcp"))
                for fcts in (mean, p90)
            ),
            "holds when with AMP and with XMP both the mean and the 90th percentile are below those with DCM and "
            f"DCTCP; {percentiles}; {_elsewhere(rows, _mean_fcts)}. Cut off by the run's end: {_cut_off(here)} of the "
            f"short flows, which count with the time that they had taken. {BY_SENDER}",
        ),
        Claim(
            "(a) The FCT of short flows is worst when DCTCP is used for long flows",
            "worst with DCTCP",
            fct,
            all(fcts["dctcp"].mean > max(fcts[name].mean for name in MULTIPATH) for fcts in (mean, p90)),
            "holds when with DCTCP both the mean and the 90th percentile are above those with all others; "
            f"{_elsewhere(rows, _mean_fcts)}",
        ),
        _slower_tenth(rows),
        Claim(
            "(b) The long flows of AMP and XMP show little difference in goodput",
            "little difference",
            listed((name, goodput[name]) for name in ("amp", "xmp")),
            _apart(goodput[name].mean for name in ("amp", "xmp")) <= ALIKE,
            f"mean over the long flows; holds when they are within a factor of {ALIKE}; {_elsewhere(rows, _goodputs)}",
        ),
        Claim(
            "(b) DCM achieves the best goodput",
            "best",
            listed(goodput.items()),
            goodput["dcm"].mean > max(goodput[name].mean for name in ALGORITHMS if name != "dcm"),
            f"mean over the long flows; holds when DCM's is the highest; {_elsewhere(rows, _goodputs)}",
        ),
        Claim(
            "(b) DCTCP for long flows yields the worst goodput",
            "worst",
            listed(goodput.items()),
            goodput["dctcp"].mean < min(goodput[name].mean for name in MULTIPATH),
            f"mean over the long flows; holds when DCTCP's is the lowest; {_elsewhere(rows, _goodputs)}",
        ),
        _utilisation(here),
        *_swapped(rows),
    ]


def _case(algorithm: str, delay_us: int, seconds: float, short_flows: int, seed: int, *, short: str = "dctcp") -> Case:
    long_pairs, short_pairs = _pairs(seed)
    experiment = fat_tree(
        f"short-beside-{algorithm}",
        duration=f"{seconds}s",
        delay_us=delay_us,
        transports={"short": transport(short), "long": transport(algorithm)},
        traffic=[
            {"kind": "bulk", "name": "long", "transport": "long", "pairs": long_pairs},
            {
                "kind": "poisson",
                "name": "short",
                "transport": "short",
                "pairs": short_pairs,
                "rate": short_flows / SENDERS,
                "size": {"kind": "uniform", "min": "1KiB", "max": "1MiB"},
            },
        ],
    )
    labels: dict[str, str | int | float] = {
        "delay_us": delay_us,
        "seconds": seconds,
        "short_flows": short_flows,
        "algorithm": algorithm,
        "short": short,
    }
    return Case(labels, experiment, seed)


def _pairs(seed: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns a permutation of all hosts without fixed points, in two halves drawn at random."""
    draw = random.Random(seed)  # noqa: S311 - an experiment, not a secret
    hosts = list(range(HOSTS))
    receivers = draw.sample(hosts, HOSTS)
    while any(host == receiver for host, receiver in zip(hosts, receivers, strict=True)):
        receivers = draw.sample(hosts, HOSTS)
    pairs = draw.sample(list(zip(hosts, receivers, strict=True)), HOSTS)
    return sorted(pairs[: HOSTS // 2]), sorted(pairs[HOSTS // 2 :])


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("seconds") < PAPER_SECONDS, delay_us=DELAY_US, short_flows=SHORT_FLOWS, short="dctcp")


def _swapped(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims about short multipath flows and long DCTCP flows; none if they were not run."""
    swapped = rows.filter(pl.col("short") != "dctcp")
    if swapped.is_empty():
        return []
    base = _judged(rows).filter(algorithm="dctcp", seed=rows["seed"].min())
    fct = {name: _mean_fct(swapped.filter(short=name), "dctcp") for name in MULTIPATH}
    goodput = {name: _goodput(swapped.filter(short=name), "dctcp") for name in MULTIPATH}
    base_fct, base_goodput = _mean_fct(base, "dctcp"), _goodput(base, "dctcp")
    return [
        Claim(
            "DCTCP for long flows and a multipath protocol for short ones differ little from DCTCP for both",
            "no significant difference",
            f"mean FCT {listed(fct.items())}, DCTCP {base_fct}; goodput {listed(goodput.items())}, DCTCP "
            f"{base_goodput}",
            all(_apart((fct[n].mean, base_fct.mean)) <= ALIKE for n in MULTIPATH)
            and all(_apart((goodput[n].mean, base_goodput.mean)) <= ALIKE for n in MULTIPATH),
            f"one seed; holds when each mean FCT and goodput is within a factor of {ALIKE} of DCTCP's for both",
        )
    ]


def _fct(rows: pl.DataFrame, algorithm: str, percent: int) -> SeedSummary:
    return percentile(_short(rows, algorithm), "value", percent, "ms", at_least="at_least")


def _mean_fct(rows: pl.DataFrame, algorithm: str) -> SeedSummary:
    short = _short(rows, algorithm)
    mean = over_seeds(short, pl.coalesce("value", "at_least").mean(), "ms")
    return replace(mean, at_least=short["value"].null_count() > 0)


def _short(rows: pl.DataFrame, algorithm: str) -> pl.DataFrame:
    return rows.filter(what="fct_ms", algorithm=algorithm)


def _cut_off(rows: pl.DataFrame) -> str:
    shares = {name: over_seeds(_short(rows, name), 100 * pl.col("value").is_null().mean(), "%") for name in ALGORITHMS}
    return listed(shares.items())


def _goodput(rows: pl.DataFrame, algorithm: str) -> SeedSummary:
    return over_seeds(rows.filter(what="goodput_gbps", algorithm=algorithm), pl.col("value").mean(), "Gbps")


def _mean_fcts(rows: pl.DataFrame) -> str:
    return listed((name, _mean_fct(rows, name)) for name in ALGORITHMS)


def _goodputs(rows: pl.DataFrame) -> str:
    return listed((name, _goodput(rows, name)) for name in ALGORITHMS)


def _elsewhere(rows: pl.DataFrame, statistic: Callable[[pl.DataFrame], str]) -> str:
    """Formats the results with the paper's duration and with the other link delay, if these were run."""
    runs = [
        (f"{PAPER_SECONDS:.0f} s of one seed", rows.filter(seconds=PAPER_SECONDS)),
        (
            f"links of {OTHER_DELAY_US} us and one seed{beta_warning(OTHER_DELAY_US)}",
            rows.filter(delay_us=OTHER_DELAY_US),
        ),
        (
            f"{SHORT_FLOWS} flows per second of each host and one seed",
            rows.filter(pl.col("short_flows") > SHORT_FLOWS),
        ),
    ]
    others = [f"; with {name} {statistic(other)}" for name, other in runs if not other.is_empty()]
    return f"links of {DELAY_US} us{''.join(others)}"


def _slower_tenth(rows: pl.DataFrame) -> Claim:
    here = _judged(rows)
    slower = {name: _slower_share(here, name) for name in ("dcm", CONSTANT)}
    means = listed((name, _mean_fct(here, name)) for name in ("amp", "dcm", CONSTANT))
    return Claim(
        "(a) With long DCM flows about 10 % of the short flows obtain longer FCTs than with long AMP flows",
        "about 10 %",
        str(slower["dcm"]),
        TENTH[0] <= slower["dcm"].mean <= TENTH[1],
        "share of the percentiles, from the 99th down without a gap, at which the FCT with DCM is over "
        f"{LONGER} times that with AMP; holds from {TENTH[0]} to {TENTH[1]} %. With a cut by a quarter in place of "
        f"DCTCP's, which is smaller the fewer packets are marked, and all else of DCM it is {slower[CONSTANT]}; mean "
        f"FCTs {means}; {_elsewhere(rows, _dcm_slower)}",
    )


def _slower_share(rows: pl.DataFrame, algorithm: str) -> SeedSummary:
    """Returns the percentage of short flows, the slowest ones, that take clearly longer than with AMP."""
    percents = range(1, 100)
    beside = {
        name: stats.percentiles(_short(rows, name), "value", percents, by="seed", at_least="at_least")
        for name in ("amp", algorithm)
    }
    shares = []
    for amp, other in zip(beside["amp"].iter_rows(), beside[algorithm].iter_rows(), strict=True):
        # The first column is the seed; the flags of lower bounds follow the percentiles.
        clearly = [b > LONGER * a for a, b in zip(amp[1:100], other[1:100], strict=True)]
        shares.append(float((*reversed(clearly), False).index(False)))
    return SeedSummary(tuple(shares), "%")


def _dcm_slower(rows: pl.DataFrame) -> str:
    return str(_slower_share(rows, "dcm"))


def _utilisation(rows: pl.DataFrame) -> Claim:
    used = {
        stage: {
            name: over_seeds(
                rows.filter(what="utilisation", stage=stage, algorithm=name), 100 * pl.col("value").mean(), "%"
            )
            for name in ALGORITHMS
        }
        for stage in STAGES
    }
    apart = {stage: _apart(used[stage][name].mean for name in MULTIPATH) for stage in STAGES}
    return Claim(
        "(c) The multipath schemes perform equally well in utilisation at all layers",
        "equal",
        "; ".join(f"{stage} {listed(shares.items())}" for stage, shares in used.items()),
        all(ratio <= ALIKE for ratio in apart.values()),
        f"mean over the links of both directions; holds when AMP, XMP and DCM are within a factor of {ALIKE} at each "
        f"stage: {', '.join(f'{stage} {ratio:.3f}' for stage, ratio in apart.items())}",
    )


def _apart(values: Iterable[float]) -> float:
    every = list(values)
    return max(every) / min(every)


def _plot_utilisation(panel: Axes, rows: pl.DataFrame) -> None:
    width = 0.8 / len(ALGORITHMS)
    for index, algorithm in enumerate(ALGORITHMS):
        here = rows.filter(what="utilisation", algorithm=algorithm)
        means = [here.filter(stage=stage).select(pl.col("value").mean()).item() for stage in STAGES]
        at = [n + width * (index - (len(ALGORITHMS) - 1) / 2) for n in range(len(STAGES))]
        panel.bar(at, means, width, label=SHOWN[algorithm].label, color=SHOWN[algorithm].colour)
    panel.set_xticks(range(len(STAGES)), STAGES)
    panel.set(title="(c) utilisation", ylabel="mean over links")
    panel.set_axisbelow(True)
    panel.grid(visible=True, axis="y", alpha=0.3)
