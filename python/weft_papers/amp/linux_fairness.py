"""Figure 9's coexistence (section 5.2) on this machine's kernel: multipath and DCTCP flows on one bottleneck.

Each cell runs at level "linux" and at the packet level, from the same spec, with 200 Mbit/s instead of 10 Gbps.

`dctcp_cut` is not the paper's. With it, DCTCP's alpha / 2 instead of 1 / beta cuts AMP's initial subflow while the
others are suppressed. It runs where the paper's cut shows most: one AMP flow with few DCTCP flows.
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.linux_settings import LEVELS, TRANSPORTS, experiment
from weft_papers.amp.settings import SHOWN
from weft_papers.figure import Claim, Scale

ALGORITHMS = ("amp", "xmp", "dcm")
WITH_DCTCP_CUT = "amp-dctcp-cut"
MULTIPATH = (1, 2, 4)
DCTCP = (2, 4, 8, 16)
FEW_DCTCP = (2, 4, 8)
"""Numbers of DCTCP flows in the cells with `dctcp_cut`."""
WORKED = (1, 8)
"""Multipath and DCTCP flows of the worked cell."""
SECONDS, SHORT_SECONDS = 10, 3
"""Simulated seconds of the worked cell, and of all others."""
FROM = "1500ms"
"""Time from which goodput is measured.

