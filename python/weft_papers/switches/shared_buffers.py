"""The incasts of AMP's figures 2 and 8 and of Warp's criteria, if the ports of the switch share a buffer.

The buffer has dynamic thresholds (Choudhury and Hahne, 1998) with alpha = 1 and no reserve. Its sizes were chosen: in
one, a single congested port may hold as much as the FIFO of the papers' figures; the other has the memory of all FIFOs.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import QUICK_ROUNDS, ROUNDS, incast
from weft_papers.amp.settings import DELAY_US, PAPER_FCT_MS, unfinished_ms
from weft_papers.figure import Claim, Scale, Table
from weft_papers.warp.incast import AT_ONCE, MAX_RATIO, SUBFLOWS
from weft_papers.warp.incast import case as warp_case
from weft_papers.warp.settings import DCTCP, transport

FIFO, SHARE, MEMORY = "fifo", "share", "memory"
BUFFERS = {
    FIFO: "FIFO of 100 packets per port",
    SHARE: "shared, 200 packets",
    MEMORY: "shared, 100 packets per port",
}
"""The queues of the switch."""
AMP, WARP = "amp", "warp"
"""The scenes: AMP's figures with profile `amp-2019`, and Warp's incast with profile `linux`."""
ALGORITHMS = {AMP: ("dctcp", "amp", "xmp", "dcm"), WARP: ("dctcp", "warp", "amp")}
MULTIPATH = ("xmp", "dcm")
FLOWS, QUICK_FLOWS = (10, 20, 30, 40), (10, 40)
SIZE_KIB, GAP_US = 128, 50
PACKET = 1500
LIMIT = 100
FIFO_LIMIT = f"{LIMIT} packets"
"""The limit of FIFOs; shared buffers have this number of full packets, in bytes."""
QUICK = f"{QUICK_ROUNDS} rounds instead of {ROUNDS}; k = {', '.join(map(str, QUICK_FLOWS))} only"
ALIKE = 1.25
"""Ratio up to which mean FCTs count as equal, as in AMP's figure 8."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scene, queue, algorithm and number of flows."""
    flows = QUICK_FLOWS if scale.quick else FLOWS
    return [
        Case(
            {"scene": scene, "buffer": buffer, "algorithm": algorithm, "k": k},
            _experiment(scene, algorithm, k, seed, quick=scale.quick).model_copy(update={"queues": queues(buffer, k)}),
            seed,
        )
        for scene, algorithms in ALGORITHMS.items()
        for buffer in BUFFERS
        for algorithm in algorithms
        for k in flows
        for seed in range(1, scale.seeds + 1)
    ]


def queues(buffer: str, k: int) -> dict[str, Any]:
    """Returns the queues of a switch with k senders and a receiver."""
    if buffer == FIFO:
        return {"limit": FIFO_LIMIT, "mark": "10 packets", "kind": "fifo"}
    packets = {SHARE: 2 * LIMIT, MEMORY: (k + 1) * LIMIT}[buffer]
    kind = {"name": "shared", "buffer": f"{packets * PACKET}B", "alpha": 1}
    return {"limit": f"{packets} packets", "mark": "10 packets", "kind": kind}


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: FCT in ms (mean and 99th percentile), per cent of flows with a timeout, unfinished flows.

    FCT ends at the sender in AMP's scene, as in its figures, and at the receiver in Warp's. A flow that did not end
    counts with the time that it had taken.
    """
    at_sender = pl.coalesce(PAPER_FCT_MS, unfinished_ms(result.manifest["end_s"]))
    at_receiver = pl.coalesce("fct_s", "unfinished_s") * 1e3
    profile = next(iter(result.manifest["spec"]["transports"].values()))["profile"]
    fct = at_receiver if profile == "linux" else at_sender
    return result.flows.select(
        mean_ms=fct.mean(),
        p99_ms=fct.quantile(0.99, interpolation="linear"),
        late=100 * ((pl.col("timeouts") + pl.col("syn_timeouts")) > 0).mean(),
        unfinished=pl.col("fct_s").is_null().sum(),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    amp, warp = (rows.filter(scene=scene) for scene in (AMP, WARP))
    memory = amp.filter(buffer=MEMORY)
    return [
        _like_fifos(amp),
        _no_timeouts(memory),
        _ratios(
            memory,
            "A shared buffer with the memory of the FIFOs: XMP and DCM are as good as DCTCP (figure 2)",
            MULTIPATH,
            "dctcp",
        ),
        _ratios(
            memory,
            "A shared buffer with the memory of the FIFOs: AMP is no faster than XMP and DCM (figure 8)",
            MULTIPATH,
            "amp",
        ),
        *(_warp(warp.filter(buffer=MEMORY), column, name) for column, name in COLUMNS.items()),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT over k on a log scale: each algorithm in AMP's scene, with FIFOs and with two shared buffers."""
    from weft_papers.amp.settings import SHOWN

    plot = Plot(figsize=(3.4 * len(BUFFERS), 3.6), layout="constrained")
    panels = plot.subplots(1, len(BUFFERS), sharey=True)
    for axes, (buffer, title) in zip(panels, BUFFERS.items(), strict=True):
        for algorithm in ALGORITHMS[AMP]:
            cells = _cells(rows.filter(scene=AMP, buffer=buffer, algorithm=algorithm), "mean_ms")
            shown = SHOWN[algorithm]
            axes.plot(
                list(cells), list(cells.values()), f"{shown.marker}-", color=shown.colour, label=shown.label, lw=1
            )
        axes.set_yscale("log")
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("flows in a round, k")
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("mean FCT (ms)")
    panels[0].legend(frameon=False, fontsize="small")
    return plot


