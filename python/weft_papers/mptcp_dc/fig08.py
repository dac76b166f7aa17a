"""Figure 8 (section 4): one-way latency of each packet, by TCP and by multipath TCP with three subflows.

The paper measured its Linux implementation of 2010. So the claims are judged with that kernel's loss recovery:
selective acknowledgements (RFC 6675), three duplicate acknowledgements, and RTO. RACK, tail loss probes and the rate
reduction of RFC 6937 came later and are off. Subflows take data in turn, since the paper says nothing about that.
Today's Linux, and NewReno as in section 3's simulator, are shown for comparison.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.fat_tree import LINUX_2010, PROFILE
from weft_papers.mptcp_dc.latency import (
    QUICK_SECONDS,
    SECONDS,
    TRANSPORTS,
    experiment,
    goodput,
    in_words,
    judge,
    measure,
    plot_panels,
)

__all__ = ("QUICK", "cases", "claims", "measure", "plot")

READINGS: dict[str, dict[str, Any]] = {
    "2010": {"scheduler": "round-robin", "tcp": LINUX_2010},
    "today": {},
    "newreno": {"profile": PROFILE},
}
"""Fields of the transports; the first setting is judged."""
WORDS = {"2010": "Linux of 2010", "today": "today's Linux", "newreno": "NewReno"}
QUICK = f"{QUICK_SECONDS} s instead of {SECONDS} s"


def cases(scale: Scale) -> list[Case]:
    """Returns runs of TCP and multipath TCP, in each reading."""
    return [
        Case(
            {"reading": called, "transport": name},
            experiment("packet", name, settings | reading, quick=scale.quick),
            seed,
        )
        for called, reading in READINGS.items()
        for name, settings in TRANSPORTS.items()
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Share of packets by one-way latency, TCP and multipath TCP, by loss recovery; all seeds together."""
    return plot_panels({WORDS[reading]: rows.filter(reading=reading) for reading in READINGS})


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns section 4's claims about figure 8, with Linux's recovery of 2010; the notes have the other readings."""
    runs = {
        (reading, name): rows.filter(reading=reading, transport=name) for reading in READINGS for name in TRANSPORTS
    }
    judged, *others = READINGS
    beside = {
        name: "; ".join(f"{WORDS[other]}: {in_words(runs[other, name])}" for other in others) for name in TRANSPORTS
    }
    ratios = "; ".join(
        f"{WORDS[other]}: ratio {goodput(runs[other, 'multipath']) / goodput(runs[other, 'tcp'])}" for other in others
    )
    notes = (beside["tcp"], beside["multipath"], beside["multipath"], ratios)
    return judge(runs[judged, "tcp"], runs[judged, "multipath"], notes)
