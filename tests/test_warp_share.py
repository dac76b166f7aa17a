"""The shares of Warp competing with DCTCP, with larger windows than in `warp/coexistence` and with the smallest.

research/warp/results.md has the ratios. Those outside of the bands are expected to fail until the law is revised.
"""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

import weft
from weft_papers.warp.settings import TURNS, WARP, bottleneck, transport

SEEDS = (1, 2, 3)
SUBFLOWS = 4
MISSED = {(WARP, 50, 1): "1.49", (TURNS, 50, 1): "1.62"}
"""The ratios outside of the band, by scheme, delay and number of connections."""


@pytest.mark.parametrize("scheme", [WARP, TURNS])
@pytest.mark.parametrize(("delay_us", "mark", "end_ms"), [(20, 40, 300), (50, 65, 600)])
@pytest.mark.parametrize("flows", [1, 2, 4])
def test_a_connection_is_worth_a_dctcp_flow_of_many_packets(
    scheme: str, delay_us: int, mark: int, end_ms: int, flows: int, request: pytest.FixtureRequest
) -> None:
    """As many of either on one bottleneck, with bandwidth-delay products of some 70 and 170 packets.

    Before all subflows had to apply a cut, and without room for a burst in send buffers, the means were 0.3 to 0.8.
    """
    missed = MISSED.get((scheme, delay_us, flows))
    if missed is not None:
        request.applymarker(pytest.mark.xfail(strict=True, reason=f"the ratio is {missed}"))
    found = [_ratio(scheme, delay_us, mark, end_ms, flows, seed) for seed in SEEDS]
    assert 0.75 < sum(found) / len(found) < 1.35, found


@pytest.mark.parametrize("scheme", [WARP, TURNS])
@pytest.mark.parametrize(("flows", "single"), [(1, 16), (4, 16)])
def test_a_connection_is_worth_a_dctcp_flow_of_few_packets(
    request: pytest.FixtureRequest, scheme: str, flows: int, single: int
) -> None:
    """Connections of four subflows compete with DCTCP flows where all windows are of about two packets."""
    if (scheme, flows) == (WARP, 1):
        reason = "1.11 since windows grow only if they limit the sender"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    found = [_ratio(scheme, 5, 20, 200, flows, seed, single) for seed in SEEDS]
    assert 0.9 < sum(found) / len(found) < 1.1, found


@pytest.mark.parametrize(("scheduler", "seeds"), [("round-robin", 10), ("linux", 10)])
def test_a_path_that_others_leave_is_used_within_a_tenth_of_a_second(scheduler: str, seeds: int) -> None:
    """A connection over two paths of 1 Gbps, of which four DCTCP flows leave one after a second.

    Goodput on the other path, which stays busy, does not count: the connection may leave that path to DCTCP.
    """
    used = [_idle_path_in_use(scheduler, seed) for seed in range(3001, 3011)]
    assert sum(part >= 0.9 for part in used) >= seeds, used


@pytest.mark.parametrize("seed", [3001, 3002, 3003])
def test_an_incast_that_ends_before_joins_takes_as_long_as_with_dctcp(seed: int) -> None:
    """70 flows of 200 KB at 25 Gbps, 20 us apart, just fit a queue of 120 packets.

    If subflows join at once, the queue holds their handshakes as well. A SYN of a new flow that is lost costs a second.
    """
    experiment = {
        "name": "incast that just fits",
        "duration": "10s",
        "topology": {"kind": "many-to-one", "senders": 70, "rate": "25Gbps", "delay": "2us"},
        "queues": {"limit": "120 packets", "mark": "15 packets"},
        "traffic": [
            {
                "kind": "incast",
                "transport": "all",
                "flows": 70,
                "size": "200KB",
                "gap": "20us",
                "interval": "500ms",
                "rounds": 6,
            }
        ],
    }
    transports = [{"cc": "warp", "subflows": SUBFLOWS, "join_after": "256KB"}, {"cc": "dctcp"}]
    found = [weft.run(experiment | {"transports": {"all": transport}}, seed=seed).flows for transport in transports]
    # After a timeout, a connection of one subflow is not DCTCP to the packet.
    warp, dctcp = (flows["fct_s"].to_list() for flows in found)
    assert warp == pytest.approx(dctcp, rel=1e-3)


@cache
def _idle_path_in_use(scheduler: str, seed: int) -> float:
    """The utilisation of the path that others left, from 100 to 400 ms after that."""
    pinned = {f"path {path}": {"cc": "dctcp", "paths": {"name": "pinned", "path": path}} for path in (0, 1)}
    paths = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3, "delay": "50us"}
    experiment = {
        "name": "path that others leave",
        "duration": "1.4s",
        "measure": {"start": "1.1s"},
        "topology": paths | {"rate": "10Gbps", "spine_rate": "1Gbps"},
        "queues": {"limit": "100 packets", "mark": "20 packets"},
        "transports": pinned | {"warp": {"cc": "warp", "subflows": 2, "paths": "disjoint", "scheduler": scheduler}},
        "traffic": [
            {"kind": "bulk", "transport": "warp", "from": "h0", "to": "h3"},
            {"kind": "bulk", "transport": "path 0", "pairs": [["h1", "h4"]], "count": 4},
            {"kind": "bulk", "transport": "path 1", "pairs": [["h2", "h5"]], "count": 4, "stop": "1s"},
        ],
    }
    links = weft.run(experiment, seed=seed, threads=1).links
    path = links.row(by_predicate=(pl.col("from") == "leaf0") & (pl.col("to") == "spine1"), named=True)
    return float(path["bytes"]) * 8 / 0.3 / 1e9


def _ratio(
    scheme: str, delay_us: int, mark: int, end_ms: int, flows: int, seed: int, single: int | None = None
) -> float:
    """The goodput of a connection over that of one of `single` DCTCP flows, by default as many as connections."""
    single = flows if single is None else single
    experiment = bottleneck(
        "large windows",
        senders=flows + single,
        delay_us=delay_us,
        mark=mark,
        duration=f"{end_ms}ms",
        measured_from=f"{end_ms // 4}ms",
        transports={"warp": transport(scheme, SUBFLOWS), "dctcp": {"cc": "dctcp"}},
        traffic=[
            {
                "kind": "bulk",
                "transport": name,
                "pairs": [[f"h{first + i}", "r0"] for i in range(count)],
                "jitter": "1ms",
            }
            for name, first, count in (("warp", 0, flows), ("dctcp", flows, single))
        ],
    )
    goodput = pl.col("goodput_bps")
    dctcp = pl.col("transport") == "dctcp"
    flows_of = weft.run(experiment, seed=seed, threads=1).flows
    ratio = flows_of.select(goodput.filter(~dctcp).mean() / goodput.filter(dctcp).mean())
    return float(ratio.item())
