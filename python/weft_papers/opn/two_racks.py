"""The common setting of figures 10 and 11: flows from one rack to another over 20 paths.

The paper does not say when the flows open. Two readings are run: all flows open within a millisecond, or they are
spread over the time in which 80 % of the paths' rate carries them. The first reading is judged: in the second, losses
are rare, and the paper explains its numbers by losses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from weft import Result, reordering
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.opn.settings import (
    COLOURS,
    GBPS,
    HOSTS_PER_LEAF,
    LABELS,
    MORE,
    MSS,
    OPNS,
    SCHEMES,
    SPINES,
    WITH,
    experiment,
)
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds

AT_ONCE, SPREAD = "at once", "spread"
WITHIN_MS = 1.0
LOAD = 0.8
AT_MOST_S = 30.0
"""Limit of simulated time; the last flow ends before it."""
QUICK_PART = 4
"""Divisor of the number of flows in the quick version, which has every fourth flow."""
QUICK = "the schemes of the plot only, every fourth flow"
ARRIVALS = {"probes": [{"kind": "packets", "at": ["leaf-host"]}]}
"""Fields of a spec that `reordered` needs."""
NAMES = (*SCHEMES, *MORE)
FEWER = 0.1
"""Part by which OPN has to have fewer flows with a timeout to reduce their probability."""
UP_TO, POINTS = 50, 5
"""Percent by which the abstract's OPN is below MPTCP at most, and the tolerance in percentage points."""


def opens_ms(packets: float) -> dict[str, float]:
    """Returns the time over which flows with `packets` packets in all open, by reading."""
    return {AT_ONCE: WITHIN_MS, SPREAD: round(packets * (MSS + 40) * 8 / (SPINES * GBPS * 1e6) / LOAD)}


def cases(
    sizes: Callable[[int], Sequence[int]], opens: dict[str, float], scale: Scale, more: dict[str, Any] | None = None
) -> list[Case]:
    """Returns runs of each scheme and each reading of when flows open.

    The seed draws flows' packets; `more` are fields of a spec.
    """
    part = QUICK_PART if scale.quick else 1
    return [
        _case(sizes(seed)[::part], opening, longest if opening == AT_ONCE else longest / part, name, seed, more)
        for opening, longest in opens.items()
        for name in (SCHEMES if scale.quick else NAMES)
        for seed in range(1, scale.seeds + 1)
    ]


def between_racks(sizes: Iterable[int], seed: int) -> list[tuple[int, int, int]]:
    """Returns flows of these sizes in packets.

    The first rack's hosts send in turn, each flow to a host of the second rack that is drawn for it.
    """
    draw = random.Random(seed)  # noqa: S311 - not a secret
    hosts = HOSTS_PER_LEAF
    return [(index % hosts, hosts + draw.randrange(hosts), size) for index, size in enumerate(sizes)]


def reordered(result: Result) -> pl.DataFrame:
    """Returns each flow's packets that arrived and those reordered (RFC 4737), within its subflows and in its data."""
    found = []
    for within in ("subflow", "connection"):
        summary = reordering.summary(reordering.arrivals(result.packets, within), by="flow")
        found.append(summary.select("flow", pl.col("packets", "reordered").name.suffix(f"_{within}")))
    return found[0].join(found[1], on="flow")


def names(rows: pl.DataFrame) -> list[str]:
    """Returns the schemes that have rows."""
    found = set(rows["scheme"].unique())
    return [name for name in NAMES if name in found]


def late(rows: pl.DataFrame) -> SeedSummary:
    """Returns the percentage of flows with a timeout."""
    return over_seeds(rows, 100 * (pl.col("timeouts") > 0).mean(), "%")


def abstract(rows: pl.DataFrame, means: Mapping[str, SeedSummary], subject: str) -> list[Claim]:
    """Returns the claims of the paper's abstract, for each of OPN's timers.

    Args:
        rows: The flows of all schemes in one reading of when they open.
        means: Mean FCT of OPN with each timer and of MPTCP.
        subject: The mean FCT in words.
    """
    found = []
    for name in OPNS:
        timeouts = {scheme: late(rows.filter(scheme=scheme)) for scheme in (name, "mptcp")}
        below = SeedSummary(tuple(100 * (1 - ratio) for ratio in (means[name] / means["mptcp"]).values), "%")
        found += [
            Claim(
                f"OPN reduces the probability of timeouts, {WITH[name]}",
                "reduces",
                f"flows with a timeout: {listed((LABELS[scheme], value) for scheme, value in timeouts.items())}",
                timeouts[name].mean < (1 - FEWER) * timeouts["mptcp"].mean,
                f"the abstract; holds when it is less than {1 - FEWER:.0%} of MPTCP's percentage",
            ),
            Claim(
                f"{subject} is up to 50 % below that of MPTCP, {WITH[name]}",
                "up to 50 %",
                str(below),
                below.mean >= UP_TO - POINTS,
                f"the abstract; holds from {UP_TO - POINTS} % on, so that this figure has the reduction",
            ),
        ]
    return found


def out_of_order(rows: pl.DataFrame, within: str) -> SeedSummary:
    """Returns the percentage of packets that arrive reordered."""
    return over_seeds(rows, 100 * pl.col(f"reordered_{within}").sum() / pl.col(f"packets_{within}").sum(), "%")


def bars(axes: Axes, title: str, values: dict[str, SeedSummary]) -> None:
    """Draws one bar per scheme, and the range of the seeds."""
    means, reach = means_and_ranges(values.values())
    labels, colours = [LABELS[name] for name in values], [COLOURS[name] for name in values]
    axes.bar(labels, means, yerr=reach, color=colours, capsize=3)
    axes.set_title(title, fontsize="medium")
    axes.tick_params(axis="x", labelsize="small")
    axes.grid(visible=True, axis="y", alpha=0.3)


def _case(sizes: Sequence[int], opening: str, opens: float, name: str, seed: int, more: dict[str, Any] | None) -> Case:
    by_size: dict[int, list[list[str]]] = {}
    for sender, receiver, packets in between_racks(sizes, seed):
        by_size.setdefault(packets, []).append([f"h{sender}", f"h{receiver}"])
    flows: dict[str, Any] = {"kind": "bulk", "transport": name, "jitter": f"{opens:g}ms"}
    spec = experiment(
        f"{name}-{opening.replace(' ', '-')}",
        seconds=AT_MOST_S,
        transports=[name],
        traffic=[flows | {"size": f"{packets * MSS}B", "pairs": pairs} for packets, pairs in sorted(by_size.items())],
        **(more or {}),
    )
    return Case({"opens": opening, "scheme": name}, spec, seed)
