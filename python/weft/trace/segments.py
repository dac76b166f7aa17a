"""Conversion of rows of the table `packets` to IPv4 packets with headers of TCP and multipath TCP.

The simulator's packets carry the data that the simulation needs. Other data is generated here,
always the same for a seed: addresses, ports, initial sequence numbers, keys and nonces. Payload is
zeros, and is left out of the file as in a capture of headers only.
"""

from __future__ import annotations

import hashlib
import re
import struct
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from weft.trace import options as opt
from weft.trace.options import Key

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from weft.api import Result

FIN, SYN, ACK, ECE, CWR = 0x01, 0x02, 0x10, 0x40, 0x80
ECT_0, CE = 2, 3
TCP = 6
DONT_FRAGMENT = 0x4000
SERVER_PORT, FIRST_PORT, PORTS = 5001, 10_000, 50_000
FROM_SENDER = frozenset({"syn", "handshake-ack", "join-ack", "data", "data-fin", "fin"})


@dataclass(frozen=True)
class Packet:
    """A row of the table `packets`, at the time at which the capture point saw it."""

    time_ns: int
    capture_point: int
    flow: int
    subflow: int
    kind: str
    seq: int
    bytes: int
    chunk: int
    sack_from: int | None
    sack_to: int | None
    ect: bool
    ce: bool
    ece: bool
    cwr: bool


@dataclass
class Subflow:
    """The constant data of a subflow's packets, and the state after its previous packets."""

    ends: tuple[IPv4Address, IPv4Address]
    ports: tuple[int, int]
    first: tuple[int, int]
    """Initial sequence numbers of sender and receiver."""
    nonces: tuple[bytes, bytes]
    sent: int = 0
    """Bytes that the sender has sent, as far as captured."""
    finished: bool = False
    answered: bool = False
    """Whether the receiver has answered the FIN."""
    backup: dict[int, bool] = field(default_factory=dict)
    """The priority that was last signalled, by capture point."""
    clocks: dict[tuple[int, bool], int] = field(default_factory=dict)
    """The last timestamp seen at a capture point, from the sender (true) or the receiver."""


@dataclass(frozen=True)
class Flow:
    """The constant data of a flow's packets."""

    sender: Key
    receiver: Key
    multipath: bool
    ecn: bool
    mss: int
    size: int | None
    chunks: int | None
    timestamps: bool
    selective: bool
    capable_by_data: bool
    """Whether the first data packet ends the handshake and carries the keys."""
    window: int
    shift: int

    def offset(self, chunk: int) -> int:
        """Returns the position of the first byte of a chunk in the connection's data."""
        return chunk * self.mss if self.size is None else min(chunk * self.mss, self.size)

    @property
    def tells_end(self) -> bool:
        """Whether the last data packet carries a DATA_FIN. A first data packet that carries the keys does not."""
        return self.multipath and self.chunks is not None and not (self.capable_by_data and self.chunks == 1)


