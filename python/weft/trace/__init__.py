"""Packets of a run as a pcapng file, which Wireshark and tshark read.

>>> import weft
>>> result = weft.run(experiment)  # doctest: +SKIP
>>> weft.trace.write(result, "r0.pcapng")  # doctest: +SKIP

The experiment needs a probe of kind `packets`. Each capture point becomes an interface of the
file. The interface of a node has the packets that the node sends and receives; their times are
those of departure and arrival. The interface of a link has the packets that arrive over the link.

Headers are those of TCP over IPv4. If a transport has several subflows, headers are those of
multipath TCP (RFC 8684): MP_CAPABLE, MP_JOIN with HMACs that fit the keys, and DSS. They include
MP_PRIO if the run also has a probe of kind `flow`. The simulator suppresses a subflow without a
packet, so MP_PRIO is on the next packet of the subflow. Timestamps are read from a clock of one
millisecond at the capture point. Payload is left out.

Pause frames of `lossless` queues are Ethernet frames, MAC control frames of priority flow control.
They have an interface of their own, with the name of the capture point. A pause has the maximum
time, because a pause of the simulator lasts until a frame ends it.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import UsageError
from weft.version import __version__

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from weft.api import Result
    from weft.trace.pcapng import Writer


@dataclass(frozen=True)
class TraceFile:
    """The content of a file."""

    file: Path
    packets: dict[str, int]
    """Number of packets by capture point."""


def write(run: Result | str | PathLike[str], file: str | PathLike[str]) -> TraceFile:
    """Writes the recorded packets.

    Args:
        run: A result, or the folder of one.
        file: A file that does not exist yet.

    Raises:
        OutputError: The file exists, or cannot be written.
        UsageError: The folder is not that of a run, no packets were recorded, or the delay of a link changes.
    """
    from weft.api import Result
    from weft.output import new_file
    from weft.trace.pcapng import Writer

    result = run if isinstance(run, Result) else Result.read(run)
    spec = result.manifest["spec"]
    named = [point for probe in spec["probes"] if probe["kind"] == "packets" for point in probe["at"]]
    if not named:
        raise UsageError('trace: the run has no recorded packets; add a probe of kind "packets" to the spec')
    if any(event.get("delay") for event in spec.get("events", [])):
        # A packet leaves at its time of arrival minus the delay.
        raise UsageError("trace: not possible with events that change the delay of links; remove them")
    path = Path(file)
    with new_file(path) as new, new.open("wb") as to:
        writer = Writer(to, f"weft {__version__}")
        counts = _write(writer, result, list(dict.fromkeys(named)))
    return TraceFile(path, counts)


def _write(writer: Writer, result: Result, points: list[str]) -> dict[str, int]:
    import polars as pl

    from weft.trace.pauses import frames
    from weft.trace.pcapng import ETHERNET, INBOUND, OUTBOUND
    from weft.trace.segments import Segments, packets

    segments = Segments(result)
    writer.names({address: name for name, address in segments.hosts.items()})
    views, names = _views(result.links, points)
    numbers = [writer.interface(name) for name in names]
    seen = (
        result.packets.join(views, on="link")
        .with_columns(time_ns=((pl.col("time_s") - pl.col("before_s")) * 1e9).round().cast(pl.Int64))
        .sort("time_ns", "capture_point", maintain_order=True)
    )
    directions = {True: OUTBOUND, False: INBOUND, None: None}
    pauses = list(frames(result, views))
    ethernet = {point: writer.interface(names[point], ETHERNET) for point in sorted({point for _, point, *_ in pauses})}
    waiting = deque(pauses)
    for packet, outbound in zip(packets(seen), seen["outbound"], strict=True):
        while waiting and waiting[0][0] <= packet.time_ns:
            _write_pause(writer, waiting.popleft(), ethernet, directions)
        head, length = segments.make(packet)
        writer.packet(numbers[packet.capture_point], packet.time_ns, head, length, directions[outbound])
    for pause in waiting:
        _write_pause(writer, pause, ethernet, directions)
    counts = Counter(dict(seen.group_by("capture_point").len().iter_rows()))
    counts.update(point for _, point, *_ in pauses)
    return {name: counts[number] for number, name in enumerate(names)}


def _write_pause(
    writer: Writer,
    pause: tuple[int, int, bool | None, bytes],
    interfaces: dict[int, int],
    directions: dict[bool | None, int | None],
) -> None:
    time_ns, point, outbound, content = pause
    writer.packet(interfaces[point], time_ns, content, len(content), directions[outbound])


def _views(links: pl.DataFrame, named: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Returns the links that each capture point sees, and the names of the points.

    A row also has the time between capture and arrival of a packet, and whether it is outbound. A
    node is one capture point; a layer has one for each of its links.
    """
    import polars as pl

    rows: list[tuple[int, int, float, bool | None]] = []
    names: list[str] = []
    ends = links.select("link", "from", "to", "layer", "delay_s").rows()
    for name in named:
        at_node = [(link, delay, name == start) for link, start, end, _, delay in ends if name in (start, end)]
        if at_node:
            rows += [(len(names), link, delay if out else 0.0, out) for link, delay, out in at_node]
            names.append(name)
            continue
        start, _, end = (word.strip() for word in name.partition("->"))
        for link, *nodes, layer, _ in ends:
            if layer == name or nodes == [start, end]:
                rows.append((len(names), link, 0.0, None))
                names.append("->".join(nodes))
    schema = {"capture_point": pl.UInt32, "link": pl.UInt32, "before_s": pl.Float64, "outbound": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row"), names
