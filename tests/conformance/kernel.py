"""Plays scripts against this machine's kernel: its socket is one end, a TUN device with this program the other.

Each script has a process in a network namespace of its own, which ends with the process. Needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.table import MSS

if TYPE_CHECKING:
    from tests.conformance.table import Script, Step

TOLERANCE_MS = 12.0
"""Time by which an answer may be early or late: three ticks of a kernel with 250 Hz."""
LONG_DELAY = 0.25
WHEEL = 0.125
"""Granule of the kernel's timer wheel: long timers fire late by up to this part of their delay (`calc_wheel_index`)."""
KERNEL, PEER = "192.0.2.1", "192.0.2.2"
PORT, PEER_PORT = 8080, 40000
PEER_ISN = 1000
WINDOW_SCALE = 8
TIMESTAMP_BYTES = 12
CLONE_NEWNET = 0x4000_0000
TUNSETIFF = 0x4004_54CA
SO_MAX_PACING_RATE = 47
MAX_PACING_RATE = 10**10
"""Maximum pacing rate, in bytes per second."""
IFF_TUN_WITHOUT_HEADER = 0x1001
STATES = ("open", "disorder", "cwr", "recovery", "loss")
INFINITE_SSTHRESH = 0x7FFF_FFFF


class DifferenceError(Exception):
    """The kernel answered otherwise than the script states."""


class LateError(Exception):
    """This program was too late, so that the run says nothing."""


@dataclass(frozen=True)
class Outcome:
    """The result of a script."""

    name: str
    holds: bool
    difference: str = ""


@dataclass(frozen=True)
class Segment:
    """A packet that the kernel sent."""

    time: float
    seq: int
    """First payload byte, relative to the first one of the connection."""
    length: int
    ack: int
    """Next byte expected, relative to the peer's first one."""
    flags: str
    options: dict[str, object]
    ecn: int


def enter_namespace() -> None:
    """Moves this process to a new network namespace."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def open_tun(name: str) -> int:
    """Creates a TUN device that is up, and returns its file descriptor."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_WITHOUT_HEADER))
    return tun