COLUMNS = {"mean_ms": "mean", "p99_ms": "99th percentile of the"}


def _experiment(scene: str, algorithm: str, k: int, seed: int, *, quick: bool) -> Experiment:
    if scene == AMP:
        return incast(algorithm, k, SIZE_KIB, DELAY_US, QUICK_ROUNDS if quick else ROUNDS, gap_us=GAP_US)
    fields = DCTCP if algorithm == "dctcp" else transport(algorithm, SUBFLOWS)
    return warp_case(algorithm, AT_ONCE, fields, SIZE_KIB, k, seed, gap_us=GAP_US, quick=quick).experiment


def _cells(rows: pl.DataFrame, column: str) -> dict[int, float]:
    """Returns the mean over the seeds by k."""
    means = rows.group_by("k").agg(pl.col(column).mean()).sort("k")
    return dict(means.select("k", column).iter_rows())


def _divided(rows: pl.DataFrame, column: str, names: tuple[str, ...], to: str) -> dict[tuple[str, int], float]:
    """Returns the ratio of the means of algorithms to those of `to`, by algorithm and k."""
    base = _cells(rows.filter(algorithm=to), column)
    found = {name: _cells(rows.filter(algorithm=name), column) for name in names}
    return {(name, k): value / base[k] for name, cells in found.items() for k, value in cells.items()}


def _extent(ratios: dict[tuple[str, int], float]) -> str:
    return f"{digits(min(ratios.values()))} to {digits(max(ratios.values()))}"


def _table(ratios: dict[tuple[str, int], float]) -> Table:
    ks = sorted({k for _, k in ratios})
    names = list(dict.fromkeys(name for name, _ in ratios))
    lines = ((name, *(digits(ratios[name, k]) for k in ks)) for name in names)
    return Table(("algorithm", *(f"k = {k}" for k in ks)), tuple(lines))


def _like_fifos(rows: pl.DataFrame) -> Claim:
    share, fifo = rows.filter(buffer=SHARE), rows.filter(buffer=FIFO)
    ratios = {
        (name, k): value / base
        for name in ALGORITHMS[AMP]
        for (k, value), base in zip(
            _cells(share.filter(algorithm=name), "mean_ms").items(),
            _cells(fifo.filter(algorithm=name), "mean_ms").values(),
            strict=True,
        )
    }
    return Claim(
        "A shared buffer that gives one congested port 100 packets: incasts are as with FIFOs of 100 packets",
        "1, by alpha B / (1 + alpha n) with n = 1",
        f"{_extent(ratios)} times",
        all(1 / ALIKE <= ratio <= ALIKE for ratio in ratios.values()),
        f"mean FCT over that with FIFOs, AMP's scene; holds from {1 / ALIKE:g} to {ALIKE} in every cell",
        table=_table(ratios),
    )


def _no_timeouts(rows: pl.DataFrame) -> Claim:
    late = {name: _cells(rows.filter(algorithm=name), "late") for name in ALGORITHMS[AMP]}
    return Claim(
        "A shared buffer with the memory of the FIFOs: no flow has a timeout",
        "0",
        ", ".join(f"{name} up to {digits(max(cells.values()))} %" for name, cells in late.items()),
        all(value <= 0 for cells in late.values() for value in cells.values()),
        "flows with a timeout, AMP's scene; holds if no flow of any cell and seed has one. One congested port may hold "
        "half of the buffer",
    )


def _ratios(rows: pl.DataFrame, sentence: str, names: tuple[str, ...], to: str) -> Claim:
    ratios = _divided(rows, "mean_ms", names, to)
    return Claim(
        sentence,
        "1",
        f"{_extent(ratios)} times",
        all(1 / ALIKE <= ratio <= ALIKE for ratio in ratios.values()),
        f"mean FCT over that of {to}; holds from {1 / ALIKE:g} to {ALIKE} in every cell",
        table=_table(ratios),
    )


def _warp(rows: pl.DataFrame, column: str, name: str) -> Claim:
    ratios = _divided(rows, column, ("warp", "amp"), "dctcp")
    own = {cell: ratio for cell, ratio in ratios.items() if cell[0] == "warp"}
    return Claim(
        f"A shared buffer with the memory of the FIFOs: the {name} FCT of Warp is at most {MAX_RATIO} times DCTCP's",
        f"at most {MAX_RATIO}",
        f"{_extent(own)} times",
        all(ratio <= MAX_RATIO for ratio in own.values()),
        "Warp's scene, joins at once; holds if every cell does. The table has AMP as well",
        table=_table(ratios),
    )
