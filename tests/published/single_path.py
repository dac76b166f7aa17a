"""Published results about single paths: the square-root law, Padhye's formula, RFC 9438, buffers and shared lines."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import polars as pl

from tests.published.comparison import Comparison, Measure
from tests.published.scenes import (
    PAYLOAD,
    RTT,
    WIRE,
    bottleneck_of,
    experiment,
    one_bottleneck,
    run,
    transport,
)
from weft import _weft

RFC_9438 = "RFC 9438, table 1"
MATHIS = "Mathis, Semke, Mahdavi and Ott, 1997, section 2"
PADHYE = "Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998"
BUFFERS = "Appenzeller, Keslassy and McKeown, SIGCOMM 2004, section 2"
LINE = "Massoulié and Roberts, Bandwidth sharing, 1999"
DATA_NETWORKS = "Bertsekas and Gallager, Data Networks, 1992, section 6.5.2"

PACKET_BITS = 12_000
NO_QUEUES = "The flow level has no queue at links that drop packets"


def price(window: float, loss: float, cc: str) -> float:
    """The loss rate at which one flow has the goodput of a window in packets that is reduced by a loss rate."""
    capacity = window * (1 - loss) * PACKET_BITS / RTT
    _, prices, converged = _weft.equilibrium([capacity], [[[0]]], [RTT], cc)
    assert converged
    return prices[0]


def window(loss: float, cc: str, rtt: float = RTT) -> float:
    """Mean windows in packets from which RFC 9438 computes its table: sections 4.3 and 5.1, C = 0.4."""
    reno = 1.2 / math.sqrt(loss)
    return reno if cc == "reno" else max(reno, (0.4 * 3.7 / 1.2) ** 0.25 * (rtt / loss) ** 0.75)


@cache
def periodic(product: int, cc: str) -> tuple[float, float]:
    """The loss events per packet and the mean window of a flow, alone on a link with a short queue."""
    mbps = product * 8 * WIRE / RTT / 1e6
    options = {"name": cc, "hystart": 0, "fast_convergence": 0, "rfc_growth": 1} if cc == "cubic" else cc
    fields = {"queues": {"limit": "5 packets"}, "duration": "1000s", "measure": {"start": "100s"}}
    flow = run(one_bottleneck(mbps, 1, options, **fields), "packet").flows.row(0, named=True)
    return flow["fast_retransmits"] / flow["packets_sent"], flow["goodput_bps"] * RTT / (8 * PAYLOAD)


def padhye(loss: float, rtt: float, rto: float) -> float:
    """Packets per second, equation (32) with b = 1 and no limit of the window."""
    timeouts = min(1, 3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    return 1 / (rtt * math.sqrt(2 * loss / 3) + rto * timeouts)


@cache
def crowded(senders: int) -> tuple[float, float, float]:
    """Loss indications per packet, round-trip time and packets sent per second and flow on a link of 5 Mbps.

    Indications are fast retransmits and timeouts, as section 3 of the source counts them.
    """
    result = run(one_bottleneck(5, senders, "reno", queues={"limit": "10 packets"}), "packet")
    sums = result.flows.select("fast_retransmits", "timeouts", "packets_sent").sum().row(0)
    rtt = RTT + (result.queues["mean_packets"][0] + 1) * 8 * WIRE / 5e6
    link = bottleneck_of(result)
    return (sums[0] + sums[1]) / sums[2], rtt, (link["packets"] + link["drops"]) / 250 / senders


def utilisation(buffer: float) -> float:
    """Utilisation by a flow whose window halves at each loss, with a buffer in bandwidth-delay products.

    The window W = 1 + b grows from W / 2 by a packet per round-trip time, which is 1 up to a window of 1 and W above.
    A cycle carries 3/8 W^2 and takes (1 - W / 2) + (W^2 - 1) / 2.
    """
    largest = 1 + min(buffer, 1.0)
    return 0.375 * largest**2 / (1 - largest / 2 + (largest**2 - 1) / 2)


def with_buffer(buffer: float) -> float:
    """The utilisation of a link by one flow with a product of 100 packets."""
    mbps = 100 * 8 * WIRE / RTT / 1e6
    fields = {"queues": {"limit": f"{100 * buffer:.0f} packets"}}
    return float(bottleneck_of(run(one_bottleneck(mbps, 1, "reno", **fields), "packet"))["utilisation"])


@cache
def line(links: int, level: str) -> float:
    """The window of flows over all links of a line over the sum of theirs and those of flows over one link.

    At the packet level round-trip times differ by queues, for which windows stand instead of rates.
    """
    copies, mbps = 10, 4
    nodes = [f"n{n}" for n in range(2 * links + 2)]
    cables: list[dict[str, Any]] = [
        {"a": a, "b": b} | ({"rate": f"{mbps * copies}Mbps"} if n % 2 else {})
        for n, (a, b) in enumerate(pairwise(nodes))
    ]
    hosts, traffic = [], []
    for copy in range(copies):
        for kind, first, last in [("long", 0, 2 * links + 1), *(("short", 2 * n + 1, 2 * n + 2) for n in range(links))]:
            sender, receiver = f"s-{kind}{first}.{copy}", f"d-{kind}{first}.{copy}"
            hosts += [sender, receiver]
            delay = f"{1e6 * RTT / 4:.0f}us"
            cables += [
                {"a": sender, "b": f"n{first}", "delay": delay},
                {"a": f"n{last}", "b": receiver, "delay": delay},
            ]
            traffic.append({"transport": "all", "from": sender, "to": receiver, "name": f"{kind}{first}.{copy}"})
    queues = {"limit": f"{6 * copies} packets"}
    result = run(experiment(hosts, nodes, cables, traffic, transports={"all": transport("reno")}, queues=queues), level)
    rates = result.flows.with_columns(
        long=pl.col("traffic").str.starts_with("long"), window=pl.col("goodput_bps") * RTT
    )
    if level == "packet":
        rates = rates.join(result.subflows.select("flow", "srtt_s"), on="flow")
        rates = rates.with_columns(window=pl.col("goodput_bps") * pl.col("srtt_s"))
    long, short = (float(rates.filter(long=of)["window"].mean()) for of in (True, False))  # type: ignore[arg-type]
    return long / (long + short)


COMPARISONS = [
    *(
        Comparison(
            RFC_9438,
            f"loss rate at a window of {packets} packets, {cc}",
            lambda loss=loss: loss,  # type: ignore[misc]
            # The table's windows are whole packets: 12 stands for 11.5 to 12.5. The loss rate goes as their square.
            Measure(lambda packets=packets, loss=loss, cc=cc: price(packets, loss, cc), band),  # type: ignore[misc]
        )
        for cc, packets, loss, band in (
            ("reno", 12, 1e-2, 0.09),
            ("reno", 38, 1e-3, 0.05),
            ("reno", 120, 1e-4, 0.05),
            ("cubic", 187, 1e-4, 0.05),
            ("cubic", 1054, 1e-5, 0.05),
        )
    ),
    *(
        Comparison(
            f"{RFC_9438}, equations",
            f"mean window at the loss rate of a link of {product} packets, {cc}",
            lambda product=product, cc=cc: window(periodic(product, cc)[0], cc),  # type: ignore[misc]
            packet=Measure(lambda product=product, cc=cc: periodic(product, cc)[1], 0.05),  # type: ignore[misc]
        )
        for product, cc in ((100, "reno"), (100, "cubic"), (300, "cubic"))
    ),
    Comparison(
        MATHIS,
        "loss rate at which Reno has a window of 50 packets: 1.5 / 50^2",
        lambda: 6e-4,
        Measure(lambda: price(50, 6e-4, "reno"), 0.01),
    ),
    Comparison(
        MATHIS,
        "mean window at the loss rate of a link of 300 packets",
        lambda: math.sqrt(1.5 / periodic(300, "reno")[0]),
        packet=Measure(lambda: periodic(300, "reno")[1], 0.05),
    ),
    Comparison(
        PADHYE,
        "packets per second at a loss rate of 0.001",
        lambda: padhye(1e-3, RTT, 0.2),
        Measure(lambda: rate_at(1e-3), 0.05),
    ),
    *(
        Comparison(
            PADHYE,
            f"packets per second of {senders} flows at their rate of loss indications",
            lambda senders=senders: padhye(*crowded(senders)[:2], 0.2 + crowded(senders)[1]),  # type: ignore[misc]
            packet=Measure(lambda senders=senders: crowded(senders)[2], 0.2),  # type: ignore[misc]
            cause=cause,
        )
        for senders, cause in (
            (5, "The flow level has no timeouts"),
            (10, "The flow level has no timeouts"),
            (20, "Selective acknowledgements repair losses at which the formula has a timeout"),
        )
    ),
    *(
        Comparison(
            BUFFERS,
            f"utilisation with a buffer of {buffer} of the bandwidth-delay product",
            lambda buffer=buffer: utilisation(buffer),  # type: ignore[misc]
            packet=Measure(lambda buffer=buffer: with_buffer(buffer), 0.02),  # type: ignore[misc]
            cause=NO_QUEUES,
        )
        for buffer in (0.25, 0.5, 1.0)
    ),
    Comparison(
        LINE,
        "line of two links: window of a flow over both, over its sum with that of a flow over one",
        lambda: 1 / (1 + math.sqrt(2)),
        Measure(lambda: line(2, "flow"), 0.03),
        Measure(lambda: line(2, "packet"), 0.15),
    ),
    Comparison(
        DATA_NETWORKS,
        "line of three links, a flow over all, one on each, two on the last: max-min rate of the long flow",
        lambda: 1 / 3,
        Measure(lambda: _weft.max_min([1.0] * 3, [[[0, 1, 2]], [[0]], [[1]], [[2]], [[2]]])[0][0], 1e-9),
    ),
]


def rate_at(loss: float) -> float:
    """Packets per second that a flow sends at a loss rate, by the flow level's solver."""
    low, high = 1.0, 10_000.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if price(middle * RTT, loss, "reno") > loss else (low, middle)
    return low