class Segments:
    """A generator of the packets of a run."""

    def __init__(self, result: Result) -> None:
        self._seed = result.manifest["seed"]
        self._transports = result.manifest["spec"]["transports"]
        flows = result.flows.select("flow", "from", "to", "transport", "size_bytes")
        self._rows = {row[0]: row[1:] for row in flows.iter_rows()}
        hosts = dict.fromkeys(host for row in self._rows.values() for host in row[:2])
        self.hosts = {
            name: IPv4Address("10.0.0.0") + number for number, name in enumerate(sorted(hosts, key=_natural), 1)
        }
        """Addresses by name."""
        self._ecn = set(result.packets.filter("ect")["flow"].unique())
        self._flows: dict[int, Flow] = {}
        self._subflows: dict[tuple[int, int], Subflow] = {}
        self._opened: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._activity = _activity(result.traces)
        self._sent = 0

    def make(self, packet: Packet) -> tuple[bytes, int]:
        """Returns the headers of a packet, and its length with its payload."""
        flow = self._flow(packet.flow)
        subflow = self._subflow(packet.flow, packet.subflow)
        forward = packet.kind in FROM_SENDER
        flags, seq, ack, options = _tcp(packet, flow, subflow)
        if flow.multipath and forward and packet.kind != "syn":
            options += self._priority(packet, subflow)
        if flow.timestamps:
            options = _timestamps(packet, subflow, forward=forward) + options
        options = opt.padded(options)
        ports, ends = subflow.ports, subflow.ends
        if not forward:
            ports, ends = ports[::-1], ends[::-1]
        words = 5 + len(options) // 4
        window = min(flow.window, 0xFFFF) if flags & SYN else flow.window >> flow.shift
        head = struct.pack("!HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, words << 4, flags, window, 0, 0) + options
        length = len(head) + packet.bytes
        pseudo = ends[0].packed + ends[1].packed + struct.pack("!HH", TCP, length)
        head = head[:16] + struct.pack("!H", _checksum(pseudo + head)) + head[18:]
        codepoint = CE if packet.ce else ECT_0 if packet.ect else 0
        self._sent = (self._sent + 1) & 0xFFFF
        ip = struct.pack("!BBHHHBBH", 0x45, codepoint, 20 + length, self._sent, DONT_FRAGMENT, 64, TCP, 0)
        ip += ends[0].packed + ends[1].packed
        ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
        return ip + head, 20 + length

    def _flow(self, index: int) -> Flow:
        if index in self._flows:
            return self._flows[index]
        _, _, transport, size = self._rows[index]
        spec = self._transports[transport]
        tcp = spec["tcp"]
        mss, buffer = _size_in_bytes(tcp["mss"]), _size_in_bytes(tcp["receive_buffer"])
        shift = min(14, max(0, buffer.bit_length() - 16))
        self._flows[index] = Flow(
            sender=Key(self._random("sender", index, length=8)),
            receiver=Key(self._random("receiver", index, length=8)),
            multipath=spec["subflows"] > 1,
            ecn=index in self._ecn,
            mss=mss,
            size=size,
            chunks=None if size is None else -(-size // mss),
            timestamps=tcp["timestamps"],
            selective=tcp["recovery"] != "newreno",
            capable_by_data=not tcp["full_handshakes"],
            window=min(buffer, 0xFFFF << shift),
            shift=shift,
        )
        return self._flows[index]

    def _subflow(self, flow: int, index: int) -> Subflow:
        if (flow, index) in self._subflows:
            return self._subflows[flow, index]
        sender, receiver, _, _ = self._rows[flow]
        number = self._opened[sender, receiver]
        self._opened[sender, receiver] += 1
        first = [int.from_bytes(self._random("first", flow, index, end, length=4), "big") for end in range(2)]
        nonces = [self._random("nonce", flow, index, end, length=4) for end in range(2)]
        self._subflows[flow, index] = Subflow(
            ends=(self.hosts[sender], self.hosts[receiver]),
            ports=(FIRST_PORT + number % PORTS, SERVER_PORT + number // PORTS),
            first=(first[0], first[1]),
            nonces=(nonces[0], nonces[1]),
        )
        return self._subflows[flow, index]

    def _random(self, *what: object, length: int) -> bytes:
        return hashlib.sha256(repr((self._seed, *what)).encode()).digest()[:length]

    def _priority(self, packet: Packet, subflow: Subflow) -> bytes:
        """Returns MP_PRIO if the algorithm has suppressed or released the subflow since its previous packet."""
        times, active = self._activity.get((packet.flow, packet.subflow), ([], []))
        last = bisect_right(times, packet.time_ns) - 1
        backup = last >= 0 and not active[last]
        if subflow.backup.get(packet.capture_point, False) == backup:
            return b""
        subflow.backup[packet.capture_point] = backup
        return opt.mp_prio(backup=backup)


def _tcp(packet: Packet, flow: Flow, subflow: Subflow) -> tuple[int, int, int, bytes]:
    """Returns flags, sequence number, acknowledgement number, and options without timestamps."""
    ours, theirs = (first + 1 for first in subflow.first)
    end = ours + subflow.sent
    match packet.kind:
        case "syn":
            return SYN | (ECE | CWR if flow.ecn else 0), ours - 1, 0, _opening(packet, flow, subflow)
        case "syn-ack":
            return SYN | ACK | (ECE if flow.ecn else 0), theirs - 1, ours, _opening(packet, flow, subflow)
        case "data":
            subflow.sent = max(subflow.sent, packet.seq + packet.bytes)
            return ACK | (CWR if packet.cwr else 0), ours + packet.seq, theirs, _mapping(packet, flow)
        case "ack":
            acked = ours + packet.seq + int(subflow.answered)
            return ACK | (ECE if packet.ece else 0), theirs + int(subflow.answered), acked, _acked(packet, flow, ours)
        case "data-fin":
            number = flow.sender.first_data + 1 + packet.chunk * flow.mss
            known = flow.receiver.first_data + 1
            options = opt.data_mapping(known, number, 0, 1, fin=True) if flow.multipath else b""
            return ACK, end, theirs, options
        case "fin":
            subflow.finished = True
            return FIN | ACK, end, theirs, b""
        case "fin-ack":
            subflow.answered = True
            return FIN | ACK, theirs, end + 1, b""
        case "join-confirmed":
            return ACK, theirs, ours, b""
        case _:  # the last packet of a handshake, or of a close
            if subflow.finished:
                return ACK, end + 1, theirs + 1, b""
            return ACK, ours, theirs, _confirming(packet, flow, subflow)


def _opening(packet: Packet, flow: Flow, subflow: Subflow) -> bytes:
    """Returns the options of a SYN or SYN/ACK."""
    common = (
        opt.max_segment_size(flow.mss) + (opt.SACK_PERMITTED if flow.selective else b"") + opt.window_scale(flow.shift)
    )
    if not flow.multipath:
        return common
    syn = packet.kind == "syn"
    if packet.subflow == 0:
        return common + (opt.mp_capable() if syn else opt.mp_capable(flow.receiver))
    if syn:
        return common + opt.join_syn(packet.subflow, flow.receiver, subflow.nonces[0])
    return common + opt.join_syn_ack(packet.subflow, flow.sender, flow.receiver, subflow.nonces)


def _confirming(packet: Packet, flow: Flow, subflow: Subflow) -> bytes:
    """Returns the options of a handshake's third packet."""
    if not flow.multipath:
        return b""
    if packet.subflow == 0:
        return opt.mp_capable(flow.sender, flow.receiver)
    return opt.join_ack(flow.sender, flow.receiver, subflow.nonces)


def _mapping(packet: Packet, flow: Flow) -> bytes:
    """Returns the mapping of a packet to the connection's data."""
    if not flow.multipath:
        return b""
    if flow.capable_by_data and packet.subflow == 0 and packet.seq == 0:
        return opt.mp_capable(flow.sender, flow.receiver, data_length=packet.bytes)
    fin = flow.tells_end and packet.chunk + 1 == flow.chunks
    number = flow.sender.first_data + 1 + flow.offset(packet.chunk)
    known = flow.receiver.first_data + 1
    return opt.data_mapping(known, number, packet.seq + 1, packet.bytes + int(fin), fin=fin)


def _acked(packet: Packet, flow: Flow, ours: int) -> bytes:
    """Returns the options of an acknowledgement."""
    options = b""
    if packet.sack_from is not None and packet.sack_to is not None:
        options = opt.sack((ours + packet.sack_from) % 2**32, (ours + packet.sack_to) % 2**32)
    if not flow.multipath:
        return options
    end = flow.tells_end and packet.chunk == flow.chunks
    return options + opt.data_ack(flow.sender.first_data + 1 + flow.offset(packet.chunk) + int(end))


def _timestamps(packet: Packet, subflow: Subflow, *, forward: bool) -> bytes:
    """Returns the timestamps of a packet.

    They are read from clocks of a millisecond, as in Linux, when the capture point sees it.
    """
    now = packet.time_ns // 1_000_000 + 1
    subflow.clocks[packet.capture_point, forward] = now
    return opt.timestamps(now, subflow.clocks.get((packet.capture_point, not forward), 0))


def _activity(traces: pl.DataFrame) -> dict[tuple[int, int], tuple[list[int], list[bool]]]:
    """Returns, for each subflow, rising times in nanoseconds, and whether it is active from each on."""
    found: dict[tuple[int, int], tuple[list[int], list[bool]]] = {}
    for flow, subflow, time, active in (
        traces.drop_nulls("active").select("flow", "subflow", "time_s", "active").iter_rows()
    ):
        times, states = found.setdefault((flow, subflow), ([], []))
        times.append(round(time * 1e9))
        states.append(active)
    return found


def _natural(name: str) -> tuple[int, str]:
    """Returns a key that sorts h2 before h10."""
    return len(name), name


def _checksum(data: bytes) -> int:
    """Returns the checksum of RFC 1071; data of odd length does not occur."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packets(rows: pl.DataFrame) -> Iterator[Packet]:
    """Yields the packets of a table with the columns `time_ns` and `capture_point` besides those of `packets`."""
    names = tuple(Packet.__dataclass_fields__)
    for row in rows.select(names).iter_rows():
        yield Packet(*row)


def _size_in_bytes(size: str) -> int:
    """Converts a size in a resolved spec, such as 1448B, to bytes."""
    found = re.fullmatch(r"([0-9.]+)([KMGT]?)(i?)B", size)
    if found is None:
        raise ValueError(f"{size!r} is not a size")
    number, prefix, binary = found.groups()
    power = "KMGT".index(prefix) + 1 if prefix else 0
    return round(float(number) * float(1024 if binary else 1000) ** power)
