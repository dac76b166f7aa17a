"""Settings that the figures share: links of 40 Gbps, the ramp and the constants of DCQCN's paper (section 5.2)."""

from __future__ import annotations

from typing import Any

RATE = "40Gbps"
MARKS: dict[str, Any] = {"mark_min": "5KB", "mark_max": "200KB", "mark_probability": 0.01}
QUEUES: dict[str, Any] = {"limit": "500KB", "kind": {"name": "lossless", **MARKS}}
"""Buffers for each incoming link were chosen: pauses begin far above the ramp."""
DCQCN, PFC = "dcqcn", "pfc"
TRANSPORTS: dict[str, dict[str, Any]] = {
    DCQCN: {"kind": "roce"},
    PFC: {"kind": "roce", "roce": {"control": "none"}},
}
"""DCQCN with pauses, and pauses alone."""
