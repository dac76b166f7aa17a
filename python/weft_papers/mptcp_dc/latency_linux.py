"""Figure 8 (section 4): one-way latency of each packet, by TCP and by multipath TCP, on this machine's kernel.

Each flow runs at level "linux" and at the packet level, from the same spec.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.latency import (
    NO_LOSS_MS,
    QUICK_SECONDS,
    SECONDS,
    TRANSPORTS,
    experiment,
    goodput,
    in_words,
    judge,
    measure,
    plot_panels,
    share,
)

__all__ = ("QUICK", "cases", "claims", "measure", "plot")

LEVELS = ("linux", "packet")
SMALL_BUFFER = "multipath-small-buffer"
"""An experiment on Linux with a receive buffer that lets the kernel not assign data beyond a subflow's window."""
EXPERIMENT: dict[str, Any] = TRANSPORTS["multipath"] | {"tcp": {"receive_buffer": "20KB"}}
QUICK = f"{QUICK_SECONDS} s instead of {SECONDS} s"


def cases(scale: Scale) -> list[Case]:
    """Returns runs of TCP and multipath TCP at both levels, and of the experiment."""
    cells = [(level, transport, settings) for level in LEVELS for transport, settings in TRANSPORTS.items()]
    if not scale.quick:
        cells.append(("linux", SMALL_BUFFER, EXPERIMENT))
    return [
        Case({"level": level, "transport": transport}, experiment(level, transport, settings, quick=scale.quick), seed)
        for level, transport, settings in cells
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Share of packets by one-way latency, TCP and multipath TCP, at either level; all seeds together."""
    titles = ("Linux", "packet level")
    return plot_panels({title: rows.filter(level=level) for title, level in zip(titles, LEVELS, strict=True)})


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns section 4's claims about figure 8 on the kernel; the packet level's numbers are in the notes."""
    linux = {name: rows.filter(level="linux", transport=name) for name in TRANSPORTS}
    packet = {name: rows.filter(level="packet", transport=name) for name in TRANSPORTS}
    beside = {name: f"packet level: {in_words(packet[name])}" for name in TRANSPORTS}
    ratio = goodput(packet["multipath"]) / goodput(packet["tcp"])
    notes = (
        beside["tcp"],
        f"{_mapped(rows)}{beside['multipath']}",
        beside["multipath"],
        f"packet level: ratio {ratio}",
    )
    return judge(linux["tcp"], linux["multipath"], notes)


def _mapped(rows: pl.DataFrame) -> str:
    """Formats the experiment's result about the difference between the levels."""
    small = rows.filter(level="linux", transport=SMALL_BUFFER)
    if small.is_empty():
        return ""
    large = rows.filter(level="linux", transport="multipath")
    return (
        "Linux may give a subflow data beyond its window, for which what others carry then waits; "
        f"with a receive buffer of 20 KB, which leaves no room for that, {share(small, 'late')} instead of "
        f"{share(large, 'late')} of packets are beyond {digits(NO_LOSS_MS)} ms, at a goodput of {goodput(small)} "
        f"instead of {goodput(large)}, which alone lets less wait; "
    )
