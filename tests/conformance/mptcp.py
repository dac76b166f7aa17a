"""Plays scripts of several subflows against the kernel's MPTCP (RFC 8684, version 1).

In scripts of a sender the kernel connects, and its path manager joins. In scripts of a receiver the kernel listens, and
this program joins.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.conformance.kernel import (
    KERNEL,
    PEER,
    PEER_ISN,
    PORT,
    WINDOW_SCALE,
    DifferenceError,
    Player,
    Segment,
    byte_range_of,
    describe,
    ip,
)
from tests.conformance.table import MSS

if TYPE_CHECKING:
    from tests.conformance.table import Script, Step

KIND = 30
CAPABLE, JOIN, DSS, PRIO = 0, 1, 2, 5
VERSION = 1
HMAC_SHA256 = 1
ACKS, ACKS_64, MAPS, MAPS_64 = 1, 2, 4, 8
PEER_KEY = struct.pack(">Q", 2)
PEER_NONCE = struct.pack(">I", 7)
SECOND_KERNEL, SECOND_PEER = "192.0.2.3", "192.0.2.4"
FULL_MSS = 1460
SYN_LENGTH, SYN_ACK_LENGTH, ACK_LENGTH = 12, 16, 24


def first_data_byte(key: bytes) -> int:
    """Returns the sequence number of the first data byte of the host with this key."""
    return (int.from_bytes(hashlib.sha256(key).digest()[24:], "big") + 1) % 2**64


def token(key: bytes) -> bytes:
    """Returns the token of a host."""
    return hashlib.sha256(key).digest()[:4]


def join_hmac(key: bytes, other_key: bytes, nonce: bytes, other_nonce: bytes) -> bytes:
    """Returns the authentication of a host in a join; its own key and nonce come first."""
    return hmac.new(key + other_key, nonce + other_nonce, hashlib.sha256).digest()


@dataclass
class Path:
    """A subflow."""

    kernel: str
    peer: str
    kernel_port: int
    peer_port: int
    isn: int = 0
    sent: int = 0
    """Payload bytes that this program has sent on it."""
    captured: list[tuple[Segment, list[bytes]]] = field(default_factory=list)


class MptcpPlayer(Player):
    """A connection of several subflows between a socket of the kernel and this program."""

    paths: list[Path]
    listener: socket.socket
    kernel_key = b""
    data_acked = 0
    """Data bytes of the kernel that are acknowledged."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.acked: dict[int, int] = {}
        """Bytes of each subflow that are acknowledged."""

    @property
    def is_receiver(self) -> bool:
        return bool(self.setup.get("receiver", False))

    def establish(self) -> None:
        ip("address", "add", f"{SECOND_KERNEL}/24", "dev", "tun0")
        ip("mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8")
        if self.is_receiver:
            self.accept()
        else:
            if self.setup.get("subflows", 1) > 1:
                ip("mptcp", "endpoint", "add", SECOND_KERNEL, "dev", "tun0", "subflow")
            self.connect()
        assert self.socket
        self.socket.setblocking(False)  # noqa: FBT003

    def connect(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
        self.socket.setblocking(False)  # noqa: FBT003
        self.paths = []
        with contextlib.suppress(BlockingIOError):
            self.socket.connect((PEER, PORT))
        syn, _ = self.wait_on(0, CAPABLE, "SYN")
        self.now = self.started = syn.time
        self.sleep_until(self.now + self.setup["rtt"] * 1e-3)
        self.now += self.setup["rtt"] * 1e-3
        self.answer(0, "SA", [self.capable(PEER_KEY)])
        _, option = self.wait_on(0, CAPABLE, "third packet of the handshake")
        self.kernel_key = option[2:10]
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def accept(self) -> None:
        # Joins are for the listening socket, which therefore stays open.
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
        self.listener.bind(("0.0.0.0", PORT))  # noqa: S104
        self.listener.listen(1)
        self.paths = [Path(KERNEL, PEER, PORT, 40000)]
        self.answer(0, "S", [self.capable(b"")])
        answer, option = self.wait_on(0, CAPABLE, "SYN/ACK")
        self.kernel_key = option[2:10]
        self.now = self.started = answer.time
        self.sleep_until(self.now + self.setup["rtt"] * 1e-3)
        self.now += self.setup["rtt"] * 1e-3
        self.answer(0, "A", [self.capable(PEER_KEY + self.kernel_key)])
        self.listener.settimeout(1)
        self.socket, _ = self.listener.accept()

    # Packets.

    @staticmethod
    def capable(keys: bytes) -> bytes:
        return bytes([CAPABLE << 4 | VERSION, HMAC_SHA256]) + keys

    def dss(self, *, data: int | None = None, ssn: int = 0, length: int = 0) -> bytes:
        """Returns a DSS option: a DATA_ACK, and the mapping of `data` if it is given."""
        flags = ACKS | ACKS_64 | (MAPS | MAPS_64 if data is not None else 0)
        option = struct.pack(">BBQ", DSS << 4, flags, (first_data_byte(self.kernel_key) + self.data_acked) % 2**64)
        if data is not None:
            start = (first_data_byte(PEER_KEY) + data) % 2**64
            option += struct.pack(">QIH", start, ssn + 1, length)
        return option

    def answer(self, path: int, flags: str, mptcp: list[bytes], *, ack: int = 0, payload: bytes = b"") -> None:
        """Sends a packet on a subflow. `ack` is relative to the first payload byte."""
        from scapy.layers.inet import IP, TCP
        from scapy.packet import Raw

        to = self.paths[path]
        options: list[tuple[object, object]] = []
        if "S" in flags:
            options = [("MSS", FULL_MSS), ("SAckOK", b""), ("WScale", WINDOW_SCALE)]
        options += [(KIND, option) for option in mptcp]
        # Before the first byte with payload comes the SYN.
        seq = PEER_ISN if "S" in flags else PEER_ISN + 1 + to.sent
        packet = IP(src=to.peer, dst=to.kernel) / TCP(
            sport=to.peer_port,
            dport=to.kernel_port,
            seq=seq,
            ack=(to.isn + 1 + ack) & 0xFFFF_FFFF if "A" in flags else 0,
            flags=flags,
            window=60_000,
            options=options,
        )
        os.write(self.tun, bytes(packet / Raw(payload) if payload else packet))

    def receive(self, data: bytes, at: float) -> None:
        from scapy.layers.inet import IP, TCP

        packet = IP(data)
        if TCP not in packet:
            return
        tcp = packet[TCP]
        ends = (packet.src, packet.dst, tcp.sport, tcp.dport)
        known = [p for p in self.paths if (p.kernel, p.peer, p.kernel_port, p.peer_port) == ends]
        flags = str(tcp.flags)
        if known:
            path = known[0]
        elif "S" in flags:
            path = Path(*ends)
            self.paths.append(path)
        else:
            return
        if "S" in flags:
            path.isn = tcp.seq
        length = packet.len - packet.ihl * 4 - tcp.dataofs * 4
        seq = (tcp.seq - path.isn - 1 + 2**31) % 2**32 - 2**31
        options = [bytes(value) for kind, value in tcp.options if kind in (KIND, "MPTCP") and isinstance(value, bytes)]
        segment = Segment(at, seq, length, tcp.ack - PEER_ISN - 1, flags, {}, packet.tos & 3)
        path.captured.append((segment, options))

    def wait_on(self, path: int, subtype: int, what: str, until: float = 0) -> tuple[Segment, bytes]:
        """Returns the first packet of a subflow with an option of a subtype, and the option."""
        until = until or time.monotonic() + 1
        while True:
            packets = self.paths[path].captured if path < len(self.paths) else []
            for i, (segment, options) in enumerate(packets):
                for option in options:
                    if option[0] >> 4 == subtype:
                        del packets[i]
                        return segment, option
            if not self.poll(until) and time.monotonic() > until:
                raise DifferenceError(f"no {what}")

    def expect_nothing(self) -> None:
        for path in self.paths:
            extra = [s for s, _ in path.captured if s.length > 0]
            if extra:
                raise DifferenceError("sent " + ", ".join(describe(s) for s in extra))

    # Steps.

    def path_of(self, step: Step) -> int:
        return int(step.option("on") or 0)

    def do_join(self, step: Step) -> None:
        """Expects that the kernel joins, and completes the handshake."""
        first, last = self.now + step.after_ms * 1e-3, self.now + step.until_ms * 1e-3
        path = int(step.words[0])
        syn, option = self.wait_on(path, JOIN, "join", last + self.lateness(last))
        self.check_time(syn.time, first, last)
        if option[2:6] != token(PEER_KEY):
            raise DifferenceError("token of another connection")
        nonce = option[6:10]
        self.sleep_until(syn.time + self.setup["rtt"] * 1e-3)
        proof = join_hmac(PEER_KEY, self.kernel_key, PEER_NONCE, nonce)[:8]
        self.answer(path, "SA", [bytes([JOIN << 4, 1]) + proof + PEER_NONCE])
        self.wait_on(path, JOIN, "third packet of the join")
        self.answer(path, "A", [self.dss()])
        self.poll(time.monotonic() + 5e-3)
        self.now = time.monotonic()

    def do_open(self, step: Step) -> None:
        """Joins, and expects that the kernel confirms it."""
        self.act_at(step)
        path = int(step.words[0])
        self.paths.append(Path(KERNEL, SECOND_PEER, PORT, 40001))
        self.answer(path, "S", [bytes([JOIN << 4, 1]) + token(self.kernel_key) + PEER_NONCE])
        _, option = self.wait_on(path, JOIN, "SYN/ACK of the join")
        proof, nonce = option[2:10], option[10:14]
        if proof != join_hmac(self.kernel_key, PEER_KEY, nonce, PEER_NONCE)[:8]:
            raise DifferenceError("wrong authentication")
        mine = join_hmac(PEER_KEY, self.kernel_key, PEER_NONCE, nonce)[:20]
        self.answer(path, "A", [bytes([JOIN << 4, 0]) + mine])
        self.wait_on(path, DSS, "fourth packet of the join")
        self.now = time.monotonic()

    def do_prio(self, step: Step) -> None:
        """Sets the priority of a subflow."""
        self.act_at(step)
        backup = step.words[1] == "backup"
        path = int(step.words[0])
        self.answer(path, "A", [bytes([PRIO << 4 | backup]), self.dss()], ack=self.acked.get(path, 0))
        self.poll(time.monotonic() + 5e-3)

    def do_ack(self, step: Step) -> None:
        self.act_at(step)
        path = self.path_of(step)
        self.acked[path] = round(float(step.words[0]) * MSS)
        self.data_acked = round(float(step.option("data") or 0) * MSS)
        self.answer(path, "A", [self.dss()], ack=self.acked[path])

    def do_send(self, step: Step) -> None:
        first, last = self.now + step.after_ms * 1e-3, self.now + step.until_ms * 1e-3
        path = self.path_of(step)
        start, end = byte_range_of(step.words[0])
        first_byte = start
        data = step.option("data")
        at = 0.0
        while start < end:
            segment, options = self.wait_for_data(path, last + self.lateness(last), f"segment {start / MSS:g}")
            at = segment.time
            if segment.seq != start:
                raise DifferenceError(f"sent {describe(segment)}, not {start / MSS:g}")
            if data is not None and self.data_of(options) != round(float(data) * MSS) + start - first_byte:
                raise DifferenceError(f"data {self.data_of(options) / MSS:g}")
            self.check_time(at, first, last)
            start += segment.length
        self.now = at if step.after_ms > 0 else self.now

    def wait_for_data(self, path: int, until: float, what: str) -> tuple[Segment, list[bytes]]:
        while True:
            packets = self.paths[path].captured if path < len(self.paths) else []
            for i, (segment, _) in enumerate(packets):
                if segment.length > 0:
                    return packets.pop(i)
            if not self.poll(until) and time.monotonic() > until:
                raise DifferenceError(f"no {what}")

    def data_of(self, options: list[bytes]) -> int:
        """Returns the first data byte of a segment, relative to that of the connection."""
        for option in options:
            if option[0] >> 4 == CAPABLE:
                return 0
            if option[0] >> 4 == DSS and option[1] & MAPS:
                at = 2 + (8 if option[1] & ACKS_64 else 4 if option[1] & ACKS else 0)
                wide = bool(option[1] & MAPS_64)
                start = int.from_bytes(option[at : at + (8 if wide else 4)], "big")
                return (start - first_data_byte(self.kernel_key)) % (2**64 if wide else 2**32)
        raise DifferenceError("data without a mapping")

    def do_data(self, step: Step) -> None:
        self.act_at(step)
        assert self.socket
        path = self.path_of(step)
        start, end = byte_range_of(step.words[0])
        data = round(float(step.option("data") or 0) * MSS)
        self.paths[path].sent = start
        self.answer(path, "PA", [self.dss(data=data, ssn=start, length=end - start)], payload=bytes(end - start))
        self.paths[path].sent = end
        self.poll(time.monotonic() + 2e-3)
        with contextlib.suppress(BlockingIOError):
            self.socket.recv(1_000_000)

    def do_reply(self, step: Step) -> None:
        first, last = self.now + step.after_ms * 1e-3, self.now + step.until_ms * 1e-3
        path = self.path_of(step)
        segment, option = self.wait_on(path, DSS, "acknowledgement", last + self.lateness(last))
        if segment.ack != round(float(step.words[0]) * MSS):
            raise DifferenceError(f"acknowledged {segment.ack / MSS:g}")
        wide = bool(option[1] & ACKS_64)
        acked = int.from_bytes(option[2 : 10 if wide else 6], "big")
        data = (acked - first_data_byte(PEER_KEY)) % (2**64 if wide else 2**32)
        if data != round(float(step.option("data") or 0) * MSS):
            raise DifferenceError(f"acknowledged data {data / MSS:g}")
        self.check_time(segment.time, first, last)
