"""Figure 7 (section 3.2): 20 long flows per host, linked increases against independent TCP on each subflow.

The numbers of subflows and the duration were chosen, since the paper does not give them. It also does not say whether
a host's 20 flows go to one other host, as here, or each to another. One seed shows the latter, Linux's TCP, and an
RTO of at least 10 ms.

Loss is that of the links between switches and to hosts. Drops at a host's own port are congestion of the host and not
of the network; the notes have them. Loss and timeouts are those after slow start. A run counts the timeouts of flows
from its beginning. So each run has a second one that ends when slow start is over, and its timeouts are subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.fat_tree import OPENING, PORTS, PROFILE, QUICK_PORTS, fat_tree, transport
from weft_papers.seed_summary import SeedSummary, means_and_ranges, over_seeds

ALGORITHMS = {"linked": "lia", "independent": "uncoupled"}
LABELS = {"linked": "linked increases", "independent": "independent TCP"}
COLOURS = {"linked": "#cc79a7", "independent": "#444444"}
SUBFLOWS = (1, 2, 4, 6, 8)
QUICK_SUBFLOWS = (1, 8)
FLOWS = 20
SECONDS, WARM_UP_S = 2.0, 1.0
QUICK_SECONDS, QUICK_WARM_UP_S = 1.0, 0.5
QUICK = f"a fat-tree of {QUICK_PORTS**3 // 4} hosts, {QUICK_SECONDS:.0f} s, {len(QUICK_SUBFLOWS)} numbers of subflows"
PAPER = "paper"
"""The reading of the claims."""
OTHERS = {
    "linux": "Linux's TCP",
    "rto": "an RTO of at least 10 ms",
    "spread": "each of a host's flows to another host",
}
"""Other readings, run with one seed at the smallest and largest number of subflows."""
PARTS = ("all", "slow-start")
"""Runs: the whole one, and the one that ends when slow start is over."""
ALIKE = 1.1
"""Ratio to a single path's loss up to which loss is not more."""
GROWS = 1.25
"""Ratio to a single path's loss from which loss grows."""
LITTLE = 2.0
"""Ratio to a single path's timeouts up to which there are a little more."""
PER_SUBFLOW = False
"""Whether the probability of a timeout is that of a subflow, not of a connection."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of both algorithms for each number of subflows; at full size one seed of the other readings."""
    seeds = range(1, scale.seeds + 1)
    numbers = QUICK_SUBFLOWS if scale.quick else SUBFLOWS
    cells = [(PAPER, name, n, seed) for name in ALGORITHMS for n in numbers for seed in seeds]
    if not scale.quick:
        ends = (SUBFLOWS[0], SUBFLOWS[-1])
        cells += [(reading, name, n, 1) for reading in OTHERS for name in ALGORITHMS for n in ends]
    return [_case(*cell, part, quick=scale.quick) for cell in cells for part in PARTS]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: loss in percent (mean and maximum over links, and of the hosts' ports) and timeouts.

    `small` is the share of subflows with a window below four packets at the end.
    """
    of_hosts = pl.col("layer").str.starts_with("host")
    switches = stats.loss(result.links.filter(~of_hosts), by="link")
    hosts = stats.loss(result.links.filter(of_hosts))
    return pl.DataFrame(
        {
            "mean_loss": 100 * switches["loss"].mean(),  # type: ignore[operator]
            "max_loss": 100 * switches["loss"].max(),  # type: ignore[operator]
            "host_loss": 100 * hosts["loss"][0],
            "timeouts": int(result.flows["timeouts"].sum()),
            "small": (result.subflows["cwnd_packets"] < 4).mean(),
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """(a) loss rate, mean (filled) and maximum (hollow) over links, and (b) timeouts, by number of subflows."""
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    for name in ALGORITHMS:
        _line(left, name, {n: _loss(rows, "mean", name, n) for n in _numbers(rows)}, LABELS[name])
        _line(left, name, {n: _loss(rows, "max", name, n) for n in _numbers(rows)}, None)
        _line(right, name, {n: _timeouts(rows, name, n) for n in _numbers(rows)}, LABELS[name])
    left.set(yscale="log", ylabel="loss rate (%)", title="(a) loss of links: mean, maximum (hollow)")
    right.set(ylabel="retransmission timeouts", title="(b) timeouts")
    for axes in (left, right):
        axes.set_xlabel("subflows")
        axes.grid(visible=True, alpha=0.3)
    left.legend(frameon=False)
    plot.suptitle(f"Figure 7: {FLOWS} long flows per host")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.2, "Multipath TCP vs Multiple TCP connections"."""
    return [
        _no_more(rows, "mean"),
        _no_more(rows, "max"),
        _congested(rows),
        _many_timeouts(rows),
        _a_little(rows),
    ]


def _case(reading: str, algorithm: str, subflows: int, seed: int, part: str, *, quick: bool) -> Case:
    bulk: dict[str, Any] = {"kind": "bulk", "pairs": "permutation", "transport": algorithm, "jitter": OPENING}
    profile = "linux" if reading == "linux" else PROFILE
    tcp = {"min_rto": "10ms"} if reading == "rto" else {}
    seconds, warm_up = (QUICK_SECONDS, QUICK_WARM_UP_S) if quick else (SECONDS, WARM_UP_S)
    experiment = fat_tree(
        f"{algorithm}-{subflows}",
        seconds=seconds if part == "all" else warm_up,
        warm_up=warm_up if part == "all" else 0.0,
        ports=QUICK_PORTS if quick else PORTS,
        transports={algorithm: transport(ALGORITHMS[algorithm], subflows, profile=profile, tcp=tcp)},
        # Each entry has a permutation of its own.
        traffic=[bulk] * FLOWS if reading == "spread" else [bulk | {"count": FLOWS}],
    )
    return Case({"reading": reading, "algorithm": algorithm, "subflows": subflows, "part": part}, experiment, seed)


def _of(
    rows: pl.DataFrame, algorithm: str, subflows: int, column: str, unit: str = "", reading: str = PAPER
) -> SeedSummary:
    here = rows.filter(reading=reading, algorithm=algorithm, subflows=subflows, part="all")
    return over_seeds(here, pl.col(column).first(), unit)


def _loss(rows: pl.DataFrame, kind: str, algorithm: str, subflows: int, reading: str = PAPER) -> SeedSummary:
    return _of(rows, algorithm, subflows, f"{kind}_loss", "%", reading)


def _timeouts(rows: pl.DataFrame, algorithm: str, subflows: int, reading: str = PAPER) -> SeedSummary:
    here = rows.filter(reading=reading, algorithm=algorithm, subflows=subflows)
    both, start = (pl.col("timeouts").filter(part=part).first() for part in PARTS)
    return over_seeds(here, both - start)


def _numbers(rows: pl.DataFrame) -> list[int]:
    return rows.filter(reading=PAPER)["subflows"].unique().sort().to_list()


def _listed(rows: pl.DataFrame, one: Callable[[int], SeedSummary]) -> str:
    return ", ".join(f"{n}: {one(n)}" for n in _numbers(rows))


def _elsewhere(rows: pl.DataFrame, one: Callable[[str, int], SeedSummary]) -> str:
    """Formats the ratio of the largest number of subflows to a single path in the other readings."""
    found = {value for value in rows["reading"].unique() if value != PAPER}
    ratios = (
        f"with {words} {one(value, SUBFLOWS[-1]) / one(value, 1)}" for value, words in OTHERS.items() if value in found
    )
    text = ", ".join(ratios)
    return f"; {SUBFLOWS[-1]} subflows over a single path {text}" if text else ""


def _no_more(rows: pl.DataFrame, kind: str) -> Claim:
    first, *_, last = _numbers(rows)
    ratio = _loss(rows, kind, "linked", last) / _loss(rows, kind, "linked", first)
    ports = f"hosts' own ports: {_listed(rows, lambda n: _of(rows, 'linked', n, 'host_loss', '%'))}"
    return Claim(
        f"(a) Linked increases do not increase the network's load: {'mean' if kind == 'mean' else 'maximum'} loss rate",
        "no increase",
        f"subflows {_listed(rows, lambda n: _loss(rows, kind, 'linked', n))}",
        ratio.mean <= ALIKE,
        f"over the links from switches, after slow start; holds when with {last} subflows it is at "
        f"most {ALIKE} times that of a single path: {ratio}; {ports}"
        + _elsewhere(rows, lambda reading, n: _loss(rows, kind, "linked", n, reading)),
    )


def _congested(rows: pl.DataFrame) -> Claim:
    losses = [_loss(rows, "mean", "independent", n) for n in _numbers(rows)]
    falls = any(after.mean < before.mean / ALIKE for before, after in pairwise(losses))
    ratio = losses[-1] / losses[0]
    most = _listed(rows, lambda n: _loss(rows, "max", "independent", n))
    return Claim(
        "(a) Independent congestion control lets the network become increasingly congested with more subflows",
        "increasing",
        f"mean loss, subflows {_listed(rows, lambda n: _loss(rows, 'mean', 'independent', n))}; maximum {most}",
        ratio.mean >= GROWS and not falls,
        f"holds when the mean with {_numbers(rows)[-1]} subflows is at least {GROWS} times that of a single path, here "
        f"{ratio}, and no step lowers it by more than a factor of {ALIKE}"
        + _elsewhere(rows, lambda reading, n: _loss(rows, "mean", "independent", n, reading)),
    )


def _many_timeouts(rows: pl.DataFrame) -> Claim:
    several = _numbers(rows)[1:]
    ratios = {n: _timeouts(rows, "independent", n) / _timeouts(rows, "linked", n) for n in several}
    return Claim(
        "(b) Independent TCP suffers many timeouts",
        "many",
        f"independent {_listed(rows, lambda n: _timeouts(rows, 'independent', n))}; "
        f"linked {_listed(rows, lambda n: _timeouts(rows, 'linked', n))}",
        all(ratio.mean >= GROWS for ratio in ratios.values()),
        f"holds when they are at least {GROWS} times those with linked increases for every number of subflows above 1: "
        + ", ".join(f"{n}: {ratio}" for n, ratio in ratios.items()),
    )


def _a_little(rows: pl.DataFrame) -> Claim:
    first, *_, last = _numbers(rows)
    ratio = _timeouts(rows, "linked", last) / _timeouts(rows, "linked", first)
    if PER_SUBFLOW:
        ratio = SeedSummary(tuple(value * first / last for value in ratio.values))
    independent = _timeouts(rows, "independent", last) / _timeouts(rows, "independent", first)
    small = {n: _of(rows, "linked", n, "small").mean for n in (first, last)}
    return Claim(
        "(b) With linked increases the probability of a timeout increases a little with more subflows",
        "a little",
        f"timeouts with {last} subflows over those of a single path: {ratio}",
        1 < ratio.mean <= LITTLE,
        f"holds above 1 and up to {LITTLE:.0f}; independent TCP {independent}. At the end {small[first]:.0%} of the "
        f"windows of a single path are below the four packets that fast retransmit needs, and {small[last]:.0%} with "
        f"{last} subflows, of which there are {digits(last / first)} times as many"
        + _elsewhere(rows, lambda reading, n: _timeouts(rows, "linked", n, reading)),
    )


def _line(axes: Axes, algorithm: str, spreads: Mapping[int, SeedSummary], label: str | None) -> None:
    """Draws the means and ranges of the seeds; markers are hollow without a label."""
    means, reach = means_and_ranges(spreads.values())
    axes.errorbar(
        list(spreads),
        means,
        yerr=reach,
        label=label,
        color=COLOURS[algorithm],
        marker="o",
        markerfacecolor=COLOURS[algorithm] if label else "white",
        capsize=3,
        linewidth=1,
    )
