"""The day on which the readings of `switches` were fixed, and causes of failures, found by experiments after the runs.

Experiments have one seed and the sizes of quick versions, unless they state others.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from weft_papers.statement import Differs, Open, Origin, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft_papers.statement import Cause

FIXED = date(2026, 11, 26)


def _own(cause: Cause) -> Statement:
    return Statement(origin=Origin.WEFT, fixed=FIXED, cause=cause)


HOSTS = (
    "packets of a host wait in fair queues of its NIC (profile `linux`), which have no classes, and a short flow "
    "shares the host's rate with each subflow of the long one"
)
STATEMENTS: Mapping[str, Mapping[str, Statement]] = {
    "switches/shared-buffers": {
        "A shared buffer that gives one congested port 100 packets: incasts are as with FIFOs of 100 packets": _own(
            Differs(
                "the limit of a FIFO counts packets of any size, such as those of handshakes, and the buffer counts "
                "bytes",
                "with FIFOs of 150,000 bytes the mean FCT is at most 1.28 times that of the buffer where FIFOs differ "
                "most: AMP with k = 40 has 2.67 and 2.67 ms, and 10.5 ms with FIFOs of 100 packets. XMP with k = 20 "
                "has 1.17, 1.17 and 67.3 ms, DCM 1.87, 1.47 and 200 ms (five seeds, full size)",
            )
        ),
    },
    "switches/priorities": {
        "Strict priority: the 99th percentile of the FCT of short flows is at most half of that with FIFOs": _own(
            Differs(
                HOSTS,
                'with `hosts.qdisc = "switch"`, which gives ports of hosts the queues of switches, strict priority has '
                "0.04 to 0.3 of the FIFO's percentile",
            )
        ),
        "Strict priority: the tail of short flows does not depend on the congestion control of long flows": _own(
            Differs(
                HOSTS,
                'with `hosts.qdisc = "switch"` the largest percentile is 1.03 times the smallest: 124 to 127 us, and '
                "122 us without long flows",
            )
        ),
        "Equal weights are as good for the tail of short flows as strict priority": _own(
            Differs(
                "a short flow has half of a port's rate while long flows have packets, and the whole rate with strict "
                "priority; several subflows in the fair queues of hosts hide that",
                'with `hosts.qdisc = "switch"` equal weights have 2.2 to 2.4 times the percentile',
            )
        ),
    },
    "switches/dequeue-marks": {
        "Long flows: the mean queue is not longer with marks at dequeue": _own(
            Differs(
                "at enqueue a packet finds K packets and is the next one, at dequeue it leaves K packets behind, so "
                "that the queue is a packet longer when marks begin",
                "with K = 19 at dequeue the mean is 17.3 instead of 18 packets with 2 flows and 17.6 instead of 18.1 "
                "with 8, at full size. With 32 flows it is 26.8 in all cases, because windows are at their minimum",
            )
        ),
        "Incast: the longest queue is shorter with marks at dequeue": _own(
            Differs(
                "the longest queue is that of the first windows of ten packets, before the first mark returns",
                "with first windows of 2 packets and 20 flows it is 48 packets instead of 53. With 40 and 80 flows it "
                "is equal, because the first windows of 2 packets are also the smallest ones",
            )
        ),
        "Incast: the 99th percentile of the FCT is not larger with marks at dequeue": _own(
            Open(
                "differences are below 1 % with 40 and 80 flows and three seeds; with K = 19 at dequeue the percentile "
                "is 2285 instead of 2300 us with 40 flows, and 5388 instead of 5374 us with 80"
            )
        ),
    },
    "switches/pauses": {
        "Rounds of incast: with pauses no packet is dropped and no flow times out; with FIFOs flows do": _own(
            Differs(
                "selective acknowledgements repair nearly all losses of 36 flows without a timeout",
                "with 72 flows per round and FIFOs there are 57 timeouts by Reno and 33 by DCTCP, and none with pauses",
            )
        ),
        "Rounds of incast: the 99th percentile of the FCT is at most half of that with FIFOs": _own(
            Differs(
                "36 flows have no timeouts with FIFOs",
                "with 72 flows per round the ratio is 0.311 by Reno and 0.279 by DCTCP",
            )
        ),
    },
}
