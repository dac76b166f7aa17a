"""Figure 8 (section V.B): throughput of flows of 100 MB with 2 to 8 subflows.

The paper does not say which hosts send to which. Here every host of the fat-tree sends one flow to one other and
receives one, since throughput can grow with subflows only where paths differ. One seed shows section V's other
patterns: 8 senders to 1, which share the receiver's link, and 1 sender to 8, which share its own. Throughput is a
flow's goodput over the rate of its host's link. The paper does not give MMPTCP's number of subflows when AMP-FG has
two. In one reading it is two as well, in the other the largest number of the figure.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp_fg.settings import HOSTS, PORTS, QUICK_PORTS, SHOWN, experiment, fat_tree, transport
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds

PERMUTATION, MANY_TO_ONE, ONE_TO_MANY = "permutation", "8 senders to 1", "1 sender to 8"
MULTIPATH = ("lia", "xmp", "amp-fg")
MMPTCP = "mmptcp"
NEIGHBOURS, FLOOR = "amp-fg-neighbours", "amp-fg-floor-2"
"""Variants that are not in the figure: Algorithm 1's XOR, and AMP-FG with XMP's minimum window."""
SUBFLOWS = (2, 4, 6, 8)
MIN_SUBFLOWS, MAX_SUBFLOWS = SUBFLOWS[0], SUBFLOWS[-1]
SIZE_MB, QUICK_SIZE_MB = 100, 10
QUICK = f"a fat-tree of {QUICK_PORTS**3 // 4} hosts, flows of {QUICK_SIZE_MB} MB instead of {SIZE_MB} MB"
FAN = 8
"""Hosts at the wide end of the other patterns."""
AT_MOST_S = 60.0
"""Limit of simulated time, which flows do not reach."""
OVER_MMPTCP = 1.4
"""Percent by which AMP-FG with the fewest subflows is above MMPTCP in the paper."""
GAIN = (10, 35)
"""Range in percent by which AMP-FG is above the others in the paper."""
TOLERANCE = 5
"""Tolerance in percentage points for these numbers."""
SAME = 0.01
"""Relative distance up to which throughputs count as equal."""


def cases(scale: Scale) -> list[Case]:
    """Returns DCTCP's runs, and those of each multipath algorithm with each number of subflows.

    At full size there is also one seed of many-to-one and of one-to-many.
    """
    cells = [("dctcp", 1), *((name, n) for name in (*MULTIPATH, MMPTCP, NEIGHBOURS, FLOOR) for n in SUBFLOWS)]
    runs = [(PERMUTATION, *cell, seed) for cell in cells for seed in range(1, scale.seeds + 1)]
    if not scale.quick:
        runs += [(pattern, *cell, 1) for pattern in (MANY_TO_ONE, ONE_TO_MANY) for cell in cells]
    return [_case(*run, quick=scale.quick) for run in runs]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its throughput from 0 to 1, and its timeouts.

    The throughput is 0 if the end of the run cut the flow off.
    """
    ended = pl.when(pl.col("finish_s").is_not_null()).then(pl.col("goodput_bps") * 1e-9).otherwise(0.0)
    return result.flows.select(throughput=ended, timeouts="timeouts")


