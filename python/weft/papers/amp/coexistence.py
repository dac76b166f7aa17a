"""Section 3.2's setting: multipath flows beside DCTCP flows on one bottleneck, all from the beginning to the end.

Without a random start the seeds differ only in when subflows 1 to 3 open, up to 49 us after subflow 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.papers.amp.settings import RATE, K, many_to_one, transport

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from weft.spec import Experiment

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
    """`flows` flows of `algorithm` beside `dctcp_flows` of DCTCP, with the bottleneck's queue probed.

    Args:
        algorithm: One of `TRANSPORTS`.
        flows: Multipath flows, at least one.
        dctcp_flows: Any number, none included.
        delay_us: Of a link.
        seconds: Simulated.
        mark: K in packets.
        jitter: Up to how much later than 0 s a flow opens.
        host_jitter: Up to how long a host takes to send a packet.
        multipath: The transport of `algorithm`, where it is not `transport(algorithm)`.
        dctcp: That of DCTCP, likewise.
        rate: Of all links.
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
