"""Pause frames of priority flow control (IEEE 802.1Qbb), as Ethernet frames."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from weft.api import Result

_MAC_CONTROL_GROUP = bytes.fromhex("0180c2000001")
"""The address of pause frames, which bridges do not forward."""
_LOCAL = bytes.fromhex("0200")
"""The beginning of addresses that are administered locally."""
_MAC_CONTROL, _PRIORITY_PAUSE = 0x8808, 0x0101
_CLASSES = 8
_LONGEST = 0xFFFF
"""The time of a pause in quanta of 512 bits. A pause of the simulator lasts until a frame ends it."""
_MIN_FRAME = 60
"""The minimum size of a frame in bytes, without its checksum."""


def frames(result: Result, views: pl.DataFrame) -> Iterator[tuple[int, int, bool | None, bytes]]:
    """Yields the pause frames in order of time: time in nanoseconds, capture point, whether outbound, and content.

    `views` are the links that each capture point sees.
    """
    import polars as pl

    if not result.manifest["rows"].get("pause_frames"):
        return
    # One frame announces all classes that change at a time.
    rows = (
        result.pause_frames.join(views, on="link")
        .with_columns(time_ns=((pl.col("time_s") - pl.col("before_s")) * 1e9).round().cast(pl.Int64))
        .group_by("time_ns", "capture_point", "link", "outbound", maintain_order=True)
        .agg("traffic_class", "paused")
        .sort("time_ns", "capture_point", maintain_order=True)
    )
    for time_ns, point, link, outbound, classes, paused in rows.iter_rows():
        yield time_ns, point, outbound, frame(link, dict(zip(classes, paused, strict=True)))


def frame(link: int, pauses: dict[int, bool]) -> bytes:
    """Returns a frame that is sent over a link and begins (true) or ends the pauses of these classes."""
    enabled = sum(1 << number for number in pauses)
    times = (_LONGEST if pauses.get(number) else 0 for number in range(_CLASSES))
    addresses = _MAC_CONTROL_GROUP + _LOCAL + struct.pack(">I", link)
    content = struct.pack(f">HHH{_CLASSES}H", _MAC_CONTROL, _PRIORITY_PAUSE, enabled, *times)
    return (addresses + content).ljust(_MIN_FRAME, b"\0")