At the packet level all flows open at the same instant, so SYNs of joins may be lost; they are sent again at 1 s. The
time was chosen after whole runs had been seen.
"""
QUICK = "1 AMP or XMP flow with 8 DCTCP flows, 3 s instead of 10 s"
UNFAIR = 2.3
"""Ratio of XMP's goodput to a DCTCP flow's above which the minimum window syndrome is present; figure 4 has it."""
FAIR = (0.8, 1.25)
"""Range of the ratio of AMP's goodput to a DCTCP flow's that counts as fair."""
JAIN = 0.98
LEVELS_ALIKE, LEVELS_APART = 0.03, 0.1
"""Distances up to which Jain's indices of the two levels count as equal: on average, and in each cell."""
ALIKE = 0.02
"""Distance up to which Jain's indices count as equal."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm and each number of multipath and DCTCP flows, at both levels."""
    if scale.quick:
        cells = [(algorithm, 1, 8) for algorithm in ALGORITHMS[:2]]
    else:
        cells = [(algorithm, m, n) for algorithm in ALGORITHMS for m in MULTIPATH for n in DCTCP]
        cells += [(WITH_DCTCP_CUT, 1, n) for n in FEW_DCTCP]
    return [
        _case(level, name, m, n, seed, SHORT_SECONDS if scale.quick or (m, n) != WORKED else SECONDS)
        for level in LEVELS
        for name, m, n in cells
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: transport, goodput in Mbit/s, suppression episodes and timeouts."""
    return result.flows.select(
        "transport",
        goodput_mbps=pl.col("goodput_bps") * 1e-6,
        suppressions=pl.col("suppressions"),
        timeouts=pl.col("timeouts"),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Jain's index over the number of DCTCP flows, one panel per number of multipath flows; packet level dashed."""
    runs = summary(rows)
    numbers = runs["multipath"].unique().sort().to_list()
    plot = Plot(figsize=(max(5.0, 3.4 * len(numbers)), 3.8), layout="constrained")
    panels = plot.subplots(1, len(numbers), sharey=True, squeeze=False)[0]
    for panel, number in zip(panels, numbers, strict=True):
        _plot_panel(panel, runs.filter(multipath=number))
        panel.set(title=f"{number} multipath", xlabel="DCTCP flows")
    panels[0].set_ylabel("Jain's index")
    panels[0].legend(frameon=False, fontsize="small")
    plot.suptitle("Figure 9 on Linux, 200 Mbit/s (dashed: packet level)")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of sections 3.2 and 5.2 that a kernel can test."""
    runs = summary(rows)
    linux = runs.filter(level="linux")
    worked = linux.filter(multipath=1, dctcp=8)
    amp, xmp = worked.filter(algorithm="amp"), worked.filter(algorithm="xmp")
    claims = [
        Claim(
            "8 DCTCP flows and 1 XMP flow of 4 subflows: XMP takes several times a DCTCP flow's goodput",
            "2.3 at 10 Gbps (figure 4)",
            _each(xmp["ratio"]),
            bool((xmp["ratio"] > UNFAIR).all()),
            f"XMP's goodput over the mean of the DCTCP flows', each run; holds above {UNFAIR} in every run; "
            f"{_compared(runs, 'xmp', 1, 8)}",
        ),
        Claim(
            "8 DCTCP flows and 1 AMP flow: AMP takes its fair share",
            "fair",
            f"{_each(amp['ratio'])}; Jain's index {_each(amp['jain'])}",
            bool(amp["ratio"].is_between(*FAIR).all() and (amp["jain"] >= JAIN).all()),
            f"AMP's goodput over the mean of the DCTCP flows', each run; holds within {FAIR[0]} to {FAIR[1]} with an "
            f"index of at least {JAIN} in every run; {_compared(runs, 'amp', 1, 8)}",
        ),
    ]
    few = linux.filter(pl.col("dctcp") <= 4, algorithm="amp", multipath=1)
    if few.is_empty():
        return claims
    paper = runs.filter(pl.col("algorithm") != WITH_DCTCP_CUT)
    return [*claims, _best(paper.filter(level="linux")), _few(runs, few), _with_dctcp_cut(runs), _levels(paper)]


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per run: Jain's index over all flows, and a multipath flow's goodput over a DCTCP flow's."""
    goodput, single = pl.col("goodput_mbps"), pl.col("transport") == "dctcp"
    return rows.group_by("level", "algorithm", "multipath", "dctcp", "seed", maintain_order=True).agg(
        jain=goodput.sum() ** 2 / (pl.len() * (goodput**2).sum()),
        ratio=goodput.filter(~single).mean() / goodput.filter(single).mean(),
        total_mbps=goodput.sum(),
        suppressions=pl.col("suppressions").sum(),
    )


def _case(level: str, algorithm: str, multipath: int, dctcp: int, seed: int, seconds: int) -> Case:
    spec = experiment(
        f"coexistence-{multipath}-{algorithm}-{dctcp}-dctcp",
        level=level,
        duration=f"{seconds}s",
        topology={"kind": "many-to-one", "senders": multipath + dctcp},
        transports={"dctcp": TRANSPORTS["dctcp"], algorithm: TRANSPORTS[algorithm]},
        traffic=[
            {"kind": "bulk", "transport": algorithm, "from": f"0..{multipath}", "to": "r0"},
            {"kind": "bulk", "transport": "dctcp", "from": f"{multipath}..{multipath + dctcp}", "to": "r0"},
        ],
        measure_from=FROM,
    )
    return Case({"level": level, "algorithm": algorithm, "multipath": multipath, "dctcp": dctcp}, spec, seed)


def _best(linux: pl.DataFrame) -> Claim:
    cells = linux.group_by("algorithm", "multipath", "dctcp").agg(pl.col("jain").mean())
    table = cells.pivot(on="algorithm", index=["multipath", "dctcp"], values="jain")
    best = table.filter(pl.col("amp") >= pl.max_horizontal("xmp", "dcm") - ALIKE)
    shares = ", ".join(f"{name} {digits(float(table[name].mean()))}" for name in ALGORITHMS)  # type: ignore[arg-type]
    return Claim(
        "AMP's fairness is the best nearly everywhere",
        "nearly everywhere",
        f"{len(best)} of {len(table)} cells; mean index {shares}",
        4 * len(best) >= 3 * len(table),
        f"Jain's index over all flows of a cell; AMP is best where no other is more than {ALIKE} above it; holds in at "
        "least three quarters of the cells",
    )


def _few(runs: pl.DataFrame, few: pl.DataFrame) -> Claim:
    shares = "; ".join(f"{n} DCTCP flows: {_each(few.filter(dctcp=n)['ratio'])}" for n in (2, 4))
    beside = "; ".join(_compared(runs, "amp", 1, n) for n in (2, 4))
    return Claim(
        "2 and 4 DCTCP flows and 1 AMP flow: AMP takes its fair share",
        "fair",
        shares,
        bool(few["ratio"].is_between(*FAIR).all()),
        f"AMP's goodput over the mean of the DCTCP flows', each run; holds within {FAIR[0]} to {FAIR[1]} in every run; "
        f"{beside}",
    )


def _with_dctcp_cut(runs: pl.DataFrame) -> Claim:
    linux = runs.filter(algorithm=WITH_DCTCP_CUT, level="linux")
    mean = {
        name: runs.filter(pl.col("dctcp").is_in(FEW_DCTCP), algorithm=name, level="linux", multipath=1)
        .group_by("dctcp")
        .agg(pl.col("ratio").mean())
        .sort("dctcp")["ratio"]
        for name in ("amp", WITH_DCTCP_CUT)
    }
    return Claim(
        "With dctcp_cut AMP takes its fair share with 2, 4 and 8 DCTCP flows (not the paper's algorithm)",
        "fair",
        "; ".join(f"{n} DCTCP flows: {_each(linux.filter(dctcp=n)['ratio'])}" for n in FEW_DCTCP),
        bool(linux["ratio"].is_between(*FAIR).all()),
        "AMP's goodput over the mean of the DCTCP flows', each run; while others are suppressed the initial subflow is "
        f"cut by DCTCP's alpha / 2 instead of 1 / beta; holds within {FAIR[0]} to {FAIR[1]} in every run; means "
        f"{_each(mean[WITH_DCTCP_CUT])}, with the paper's cut {_each(mean['amp'])}; "
        f"{'; '.join(_compared(runs, WITH_DCTCP_CUT, 1, n) for n in FEW_DCTCP)}",
    )


def _levels(runs: pl.DataFrame) -> Claim:
    cell = ["algorithm", "multipath", "dctcp"]
    means = runs.group_by("level", *cell).agg(pl.col("jain").mean()).pivot(on="level", index=cell, values="jain")
    apart = (means["linux"] - means["packet"]).abs()
    furthest = means[int(apart.arg_max() or 0)].row(0, named=True)
    return Claim(
        "The packet level says the same as the kernel (not the paper's claim)",
        "the same",
        f"Jain's index differs by {digits(float(apart.mean()))} on average, {digits(float(apart.max()))} at most",  # type: ignore[arg-type]
        bool((apart <= LEVELS_APART).all()) and float(apart.mean()) <= LEVELS_ALIKE,  # type: ignore[arg-type]
        f"mean over the seeds, cell by cell; holds when they differ by at most {LEVELS_ALIKE} on average and "
        f"{LEVELS_APART} in each cell; furthest apart: "
        f"{furthest['multipath']} {furthest['algorithm']} with {furthest['dctcp']} DCTCP flows, "
        f"{digits(furthest['linux'])} on Linux, {digits(furthest['packet'])} at the packet level",
    )


def _compared(runs: pl.DataFrame, algorithm: str, multipath: int, dctcp: int) -> str:
    packet = runs.filter(level="packet", algorithm=algorithm, multipath=multipath, dctcp=dctcp)
    return f"packet level, {dctcp} DCTCP flows: {_each(packet['ratio'])}, index {_each(packet['jain'])}"


def _each(values: pl.Series) -> str:
    return ", ".join(digits(value) for value in values)


def _plot_panel(panel: Axes, runs: pl.DataFrame) -> None:
    for algorithm in (*ALGORITHMS, WITH_DCTCP_CUT):
        shown = SHOWN[algorithm]
        for level, line in (("linux", "-"), ("packet", "--")):
            cells = (
                runs.filter(algorithm=algorithm, level=level).group_by("dctcp").agg(pl.col("jain").mean()).sort("dctcp")
            )
            if cells.is_empty():
                continue
            label, marker = (shown.label, shown.marker) if level == "linux" else (None, None)
            n, jain = cells["dctcp"], cells["jain"]
            panel.plot(n, jain, line, label=label, color=shown.colour, marker=marker, linewidth=1)
    panel.set_xscale("log", base=2)
    panel.set_ylim(0, 1.05)
    panel.grid(visible=True, alpha=0.3)