def ip(*arguments: str) -> None:
    """Runs `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)  # noqa: S607


def set_sysctl(name: str, value: object) -> None:
    """Sets a variable of this network namespace below `net.ipv4`."""
    (Path("/proc/sys/net/ipv4") / name).write_text(str(value))


class Player:
    """A connection between a socket of the kernel and this program."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.setup = {"cc": "cubic", "sack": True, "timestamps": False, "rtt": 100, "ecn": False, **script.setup}
        self.tun = -1
        self.socket: socket.socket | None = None
        self.isn = 0
        self.captured: list[Segment] = []
        self.now = 0.0
        self.started = 0.0
        self.sent_to_kernel = 0
        """Payload bytes of the peer that the kernel acknowledges next."""
        self.timestamps: dict[int, list[int]] = {}
        """The timestamps of each transmission, by the byte after the segment; -1 is the handshake."""
        self.echoes_original = False

    def play(self) -> None:
        """Plays the script.

        Raises:
            DifferenceError: the kernel answers otherwise.
            LateError: this program was too late.
        """
        self.configure()
        self.establish()
        for step in self.script.steps:
            try:
                getattr(self, f"do_{step.kind}")(step)
            except DifferenceError as difference:
                raise DifferenceError(f"line {step.line}, {step.text}: {difference}") from None

    def configure(self) -> None:
        enter_namespace()
        self.tun = open_tun("tun0")
        ip("address", "add", f"{KERNEL}/24", "dev", "tun0")
        ip("link", "set", "tun0", "up", "mtu", "1500")
        for name, value in {
            "tcp_sack": 1,
            "tcp_timestamps": 1,
            "tcp_slow_start_after_idle": self.setup.get("slow_start_after_idle", 0),
            "tcp_early_retrans": 3 if self.setup.get("tlp", True) else 0,
            "tcp_recovery": 1,
            "tcp_frto": 2 if self.setup.get("frto", True) else 0,
            "tcp_ecn": 2,
            "tcp_tso_win_divisor": 100,
            "tcp_min_tso_segs": 1,
            "tcp_no_metrics_save": 1,
            "tcp_rmem": "4096 540000 15728640",
            "tcp_wmem": "4096 2000000 4194304",
        }.items():
            set_sysctl(name, value)

    def establish(self) -> None:
        """Opens the connection, from this side, with a handshake of the script's round trip."""
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.setup["cc"].encode())
            listener.bind((KERNEL, PORT))
            listener.listen(1)
            options: list[tuple[str, object]] = [("MSS", MSS + (TIMESTAMP_BYTES if self.setup["timestamps"] else 0))]
            if self.setup["sack"]:
                options.append(("SAckOK", b""))
            if self.setup["timestamps"]:
                options.append(("Timestamp", (1, 0)))
            options.append(("WScale", WINDOW_SCALE))
            self.emit("SEC" if self.setup["ecn"] else "S", -1, 0, options)
            answer = self.wait_for(lambda s: "S" in s.flags, time.monotonic() + 1, "SYN/ACK")
            self.now = self.started = answer.time
            self.sleep_until(self.now + self.setup["rtt"] * 1e-3)
            self.now += self.setup["rtt"] * 1e-3
            self.emit("A", 0, 0)
            listener.settimeout(1)
            self.socket, _ = listener.accept()
        self.socket.setblocking(False)  # noqa: FBT003
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2_000_000)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.setup.get("pacing", False):
            # A maximum, which is not reached, makes TCP pace without `fq` (`sk_pacing_status`).
            self.socket.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("@L", MAX_PACING_RATE))

    # Packets.

    def emit(
        self,
        flags: str,
        seq: int,
        ack: int,
        options: list[tuple[str, object]] | None = None,
        *,
        window: int = 60_000,
        payload: bytes = b"",
        ecn: int = 0,
    ) -> None:
        """Sends a packet to the kernel. `seq` and `ack` are relative to the first payload bytes."""
        from scapy.layers.inet import IP, TCP
        from scapy.packet import Raw

        options = list(options or [])
        if self.setup["timestamps"] and "S" not in flags:
            options.append(("Timestamp", (int(time.monotonic() * 1000) & 0xFFFF_FFFF, self.echo(ack))))
        packet = IP(src=PEER, dst=KERNEL, tos=ecn) / TCP(
            sport=PEER_PORT,
            dport=PORT,
            seq=PEER_ISN + 1 + seq,
            ack=(self.isn + 1 + ack) & 0xFFFF_FFFF if "A" in flags else 0,
            flags=flags,
            window=window,
            options=options,
        )
        os.write(self.tun, bytes(packet / Raw(payload) if payload else packet))

    def echo(self, ack: int) -> int:
        """Returns the timestamp to echo: that of the segment before byte `ack`."""
        sent = self.timestamps.get(ack) or self.timestamps.get(-1) or [0]
        return sent[0 if self.echoes_original else -1]

    def receive(self, data: bytes, at: float) -> None:
        """Records a packet of the kernel."""
        from scapy.layers.inet import IP, TCP

        packet = IP(data)
        if TCP not in packet:
            return
        tcp = packet[TCP]
        flags = str(tcp.flags)
        if "S" in flags:
            self.isn = tcp.seq
        length = packet.len - packet.ihl * 4 - tcp.dataofs * 4
        seq = (tcp.seq - self.isn - 1 + 2**31) % 2**32 - 2**31
        options = dict(tcp.options)
        if "Timestamp" in options:
            value = options["Timestamp"][0]
            ends = range(seq + MSS, seq + length + 1, MSS) if length else [-1]
            for end in ends:
                self.timestamps.setdefault(end, []).append(value)
        self.captured.append(
            Segment(at, seq, length, tcp.ack - PEER_ISN - 1, flags, options, packet.tos & 3),
        )

    def poll(self, until: float) -> bool:
        """Records what the kernel sends, until something came or the time is over."""
        wait = until - time.monotonic()
        ready, _, _ = select.select([self.tun], [], [], max(wait, 0))
        if not ready:
            return False
        packets = []
        while True:
            try:
                packets.append((os.read(self.tun, 70_000), time.monotonic()))
            except BlockingIOError:
                break
        for data, at in packets:
            self.receive(data, at)
        return True

    def sleep_until(self, until: float) -> None:
        """Waits, and records what the kernel sends."""
        self.poll(time.monotonic())
        while time.monotonic() < until:
            self.poll(until)
        if time.monotonic() - until > TOLERANCE_MS * 0.5e-3:
            raise LateError(f"{(time.monotonic() - until) * 1e3:.1f} ms late")

    def wait_for(self, wanted: object, until: float, what: str) -> Segment:
        """Returns the first packet that is wanted, and removes it."""
        while True:
            for i, segment in enumerate(self.captured):
                if wanted(segment):  # type: ignore[operator]
                    return self.captured.pop(i)
            late = time.monotonic() - until
            if late > TOLERANCE_MS * 0.5e-3:
                raise LateError(f"{late * 1e3:.1f} ms late")
            if not self.poll(until) and time.monotonic() > until:
                raise DifferenceError(f"no {what}")

    def act_at(self, step: Step) -> None:
        """Waits for the time of a step at which this side acts. Nothing unexpected may have come before."""
        at = self.now + step.after_ms * 1e-3
        if step.after_ms == 0:
            self.poll(time.monotonic() + 2e-3)
            at = time.monotonic()
        else:
            self.sleep_until(at)
        self.now = at
        self.expect_nothing()

    def expect_nothing(self) -> None:
        if not self.setup.get("checks_data", True):
            self.captured.clear()
        extra = [s for s in self.captured if s.length > 0]
        if extra:
            raise DifferenceError("sent " + ", ".join(describe(s) for s in extra))

    # Steps of the peer of a sender.

    def do_write(self, step: Step) -> None:
        self.act_at(step)
        assert self.socket
        self.socket.send(bytes(round(float(step.words[0]) * MSS)))

    def do_ack(self, step: Step) -> None:
        self.act_at(step)
        blocks = step.ranges("dsack") + step.ranges("sack")
        options: list[tuple[str, object]] = []
        if blocks:
            edges = [(self.isn + 1 + edge) & 0xFFFF_FFFF for block in blocks for edge in block]
            options = [("NOP", None), ("NOP", None), ("SAck", tuple(edges))]
        window = step.option("win")
        scaled = 60_000 if window is None else (int(window) * MSS) >> WINDOW_SCALE
        ack = round(float(step.words[0]) * MSS)
        self.echoes_original = "echoes-original" in step.words
        self.emit("EA" if "ece" in step.words else "A", self.sent_to_kernel, ack, options, window=scaled)

    def do_send(self, step: Step) -> None:
        """Expects data."""
        ranges = [word for word in step.words if word[0].isdigit()]
        first, last = self.now + step.after_ms * 1e-3, self.now + step.until_ms * 1e-3
        at = 0.0
        for text in ranges:
            start, end = byte_range_of(text)
            while start < end:
                segment = self.wait_for(lambda s: s.length > 0, last + self.lateness(last), f"segment {start / MSS:g}")
                at = segment.time
                length = min(end, start - start % MSS + MSS) - start
                if segment.seq != start or segment.length != length:
                    raise DifferenceError(f"sent {describe(segment)}, not {start / MSS:g}")
                self.check_flags(segment, step)
                self.check_time(at, first, last)
                start += segment.length
        self.now = at if step.after_ms > 0 else self.now

    def check_flags(self, segment: Segment, step: Step) -> None:
        if "ect" in step.words and segment.ecn == 0:
            raise DifferenceError("not ECN-capable")
        if ("C" in segment.flags) != ("cwr" in step.words):
            raise DifferenceError("CWR" if "C" in segment.flags else "no CWR")

    def check_time(self, at: float, first: float, last: float) -> None:
        if not first - TOLERANCE_MS * 1e-3 <= at <= last + self.lateness(last):
            raise DifferenceError(f"{(at - first) * 1e3:+.1f} ms from the stated time")

    def lateness(self, until: float) -> float:
        """Returns the time by which an answer may be later than `until`."""
        delay = until - self.now
        return TOLERANCE_MS * 1e-3 + (delay * WHEEL if delay >= LONG_DELAY else 0)

    # Steps of the peer of a receiver.

    def do_data(self, step: Step) -> None:
        """Sends data, which the application reads at once."""
        self.act_at(step)
        assert self.socket
        start, end = byte_range_of(step.words[0])
        for seq in range(start, end, MSS):
            ecn = 0 if not self.setup["ecn"] else 3 if "ce" in step.words else 2
            flags = "CA" if "cwr" in step.words else "A"
            self.emit(flags, seq, 0, payload=bytes(min(MSS, end - seq)), ecn=ecn)
            with contextlib.suppress(BlockingIOError):
                self.socket.recv(1_000_000)

    def do_reply(self, step: Step) -> None:
        """Expects an acknowledgement."""
        first, last = self.now + step.after_ms * 1e-3, self.now + step.until_ms * 1e-3
        segment = self.wait_for(lambda s: s.length == 0, last + self.lateness(last), "acknowledgement")
        expected = round(float(step.words[0]) * MSS)
        if segment.ack != expected:
            raise DifferenceError(f"acknowledged {segment.ack / MSS:g}")
        blocks = self.blocks(segment)
        for block in step.ranges("sack"):
            if not blocks or blocks[0] != block:
                raise DifferenceError(f"reported {blocks}")
        is_dsack = bool(blocks) and (
            blocks[0][1] <= segment.ack or (len(blocks) > 1 and blocks[1][0] <= blocks[0][0] <= blocks[1][1])
        )
        if is_dsack != ("dsack" in step.words):
            raise DifferenceError(f"reported {blocks}")
        if ("E" in segment.flags) != ("ece" in step.words):
            raise DifferenceError("ECE" if "E" in segment.flags else "no ECE")
        self.check_time(segment.time, first, last)
        self.now = segment.time if step.after_ms > 0 else self.now

    def blocks(self, segment: Segment) -> list[tuple[int, int]]:
        """Returns the blocks of a selective acknowledgement, relative to the peer's first byte."""
        edges = segment.options.get("SAck", ())
        assert isinstance(edges, tuple)
        relative = [edge - PEER_ISN - 1 for edge in edges]
        return list(zip(relative[::2], relative[1::2], strict=True))

    def do_info(self, step: Step) -> None:
        """Expects values of the socket."""
        if step.after_ms > 0:
            self.sleep_until(self.now + step.after_ms * 1e-3)
            self.now += step.after_ms * 1e-3
        else:
            self.poll(time.monotonic() + 2e-3)
        values = self.info()
        for word in step.words:
            name, expected = word.split("=")
            if str(values[name]) != expected:
                raise DifferenceError(f"{name} is {values[name]}")

    def info(self) -> dict[str, object]:
        """Returns the values of `TCP_INFO`."""
        assert self.socket
        raw = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 120)
        words = struct.unpack_from("=24I", raw, 8)
        ssthresh = words[17]
        return {
            "state": STATES[raw[1]],
            "unacked": words[4],
            "sacked": words[5],
            "lost": words[6],
            "retrans": words[7],
            "ssthresh": "inf" if ssthresh == INFINITE_SSTHRESH else ssthresh,
            "cwnd": words[18],
        }