def plot(rows: pl.DataFrame) -> Plot:
    """Mean throughput by number of subflows, and the range of the seeds; DCTCP is a horizontal line."""
    here = rows.filter(pattern=PERMUTATION)
    plot = Plot(figsize=(5.4, 3.8), layout="constrained")
    axes = plot.subplots()
    for name in (*MULTIPATH, MMPTCP):
        means, reach = means_and_ranges(_mean(here, name, n) for n in SUBFLOWS)
        shown = SHOWN[name]
        axes.errorbar(
            SUBFLOWS, means, yerr=reach, label=shown.label, color=shown.colour, marker=shown.marker, capsize=3
        )
    axes.axhline(_mean(here, "dctcp", 1).mean, color=SHOWN["dctcp"].colour, linestyle="--", label="DCTCP, single path")
    axes.set(xticks=SUBFLOWS, ylim=(0, 1), xlabel="subflows", ylabel="normalised mean throughput")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title("Figure 8: long flows along a permutation")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section V.B.2, its three conclusions."""
    here = rows.filter(pattern=PERMUTATION)
    by_scheme = {name: {n: _mean(here, name, n) for n in SUBFLOWS} for name in (*MULTIPATH, MMPTCP, NEIGHBOURS, FLOOR)}
    dctcp = _mean(here, "dctcp", 1)
    others = [scheme for scheme in MULTIPATH if scheme != "amp-fg"]
    early, late = (
        {name: _rise(by_scheme[name], *ends) for name in MULTIPATH} for ends in (SUBFLOWS[:2], SUBFLOWS[-2:])
    )
    beside = [*others, MMPTCP]
    ratios = {(name, n): by_scheme["amp-fg"][n] / by_scheme[name][n] for name in beside for n in SUBFLOWS}
    ratios |= {("dctcp", n): by_scheme["amp-fg"][n] / dctcp for n in SUBFLOWS}
    gains = [100 * (ratio.mean - 1) for (name, _), ratio in ratios.items() if name != MMPTCP]
    over = _above(ratios[MMPTCP, MIN_SUBFLOWS])
    low, high = GAIN[0] - TOLERANCE, GAIN[1] + TOLERANCE
    needs = {name: _fewest(by_scheme["amp-fg"], by_scheme[name][MAX_SUBFLOWS]) for name in others}
    needed = [n for n in needs.values() if n is not None]
    return [
        Claim(
            "With more subflows all MPTCP protocols get a higher throughput",
            "higher",
            _by_number(by_scheme),
            all(_grows([by_scheme[name][n].mean for n in SUBFLOWS]) for name in MULTIPATH),
            f"mean over the flows, of the rate of a host's link; holds when {MAX_SUBFLOWS} subflows are above "
            f"{MIN_SUBFLOWS} and no "
            f"step lowers it by more than {SAME:.0%}, for each. DCTCP {dctcp}{_elsewhere(rows)}",
        ),
        Claim(
            "Beyond a certain number of subflows the throughput increases slowly",
            "slowly",
            f"from {MIN_SUBFLOWS} to {SUBFLOWS[1]} subflows {_named(early)}, from {SUBFLOWS[-2]} to {MAX_SUBFLOWS} "
            f"{_named(late)}",
            all(late[name].mean < early[name].mean / 2 for name in MULTIPATH),
            "growth; holds when the last step's is less than half of the first one's, for each",
        ),
        Claim(
            "Under the same number of subflows AMP-FG has the highest throughput",
            "highest",
            "over LIA's, XMP's and MMPTCP's "
            + "; ".join(f"{n} subflows {_ratios(ratios, beside, n)}" for n in SUBFLOWS),
            all(ratios[name, n].mean > 1 for name in beside for n in SUBFLOWS),
            f"ratio of the means; holds when all are above 1; with Algorithm 1's XOR AMP-FG has "
            f"{', '.join(f'{n}: {by_scheme[NEIGHBOURS][n]}' for n in SUBFLOWS)}, and with windows of at least 2 "
            f"packets, as XMP's are, {', '.join(f'{n}: {by_scheme[FLOOR][n]}' for n in SUBFLOWS)}. {_timeouts(here)}",
        ),
        Claim(
            f"With only {MIN_SUBFLOWS} subflows AMP-FG is {OVER_MMPTCP} % above MMPTCP",
            f"{OVER_MMPTCP} %",
            str(over),
            0 < over.mean <= OVER_MMPTCP + TOLERANCE,
            f"with as many of MMPTCP's; holds when it is above, by no more than {TOLERANCE} percentage points beyond. "
            f"In the other reading MMPTCP has {MAX_SUBFLOWS}: "
            f"{_above(by_scheme['amp-fg'][MIN_SUBFLOWS] / by_scheme[MMPTCP][MAX_SUBFLOWS])}",
        ),
        Claim(
            "AMP-FG's throughput is 10 % to 35 % above that of DCTCP, LIA and XMP",
            f"{GAIN[0]} to {GAIN[1]} %",
            f"{min(gains):.1f} to {max(gains):.1f} %",
            min(gains) >= low and max(gains) <= high,
            f"over numbers of subflows, DCTCP being a single path; holds within {TOLERANCE} percentage points",
            table=Table(
                ("over", *(f"{n} subflows" for n in SUBFLOWS)),
                tuple((SHOWN[name].label, *(str(ratios[name, n]) for n in SUBFLOWS)) for name in ("dctcp", *beside)),
            ),
        ),
        Claim(
            "AMP-FG needs fewer subflows for a similar throughput",
            "fewer",
            ", ".join(f"{SHOWN[name].label} with {MAX_SUBFLOWS}: {n or 'not reached'}" for name, n in needs.items()),
            len(needed) == len(others) and all(n < MAX_SUBFLOWS for n in needed),
            f"the fewest subflows with which AMP-FG is within {SAME:.0%} of the other's throughput with "
            f"{MAX_SUBFLOWS}; holds "
            "when fewer than that are enough for both",
        ),
        Claim(
            "AMP-FG has a higher throughput than LIA and XMP",
            "higher",
            "; ".join(
                f"over {SHOWN[name].label} {_range([ratios[name, n].mean for n in SUBFLOWS])}" for name in others
            ),
            all(ratios[name, n].mean > 1 for name in others for n in SUBFLOWS),
            f"the abstract; holds when it is higher with {MIN_SUBFLOWS} to {MAX_SUBFLOWS} subflows",
        ),
    ]


def _case(pattern: str, algorithm: str, subflows: int, seed: int, *, quick: bool) -> Case:
    size = f"{QUICK_SIZE_MB if quick else SIZE_MB}MB"
    pairs: dict[str, Any] = {"pairs": "permutation"}
    if pattern != PERMUTATION:
        *many, one = (f"h{host}" for host in random.Random(seed).sample(range(HOSTS), FAN + 1))  # noqa: S311 - not a secret
        pairs = {"from": many, "to": one} if pattern == MANY_TO_ONE else {"from": one, "to": many}
    spec = experiment(
        f"{algorithm}-{subflows}",
        topology=fat_tree(QUICK_PORTS if quick else PORTS),
        seconds=AT_MOST_S,
        transports={algorithm: transport(algorithm, subflows)},
        traffic=[{"kind": "bulk", "name": "long", "transport": algorithm, "size": size, **pairs}],
    )
    return Case({"pattern": pattern, "algorithm": algorithm, "subflows": subflows}, spec, seed)


def _mean(rows: pl.DataFrame, algorithm: str, subflows: int) -> SeedSummary:
    return over_seeds(rows.filter(algorithm=algorithm, subflows=subflows), pl.col("throughput").mean())


def _grows(means: list[float]) -> bool:
    """Returns true if the last mean is above the first and no step goes down."""
    return means[-1] > means[0] and all(after >= (1 - SAME) * before for before, after in pairwise(means))


def _above(ratio: SeedSummary) -> SeedSummary:
    return SeedSummary(tuple(100 * (value - 1) for value in ratio.values), "%")


def _rise(by_subflows: dict[int, SeedSummary], few: int, many: int) -> SeedSummary:
    return _above(by_subflows[many] / by_subflows[few])


def _fewest(by_subflows: dict[int, SeedSummary], enough: SeedSummary) -> int | None:
    """Returns the smallest number of subflows with that throughput."""
    return next((n for n in SUBFLOWS if by_subflows[n].mean >= (1 - SAME) * enough.mean), None)


def _ratios(ratios: dict[tuple[str, int], SeedSummary], names: list[str], n: int) -> str:
    return ", ".join(str(ratios[name, n]) for name in names)


def _by_number(by_scheme: dict[str, dict[int, SeedSummary]]) -> str:
    return "; ".join(
        f"{SHOWN[scheme].label} {', '.join(f'{n}: {by_scheme[scheme][n]}' for n in SUBFLOWS)}" for scheme in MULTIPATH
    )


def _named(spreads: dict[str, SeedSummary]) -> str:
    return listed((SHOWN[name].label, spread) for name, spread in spreads.items())


def _timeouts(rows: pl.DataFrame) -> str:
    """Formats the share of flows with a timeout by number of subflows, for each algorithm."""
    late = {scheme: {n: _late(rows, scheme, n) for n in SUBFLOWS} for scheme in MULTIPATH}
    return f"Flows with a timeout: {_by_number(late)}"


def _late(rows: pl.DataFrame, algorithm: str, subflows: int) -> SeedSummary:
    here = rows.filter(algorithm=algorithm, subflows=subflows)
    return over_seeds(here, 100 * (pl.col("timeouts") > 0).mean(), "%")


def _elsewhere(rows: pl.DataFrame) -> str:
    """Formats the throughput of the other patterns, of those that were run."""
    found = ""
    for pattern in (MANY_TO_ONE, ONE_TO_MANY):
        here = rows.filter(pattern=pattern)
        if not here.is_empty():
            means = {scheme: {n: _mean(here, scheme, n) for n in SUBFLOWS} for scheme in MULTIPATH}
            found += f"; with {pattern} {_by_number(means)}"
    return found


def _range(ratios: Sequence[float]) -> str:
    return f"{digits(min(ratios))} to {digits(max(ratios))}"
