"""The day on which the readings of `roce` were fixed, and causes of failures, found by experiments after the runs."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from weft_papers.statement import Differs, Origin, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

FIXED = date(2026, 11, 26)
END_OF_RAMP = Statement(
    origin=Origin.WEFT,
    fixed=FIXED,
    cause=Differs(
        "at the end of the ramp the probability jumps from 0.01 to 1, so that all flows slow down together; with 8 and "
        "16 flows the queue crosses it, and the fixed point of 16 flows needs a probability above 0.01",
        "with `mark_probability = 0.05` the fixed points are below the end: the mean queue is 22.9 KB with 8 flows "
        "(model 24.3 KB) and 52.0 KB with 16 (model 51.0 KB), the 99th percentile 67 and 150 KB, the goodput 37.6 and "
        "37.4 Gbps (one seed)",
    ),
)
STATEMENTS: Mapping[str, Mapping[str, Statement]] = {
    "roce/fixed-point": {
        "DCQCN: the mean queue is that of the fluid model's fixed point": END_OF_RAMP,
        "DCQCN: the 99th percentile of the queue is below the end of the ramp": END_OF_RAMP,
        "DCQCN: the bottleneck is used": END_OF_RAMP,
    },
}
