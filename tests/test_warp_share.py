"""Warp beside DCTCP where windows are larger than in the figure `warp/coexistence`, with its links of up to 5 us."""

from __future__ import annotations

import polars as pl
import pytest

import weft
from weft.papers.warp.settings import TURNS, WARP, bottleneck, transport

SEEDS = (1, 2, 3)
SUBFLOWS = 4


@pytest.mark.parametrize("scheme", [WARP, TURNS])
@pytest.mark.parametrize(("delay_us", "mark", "end_ms"), [(20, 40, 300), (50, 65, 600)])
@pytest.mark.parametrize("flows", [1, 2, 4])
def test_a_connection_is_worth_a_dctcp_flow_of_many_packets(
    scheme: str, delay_us: int, mark: int, end_ms: int, flows: int
) -> None:
    """As many of either on one bottleneck, with bandwidth-delay products of some 70 and 170 packets.

    Before all subflows had to hear of a cut, and without room for a burst in send buffers, the means were 0.3 to 0.8.
    """
    found = [_ratio(scheme, delay_us, mark, end_ms, flows, seed) for seed in SEEDS]
    assert 0.75 < sum(found) / len(found) < 1.35, found


def _ratio(scheme: str, delay_us: int, mark: int, end_ms: int, flows: int, seed: int) -> float:
    experiment = bottleneck(
        "large windows",
        senders=2 * flows,
        delay_us=delay_us,
        mark=mark,
        duration=f"{end_ms}ms",
        measured_from=f"{end_ms // 4}ms",
        transports={"warp": transport(scheme, SUBFLOWS), "dctcp": {"cc": "dctcp"}},
        traffic=[
            {
                "kind": "bulk",
                "transport": name,
                "pairs": [[f"h{first + i}", "r0"] for i in range(flows)],
                "jitter": "1ms",
            }
            for name, first in (("warp", 0), ("dctcp", flows))
        ],
    )
    goodput = pl.col("goodput_bps")
    single = pl.col("transport") == "dctcp"
    flows_of = weft.run(experiment, seed=seed, threads=1).flows
    ratio = flows_of.select(goodput.filter(~single).mean() / goodput.filter(single).mean())
    return float(ratio.item())
