"""Figure 3 of AMP's paper, exactly: windows of one packet, no propagation delay, a marking threshold of 4 packets.

In the figure all windows stay at one packet. The text says that a packet which finds a queue of K = 4 is "the 5th
packet in the queue". With 5 flows, its queue therefore counts the packet that is being sent.
Weft's threshold counts the packets that wait, as the authors' simulator does: the paper's K = 4 is 3 here.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import weft
from weft import stats

PAPER_K = 4
RATE = "1Gbps"


class OnePacket(weft.CongestionControl):
    """Keeps every window at one packet, the least that there is."""

    echo = "dctcp"

    def on_open(self, w: Any, s: int) -> None:
        w[s].cwnd = 1

    def on_ack(self, w: Any, s: int, ack: Any) -> None:
        del ack
        w[s].cwnd = 1

    def on_mark(self, w: Any, s: int) -> None:
        w[s].cwnd = 1


def run(single: int, multipath: int, mark: int) -> weft.Result:
    """Single-path flows and multipath flows of 4 subflows over one bottleneck, measured after all have begun."""
    transport = {"profile": "amp-2019", "cc": OnePacket}
    traffic = [{"kind": "bulk", "transport": "single", "from": f"0..{single}", "to": "r0"}]
    if multipath:
        senders = f"{single}..{single + multipath}"
        traffic.append({"kind": "bulk", "transport": "multipath", "from": senders, "to": "r0"})
    return weft.run(
        {
            "name": "figure-3",
            "duration": "20ms",
            "measure": {"start": "5ms"},
            # Hosts' links take no time, so that all packets are at the bottleneck.
            "topology": {
                "kind": "many-to-one",
                "senders": single + multipath,
                "rate": RATE,
                "sender_rate": "1000Gbps",
                "delay": "1ns",
            },
            "queues": {"limit": "100 packets", "mark": f"{mark} packets"},
            "transports": {"single": transport, "multipath": transport | {"subflows": 4}},
            "traffic": traffic,
            "probes": [{"kind": "queue", "at": ["s0->r0"]}],
        }
    )


def queue(result: weft.Result) -> float:
    """Median number of packets at the bottleneck, the one being sent included."""
    lengths = stats.queue_lengths(result.queues)
    return float(stats.percentiles(lengths, "packets", (50,), weight="seconds")["p50"].item()) + 1


def marked(result: weft.Result) -> float:
    """Share of the packets that carry a mark, of all flows."""
    sums = result.flows.select(pl.col("marked").sum() / pl.col("packets_sent").sum())
    return float(sums.item())


@pytest.mark.parametrize(("mark", "share"), [(PAPER_K - 1, 1.0), (PAPER_K, 0.0)])
def test_five_single_path_flows_are_marked_all_the_time(mark: int, share: float) -> None:
    """Figure 3(b): the 5th packet finds K = 4, if the packet being sent counts."""
    result = run(5, 0, mark)
    assert queue(result) == 5
    assert marked(result) == pytest.approx(share, abs=0.02)


def test_two_single_path_flows_are_not_marked() -> None:
    """Figure 3(a) at its lowest windows: two packets never exceed the threshold."""
    assert marked(run(2, 0, PAPER_K - 1)) == 0


def test_five_single_path_flows_share_fairly() -> None:
    """Figure 3(b): "there is no unfairness across flows"."""
    goodput = run(5, 0, PAPER_K - 1).flows["measured_bytes"]
    assert goodput.max() == pytest.approx(goodput.min(), rel=0.01)


def test_multipath_flow_sends_four_times_as_much() -> None:
    """Figure 3(c): "four times more packets", and a queue "twice as large as K"."""
    result = run(4, 1, PAPER_K - 1)
    goodput = result.flows.group_by("transport").agg(pl.col("measured_bytes").mean())
    names = ("single", "multipath")
    single, multipath = (float(goodput.filter(transport=name)["measured_bytes"].item()) for name in names)
    assert multipath == pytest.approx(4 * single, rel=0.02)
    assert queue(result) == 2 * PAPER_K
    assert marked(result) == pytest.approx(1, abs=0.02)