def byte_range_of(text: str) -> tuple[int, int]:
    """Returns a range of segments in bytes; a single number is one segment."""
    from tests.conformance.table import byte_range

    return byte_range(text) if "-" in text else byte_range(f"{text}-{float(text) + 1}")


def describe(segment: Segment) -> str:
    """Returns the segments of a packet."""
    return f"{segment.seq / MSS:g}-{(segment.seq + segment.length) / MSS:g}"


def player_of(script: Script) -> Player:
    """Returns the player for a script."""
    if script.setup.get("mptcp", False):
        from tests.conformance.mptcp import MptcpPlayer

        return MptcpPlayer(script)
    return Player(script)


def play(script: Script, tries: int = 4) -> Outcome:
    """Plays a script in a process of its own. A run in which this program was late says nothing and is repeated."""
    # The import takes longer than a script may wait.
    import scapy.layers.inet  # noqa: F401

    difference = ""
    for _ in range(tries):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            text = play_here(script)
            os.write(writer, text.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            difference = pipe.read()
        os.waitpid(child, 0)
        if not difference.startswith("late"):
            break
    return Outcome(script.name, holds=not difference, difference=difference)


def play_here(script: Script) -> str:
    """Plays a script in this process, and returns the difference."""
    # Other programs of a busy machine must not delay this one, which sleeps most of the time.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        player_of(script).play()
    except DifferenceError as difference:
        return str(difference)
    except LateError as late:
        return f"late: {late}"
    except Exception as error:  # noqa: BLE001
        return f"driver: {error!r}"
    return ""
