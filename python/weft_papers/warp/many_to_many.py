"""Groups of hosts in a fat-tree of 128 hosts, with 1 to 8 subflows: each host sends to all others of its group.

Sixteen groups of eight hosts are drawn by the seed; the network and settings are those of `warp/permutation`. Each
host sends seven flows and receives seven, so windows are of few packets and subflows have less than two each. Flows
without an end are compared with LIA with as many subflows, shuffles of blocks with DCTCP over ECMP.
"""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.sweeps.cases import Case
from weft_papers.beyond.all_schemes import LONG_MS, QUICK_LONG_MS, QUICK_SETTLED_MS, SETTLED_MS, TCP
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, plot_with_band
from weft_papers.warp.settings import COLOURS, SCHEMES, TURNS, WARP, extent, label

PORTS, GROUP = 8, 8
HOSTS = PORTS**3 // 4
SUBFLOWS = (1, 2, 4, 8)
SINGLE = "ecmp"
MULTIPATH = (WARP, TURNS, "lia", "xmp", "dcm", "amp")
LONG = 0
"""Size in KiB that stands for a flow without an end."""
SIZES_KIB, QUICK_SIZES_KIB = (128, 1024), (128,)
AT_MOST_MS = 10_000
"""Limit of simulated time; shuffles end long before it, and a timeout of a SYN takes a second."""
MAX_RATIO = 1.05
"""Maximum ratio of the FCT to DCTCP's."""
QUICK = (
    f"flows without an end are measured for {QUICK_LONG_MS - QUICK_SETTLED_MS} ms instead of "
    f"{LONG_MS - SETTLED_MS} ms, shuffles of {QUICK_SIZES_KIB[0]} KiB only"
)
COLUMNS = {"mbps": "goodput (Mbps)", "jain": "Jain's index", "mean_ms": "mean FCT (ms)", "p99_ms": "99th percentile"}


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme with each number of subflows, and of DCTCP.

    Flows are without an end, or have each size.
    """
    sizes = QUICK_SIZES_KIB if scale.quick else SIZES_KIB
    cells = [(SINGLE, 1), *((name, n) for name in MULTIPATH for n in SUBFLOWS)]
    return [
        Case(
            {"size_kib": size_kib, "scheme": name, "subflows": n},
            _experiment(name, n, size_kib, seed, quick=scale.quick),
            seed,
        )
        for size_kib in (LONG, *sizes)
        for name, n in cells
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: mean goodput in Mbps, Jain's index, FCT in ms, timeouts, and flows that did not end.

    FCT is the mean and the 99th percentile. A flow with a size that did not end counts with the time that it had
    taken; a flow without a size has no FCT.
    """
    fct = pl.when(pl.col("size_bytes").is_not_null()).then(pl.coalesce("fct_s", "unfinished_s")) * 1e3
    return result.flows.select(
        mbps=pl.col("goodput_bps").mean() * 1e-6,
        jain=stats.jain("goodput_bps"),
        mean_ms=fct.mean(),
        p99_ms=fct.quantile(0.99, interpolation="linear"),
        late=100 * ((pl.col("timeouts") + pl.col("syn_timeouts")) > 0).mean(),
        unfinished=(pl.col("size_bytes").is_not_null() & pl.col("fct_s").is_null()).sum(),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput and Jain's index of flows without an end, and mean FCT over DCTCP's of shuffles, by subflows."""
    sizes = _sizes(rows)
    plot = Plot(figsize=(3.6 * (2 + len(sizes)), 3.8), layout="constrained")
    panels = list(plot.subplots(1, 2 + len(sizes)))
    for name in (colour for colour in COLOURS if colour in MULTIPATH):
        lines: list[dict[int, SeedSummary]] = [
            {n: _of(rows, name, n, LONG, column) for n in SUBFLOWS} for column in ("mbps", "jain")
        ]
        lines += [{n: ratio(rows, name, n, size_kib, "mean_ms") for n in SUBFLOWS} for size_kib in sizes]
        for axes, line in zip(panels, lines, strict=True):
            plot_with_band(axes, SUBFLOWS, line.values(), COLOURS[name], marker="o", label=label(name), lw=1)
    for axes, column in zip(panels, ("mbps", "jain"), strict=False):
        axes.axhline(
            _of(rows, SINGLE, 1, LONG, column).mean, color=COLOURS[SINGLE], linestyle="--", label="DCTCP, ECMP"
        )
        axes.set_title(f"without an end: {COLUMNS[column]}", fontsize="medium")
    for axes, size_kib in zip(panels[2:], sizes, strict=True):
        axes.axhline(MAX_RATIO, color="#888888", linestyle=":", linewidth=1)
        axes.set_yscale("log")
        axes.set_title(f"{size_kib} KiB: mean FCT over DCTCP's", fontsize="medium")
    for axes in panels:
        axes.set(xticks=SUBFLOWS, xlabel="subflows")
        axes.grid(visible=True, alpha=0.3)
    panels[0].legend(frameon=False, fontsize="x-small")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the criteria, and the results of every scheme."""
    mbps, jain = ({n: _pair(rows, n, column) for n in SUBFLOWS} for column in ("mbps", "jain"))
    found = [
        Claim(
            "Flows without an end: mean goodput at least LIA's with as many subflows",
            "at least LIA's",
            _compared(mbps, "Mbps"),
            all(warp.mean >= lia.mean for warp, lia in mbps.values()),
            f"mean of the flows, mean over the seeds; {label(TURNS)} has {_by_number(rows, TURNS, 'mbps')} Mbps",
        ),
        Claim(
            "Flows without an end: Jain's index above LIA's with as many subflows",
            "above LIA's",
            _compared(jain),
            all(warp.mean > lia.mean for warp, lia in jain.values()),
            f"of the flows' goodput, mean over the seeds; {label(TURNS)} has {_by_number(rows, TURNS, 'jain')}",
            table=_table(rows, LONG, ("mbps", "jain")),
        ),
    ]
    for size_kib in _sizes(rows):
        ratios = {
            column: {n: ratio(rows, WARP, n, size_kib, column) for n in SUBFLOWS} for column in ("mean_ms", "p99_ms")
        }
        turns = {n: ratio(rows, TURNS, n, size_kib, "mean_ms") for n in SUBFLOWS}
        found += [
            Claim(
                f"Shuffles of {size_kib} KiB: mean FCT over DCTCP's",
                f"at most {MAX_RATIO}",
                _numbered(ratios["mean_ms"]),
                all(summary.mean <= MAX_RATIO for summary in ratios["mean_ms"].values()),
                f"mean over the seeds of each seed's ratio, DCTCP over ECMP; {label(TURNS)} has {_numbered(turns)}",
                table=_table(rows, size_kib, ("mean_ms", "p99_ms")),
            ),
            Claim(
                f"Shuffles of {size_kib} KiB: 99th percentile of the FCT over DCTCP's",
                f"at most {MAX_RATIO}",
                _numbered(ratios["p99_ms"]),
                all(summary.mean <= MAX_RATIO for summary in ratios["p99_ms"].values()),
                "mean over the seeds of each seed's ratio",
            ),
        ]
    return found


def pairs(seed: int) -> list[list[str]]:
    """Returns every ordered pair of each group; the seed draws the groups."""
    hosts = random.Random(seed).sample(range(HOSTS), HOSTS)  # noqa: S311 - not a secret
    groups = (hosts[first : first + GROUP] for first in range(0, HOSTS, GROUP))
    return [[f"h{a}", f"h{b}"] for group in groups for a, b in permutations(group, 2)]


def ratio(rows: pl.DataFrame, name: str, subflows: int, size_kib: int, column: str) -> SeedSummary:
    """Returns the ratio of a column to DCTCP's, seed by seed."""
    return _of(rows, name, subflows, size_kib, column) / _of(rows, SINGLE, 1, size_kib, column)


def _experiment(name: str, subflows: int, size_kib: int, seed: int, *, quick: bool) -> Experiment:
    settled, end = (QUICK_SETTLED_MS, QUICK_LONG_MS) if quick else (SETTLED_MS, LONG_MS)
    fields: dict[str, Any] = {**SCHEMES[name].transport, "tcp": TCP}
    if name != SINGLE:
        fields["subflows"] = subflows
    without = size_kib == LONG
    return Experiment.model_validate(
        {
            "name": f"many-to-many-{name}-{subflows}",
            "duration": f"{end if without else AT_MOST_MS}ms",
            "measure": {"start": f"{settled if without else 0}ms"},
            "topology": {"kind": "fat-tree", "k": PORTS, "rate": "1Gbps", "delay": "5us"},
            "queues": {"limit": "100 packets", "mark": "20 packets"},
            "transports": {name: fields},
            "traffic": [
                {
                    "kind": "bulk",
                    "transport": name,
                    "pairs": pairs(seed),
                    "jitter": "1ms",
                    **({} if without else {"size": f"{size_kib}KiB"}),
                }
            ],
        }
    )


def _sizes(rows: pl.DataFrame) -> list[int]:
    return [int(value) for value in rows["size_kib"].unique().sort() if value != LONG]


def _of(rows: pl.DataFrame, name: str, subflows: int, size_kib: int, column: str) -> SeedSummary:
    here = rows.filter(scheme=name, subflows=subflows, size_kib=size_kib)
    return over_seeds(here, pl.col(column).first())


def _pair(rows: pl.DataFrame, subflows: int, column: str) -> tuple[SeedSummary, SeedSummary]:
    """Returns a column of Warp and of LIA."""
    return _of(rows, WARP, subflows, LONG, column), _of(rows, "lia", subflows, LONG, column)


def _compared(by_subflows: dict[int, tuple[SeedSummary, SeedSummary]], unit: str = "") -> str:
    text = "; ".join(f"{n}: {listed(zip(('Warp', 'LIA'), pair, strict=True))}" for n, pair in by_subflows.items())
    return f"by subflows, {unit}: {text}" if unit else f"by subflows: {text}"


def _numbered(by_subflows: dict[int, SeedSummary]) -> str:
    return ", ".join(f"{n}: {value}" for n, value in by_subflows.items())


def _by_number(rows: pl.DataFrame, name: str, column: str) -> str:
    return _numbered({n: _of(rows, name, n, LONG, column) for n in SUBFLOWS})


def _table(rows: pl.DataFrame, size_kib: int, columns: tuple[str, ...]) -> Table:
    """Returns a table of every scheme with each number of subflows, and the range of flows with a timeout."""
    heads = [f"{n}: {COLUMNS[column]}" for n in SUBFLOWS for column in columns]
    lines = []
    for name in (*MULTIPATH, SINGLE):
        numbers = SUBFLOWS if name != SINGLE else (1,)
        cells = [str(_of(rows, name, n, size_kib, column)) for n in numbers for column in columns]
        late = extent(_of(rows, name, n, size_kib, "late") for n in numbers)
        unfinished = rows.filter(scheme=name, size_kib=size_kib)["unfinished"].sum()
        lines.append((label(name), *cells, *("" for _ in heads[len(cells) :]), late, str(unfinished)))
    return Table(("scheme", *heads, "flows with a timeout (%)", "did not end"), tuple(lines))
