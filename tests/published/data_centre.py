"""Published results about data centres: DCTCP's fluid model, and flows that come and go."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

from tests.published.comparison import Comparison, Measure
from tests.published.scenes import PAYLOAD, WIRE, one_bottleneck, run

FLUID = "Alizadeh, Javanmard and Prabhakar, SIGMETRICS 2011, section 3"
SHARING = "Ben Fredj, Bonald, Proutière, Régnié and Roberts, SIGCOMM 2001, section 2"

GBPS, DELAY, MARK = 10.0, 100e-6, 65
"""The link of DCTCP's flows: rate, round-trip time without queues in seconds, threshold in packets."""

WEIGHT = 1 / 16
"""g, the weight of the newest marks in alpha."""

LOAD = 0.5
FLOW_BYTES = 1e6
NO_QUEUES = "The flow level takes the threshold as the queue"


@cache
def fluid(flows: int) -> tuple[float, float]:
    """Mean and maximum of the queue in packets by the source's equations, integrated by Euler's method.

    `W' = 1 / R - W alpha p / (2 R)`, `alpha' = g (p - alpha) / R` and `q' = N W / R - C`. p is 1 if the queue was above
    K a time `R* = d + K / C` before. Time is in units of d, so that C is the bandwidth-delay product.
    """
    capacity = GBPS * 1e9 * DELAY / (8 * WIRE)
    steps, rounds, skipped = 50, 1500, 500
    delay = 1 + MARK / capacity
    step = delay / steps
    window, alpha, queue = (capacity + MARK) / flows, 0.2, float(MARK)
    marks = [0.0] * steps
    total = largest = 0.0
    for n in range(rounds * steps):
        rtt = 1 + queue / capacity
        marked = marks[n % steps]
        marks[n % steps] = float(queue > MARK)
        window, alpha, queue = (
            window + step * (1 - window * alpha * marked / 2) / rtt,
            alpha + step * WEIGHT * (marked - alpha) / rtt,
            max(queue + step * (flows * window / rtt - capacity), 0.0),
        )
        if n >= skipped * steps:
            total += queue
            largest = max(largest, queue)
    return total / ((rounds - skipped) * steps), largest


@cache
def queue(flows: int) -> tuple[float, float]:
    """Mean and maximum of the queue in packets at the packet level."""
    spec = one_bottleneck(1e3 * GBPS, flows, "dctcp", queues={"limit": "1000 packets", "mark": f"{MARK} packets"})
    spec |= {"duration": "300ms", "measure": {"start": "100ms"}}
    spec["traffic"][0]["jitter"] = "1ms"
    spec["topology"] |= {"rate": "100Gbps"}
    for cable in spec["topology"]["links"]:
        cable["delay"] = f"{1e9 * DELAY / 6:.0f}ns"
    row = run(spec, "packet").queues.row(0, named=True)
    return row["mean_packets"], row["max_packets"]


@cache
def slowdown(level: str) -> float:
    """The mean FCT of Poisson arrivals over the mean time that a flow alone takes."""
    senders, rate = 50, 1e9
    traffic: dict[str, Any] = {
        "kind": "poisson",
        "transport": "all",
        "pairs": [[n, senders] for n in range(senders)],
        "rate": LOAD * rate / 8 / FLOW_BYTES / senders,
        "size": {"kind": "exponential", "mean": f"{FLOW_BYTES / 1e6:.0f}MB"},
    }
    spec = {
        "name": "sharing",
        "duration": "60s",
        "topology": {
            "kind": "many-to-one",
            "senders": senders,
            "rate": "1Gbps",
            "sender_rate": "10Gbps",
            "delay": "5us",
        },
        "queues": {"limit": "400 packets", "mark": "65 packets"},
        "transports": {"all": {"cc": "dctcp"}},
        "traffic": [traffic],
    }
    flows = run(spec, level).flows.drop_nulls("fct_s").filter(pl.col("start_s") > 1)
    alone = flows["size_bytes"] * 8 * WIRE / PAYLOAD / rate
    return float(flows["fct_s"].sum()) / float(alone.sum())


COMPARISONS = [
    *(
        Comparison(
            FLUID,
            f"{flows} flows of 10 Gbps, K = {MARK}: {of} queue in packets",
            lambda flows=flows, n=n: fluid(flows)[n],  # type: ignore[misc]
            packet=Measure(lambda flows=flows, n=n: queue(flows)[n], 0.15),  # type: ignore[misc]
            cause=NO_QUEUES,
        )
        for flows in (2, 10, 20)
        for n, of in enumerate(("mean", "largest"))
    ),
    Comparison(
        SHARING,
        f"flows of 1 MB on average at a load of {LOAD}: slowdown 1 / (1 - load)",
        lambda: 1 / (1 - LOAD * WIRE / PAYLOAD),
        Measure(lambda: slowdown("flow"), 0.05),
        Measure(lambda: slowdown("packet"), 0.05),
    ),
]
