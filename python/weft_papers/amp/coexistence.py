"""The setting of section 3.2: multipath flows and DCTCP flows share one bottleneck for the whole run.

Without a random start the seeds differ only in the times at which subflows 1 to 3 open, up to 49 us after subflow 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft import Experiment
from weft_papers.amp.settings import RATE, K, many_to_one, transport

BOTTLENECK = "s0->r0"


def coexistence(
    algorithm: str,
    flows: int,
    dctcp_flows: int,
    *,
    delay_us: int,
    seconds: float,
    mark: int = K,
    jitter: str = "0s",
    host_jitter: str = "0s",
    multipath: Mapping[str, Any] | None = None,
    dctcp: Mapping[str, Any] | None = None,
    rate: str = RATE,
) -> Experiment:
    """Returns `flows` flows of `algorithm` that compete with `dctcp_flows` DCTCP flows.

    The bottleneck's queue is probed.

    Args:
        algorithm: One of `TRANSPORTS`.
        flows: Number of multipath flows, at least one.
        dctcp_flows: Number of DCTCP flows; may be zero.
        delay_us: Delay of each link.
        seconds: Simulated time.
        mark: The marking threshold K in packets.
        jitter: Upper bound of a flow's random start.
        host_jitter: Upper bound of the time that a host takes to send a packet.
        multipath: The transport of `algorithm`, if it is not `transport(algorithm)`.
        dctcp: The transport of the DCTCP flows, if it is not `transport("dctcp")`.
        rate: Rate of all links.
    """
    transports = {algorithm: multipath or transport(algorithm)}
    traffic = [_bulk(algorithm, 0, flows, jitter)]
    if dctcp_flows:
        transports["dctcp"] = dctcp or transport("dctcp")
        traffic.append(_bulk("dctcp", flows, flows + dctcp_flows, jitter))
    return many_to_one(
        f"{flows}-{algorithm}-{dctcp_flows}-dctcp",
        senders=flows + dctcp_flows,
        delay_us=delay_us,
        duration=f"{seconds}s",
        transports=transports,
        traffic=traffic,
        probes=[{"kind": "queue", "at": [BOTTLENECK]}],
        mark=mark,
        host_jitter=host_jitter,
        rate=rate,
    )


def _bulk(algorithm: str, first: int, end: int, jitter: str) -> dict[str, Any]:
    return {"kind": "bulk", "transport": algorithm, "from": f"{first}..{end}", "to": "r0", "jitter": jitter}
