"""Published results about links that lose packets at random, at the packet level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import polars as pl

from tests.published.comparison import Comparison, Measure
from tests.published.scenes import PAYLOAD, lossy_link, run
from tests.published.single_path import MATHIS, PADHYE, padhye

FLOWS, SECONDS, START = 10, 1000, 50
"""Flows of a run, the time in which they are measured, and the time before."""

MIN_RTO = 0.2
"""Smallest RTO less the round-trip time, in seconds, as in Linux."""

NO_LOSSES = "The flow level has no link that loses packets at random"


@dataclass(frozen=True)
class Flows:
    """Means of Reno flows over a link that loses packets at random."""

    indications: float
    """Fast retransmits and timeouts per packet, as section 3 of Padhye's paper counts loss indications."""

    rtt: float
    """Smoothed round-trip time in seconds."""

    packets: float
    """Packets sent per second and flow, retransmissions included."""

    window: float
    """Packets delivered per round-trip time and flow."""


@cache
def over_lossy_link(loss: float) -> Flows:
    """The means of flows that no other link limits."""
    fields = {"duration": f"{START + SECONDS}s", "measure": {"start": f"{START}s"}}
    result = run(lossy_link(loss, FLOWS, "reno", **fields), "packet")
    fast, timeouts, sent = result.flows.select("fast_retransmits", "timeouts", "packets_sent").sum().row(0)
    goodput, rtt = result.flows["goodput_bps"].mean(), result.subflows.select(pl.col("srtt_s").mean()).item()
    return Flows((fast + timeouts) / sent, rtt, sent / SECONDS / FLOWS, goodput * rtt / (8 * PAYLOAD))


def formula(loss: float) -> float:
    """Packets per second by Padhye's formula at the measured rate of loss indications and round-trip time."""
    flows = over_lossy_link(loss)
    return padhye(flows.indications, flows.rtt, flows.rtt + MIN_RTO)


COMPARISONS = [
    *(
        Comparison(
            f"{MATHIS}, table 1",
            f"mean window at a random loss rate of {loss}: 1.31 / sqrt(p)",
            lambda loss=loss: 1.31 / math.sqrt(loss),  # type: ignore[misc]
            packet=Measure(lambda loss=loss: over_lossy_link(loss).window, 0.1),  # type: ignore[misc]
            cause=NO_LOSSES,
        )
        for loss in (1e-3,)
    ),
    *(
        Comparison(
            PADHYE,
            f"packets per second at a random loss rate of {loss} and the rate of loss indications",
            lambda loss=loss: formula(loss),  # type: ignore[misc]
            packet=Measure(lambda loss=loss: over_lossy_link(loss).packets, 0.2),  # type: ignore[misc]
            cause=NO_LOSSES,
        )
        for loss in (1e-3, 1e-2, 3e-2)
    ),
]
