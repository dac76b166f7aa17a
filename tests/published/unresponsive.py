"""Published results about flows next to a source that does not respond to losses, at the packet level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.published.comparison import Comparison, Measure
from tests.published.scenes import PAYLOAD, RTT, WIRE, next_to_source, packets_per_rtt, run
from tests.published.single_path import PADHYE, padhye

FLOYD = "Floyd and Fall, IEEE/ACM Transactions on Networking 1999, section 3.1"

MBPS = 20.0
FLOWS = 4
"""The link's rate, and the number of flows that respond to losses."""

MIN_RTO = 0.2
"""Smallest RTO less the round-trip time, in seconds, as in Linux."""

NO_SOURCES = "The flow level has no unresponsive sources"


@dataclass(frozen=True)
class Shares:
    """Shares of a link that its flows have, and the round-trip time."""

    flows: float
    source: float
    rtt: float


@cache
def measured(part: float, cc: str) -> Shares:
    """The shares if the source sends at a part of the link's rate."""
    result = run(next_to_source(MBPS, FLOWS, cc, part * MBPS), "packet")
    rates = dict(result.flows.group_by("traffic").agg(rate=("goodput_bps")).rows())
    share = {name: sum(rate) * WIRE / PAYLOAD / (1e6 * MBPS) for name, rate in rates.items()}
    rtt = RTT + (result.queues["mean_packets"][0] + 1) * 8 * WIRE / (1e6 * MBPS)
    return Shares(share["flows"], share["source"], rtt)


def fixed_point(part: float, rtt: float) -> float:
    """The share of the flows by Padhye's formula, if the source loses packets at the loss rate of the flows.

    The link is full: the flows have what the source leaves, of which more arrives the smaller the loss rate is.
    """
    capacity = packets_per_rtt(MBPS) / RTT
    low, high = 1e-6, 0.5
    for _ in range(60):
        loss = (low * high) ** 0.5
        sent = FLOWS * padhye(loss, rtt, rtt + MIN_RTO)
        above = sent * (1 - loss) > capacity * (1 - part * (1 - loss))
        low, high = (loss, high) if above else (low, loss)
    return 1 - part * (1 - low)


COMPARISONS = [
    *(
        Comparison(
            FLOYD,
            f"share of four {cc} flows next to a source of {part} of the link: what the source leaves",
            lambda part=part: 1 - part,  # type: ignore[misc]
            packet=Measure(lambda part=part, cc=cc: measured(part, cc).flows, 0.03),  # type: ignore[misc]
            cause=NO_SOURCES,
        )
        for part, cc in ((0.25, "reno"), (0.5, "reno"), (0.75, "reno"), (0.5, "cubic"))
    ),
    Comparison(
        f"{PADHYE}, fixed point",
        "share of four Reno flows next to a source of 0.9 of the link",
        lambda: fixed_point(0.9, measured(0.9, "reno").rtt),
        packet=Measure(lambda: measured(0.9, "reno").flows, 0.2),
        cause=NO_SOURCES,
    ),
]
