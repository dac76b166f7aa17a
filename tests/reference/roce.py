"""RDMA over converged Ethernet by the laws of `docs/explanation/roce.md`, for flows with one path."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.reference.hpcc import TELEMETRY_BYTES, Hop, Hpcc, HpccRate
from tests.reference.network import Network, Packet
from tests.reference.timely import Timely, TimelyRate
from tests.reference.turns import PacedHost

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER_BYTES, ACK_BYTES, CNP_BYTES = 62, 66, 78


@dataclass(frozen=True)
class Dcqcn:
    """The settings of DCQCN. Times are in picoseconds, rates in bits per second."""

    cnp_interval: int
    alpha_interval: int
    gain: float
    increase_interval: int
    byte_counter: int
    fast_recovery: int
    increase: int
    hyper_increase: int
    min_rate: int


@dataclass(frozen=True)
class Settings:
    """The settings of a transport."""

    mtu: int
    is_selective: bool
    ack_every: int
    window: int | None
    rto: int
    dcqcn: Dcqcn | None
    timely: Timely | None = None
    hpcc: Hpcc | None = None

    @property
    def telemetry(self) -> int:
        """Bytes of telemetry in data and in an ACK."""
        return 0 if self.hpcc is None else TELEMETRY_BYTES

    @property
    def header(self) -> int:
        """Bytes of all headers of data."""
        return HEADER_BYTES + self.telemetry


@dataclass(frozen=True)
class Data:
    """The header of a data packet."""

    psn: int
    asks: bool
    is_repeated: bool
    sent_at: int


@dataclass(frozen=True)
class Answer:
    """The content of an ACK ("ack"), a NAK ("nack") or a CNP ("cnp")."""

    kind: str
    expected: int = 0
    trigger: int = 0
    sent_at: int = 0
    hops: tuple[Hop, ...] = ()


class Rate:
    """The rate of a flow, changed by events of DCQCN."""

    def __init__(self, sender: Sender, line_rate: int) -> None:
        self.sender, self.settings = sender, sender.settings.dcqcn
        self.line_rate = float(line_rate)
        self.current = self.target = self.line_rate
        self.alpha = 1.0
        self.timer_count = self.byte_count = self.bytes = 0
        self.cuts = 0
        """Number of notifications. Timers of an earlier one have no effect."""

    def on_notification(self) -> None:
        """Cuts the rate (equation 1)."""
        settings = self.settings
        if settings is None:
            return
        self.target = self.current
        least = min(float(settings.min_rate), self.line_rate)
        self.current = max(self.current * (1 - self.alpha / 2), least)
        self.alpha = (1 - settings.gain) * self.alpha + settings.gain
        self.timer_count = self.byte_count = self.bytes = 0
        self.cuts += 1
        self.repeat(settings.alpha_interval, self.decay)
        self.repeat(settings.increase_interval, self.on_timer)

    def repeat(self, interval: int, action: Callable[[], None]) -> None:
        """Calls an action after each interval until the next notification."""
        cuts = self.cuts
        host = self.sender.host

        def expire() -> None:
            if self.cuts == cuts and self.sender.acked_at is None:
                action()
                host.timer(host.network.now + interval, -1, expire)

        host.timer(host.network.now + interval, -1, expire)

    def decay(self) -> None:
        """Lowers the factor of the next cut (equation 2)."""
        assert self.settings is not None
        self.alpha *= 1 - self.settings.gain

    def on_timer(self) -> None:
        """Increases the rate after an interval."""
        self.timer_count += 1
        self.raise_rate()

    def on_sent(self, size: int) -> None:
        """Increases the rate after some bytes."""
        if self.settings is None or self.cuts == 0:
            return
        self.bytes += size
        while self.bytes >= self.settings.byte_counter:
            self.bytes -= self.settings.byte_counter
            self.byte_count += 1
            self.raise_rate()

    def raise_rate(self) -> None:
        """Recovers, adds, or adds more (equations 3 and 4)."""
        settings = self.settings
        assert settings is not None
        counts = (self.timer_count, self.byte_count)
        self.sender.counts["increase"] += max(counts) > settings.fast_recovery
        self.sender.counts["hyper increase"] += min(counts) > settings.fast_recovery
        if min(counts) > settings.fast_recovery:
            self.target += (min(counts) - settings.fast_recovery) * settings.hyper_increase
        elif max(counts) > settings.fast_recovery:
            self.target += settings.increase
        self.target = min(self.target, self.line_rate)
        self.current = 0.5 * (self.target + self.current)


class Sender:
    """The sender of a flow."""

    def __init__(self, host: RoceHost, number: int, flow: int, to: str, size: int) -> None:
        self.host, self.number, self.flow, self.to = host, number, flow, to
        self.settings = host.settings
        header = self.settings.header
        payload = self.settings.mtu - header
        self.sizes = [min(payload, size - first) + header for first in range(0, size, payload)]
        window = self.settings.window
        self.window = len(self.sizes) if window is None else window // self.settings.mtu
        self.una = self.new = 0
        """The first packet that is not acknowledged, and the next one that was never sent."""
        self.again: list[int] = []
        """Packets to send again in order."""
        self.known: set[int] = set()
        """Packets that NAKs say have arrived (selective repeat)."""
        self.lost_before = self.searched = 0
        """Missing packets before the first are lost; those before the second have been sent again."""
        self.next_at = host.network.now
        self.last = 0, 0
        """Time and size of the last packet that was sent."""
        self.deadline: int | None = None
        self.waits = self.has_timer = False
        self.pace_key, self.pace_waits = 3 * number, 0
        self.acked_at: int | None = None
        self.counts: Counter[str] = Counter()
        self.rate = self.control(host.port.rate)

    def control(self, line_rate: int) -> Rate | TimelyRate | HpccRate:
        """The congestion control of a flow on a link of this rate."""
        settings = self.settings
        if settings.timely is not None:
            return TimelyRate(settings.timely, line_rate, self.counts)
        if settings.hpcc is not None:
            return HpccRate(settings.hpcc, line_rate, self.counts)
        return Rate(self, line_rate)

    def repeated(self) -> int | None:
        """The packet that is sent again next."""
        if self.settings.is_selective:
            first = max(self.searched, self.una)
            missing = (psn for psn in range(first, self.lost_before) if psn not in self.known)
            return next(missing, None)
        self.again = [psn for psn in self.again if psn >= self.una]
        return self.again[0] if self.again else None

    def may_send_new(self) -> bool:
        """Whether the window allows a new packet."""
        in_flight = self.new - self.una
        if isinstance(self.rate, HpccRate) and in_flight * self.settings.mtu >= self.rate.window:
            return False
        return self.new < len(self.sizes) and in_flight < self.window

    def may_send(self) -> bool:
        """Whether there is a packet that may be sent, whatever the rate."""
        return self.acked_at is None and (self.repeated() is not None or self.may_send_new())

    def send(self) -> int:
        """Sends the next packet, one that is sent again or a new one, and returns its size."""
        now = self.host.network.now
        psn = self.repeated()
        is_repeated = psn is not None
        if psn is None:
            psn = self.new
            self.new += 1
        elif self.settings.is_selective:
            self.searched = psn + 1
        else:
            self.again.pop(0)
        self.counts["sent"] += 1
        self.counts["retransmitted"] += is_repeated
        if self.deadline is None:
            self.deadline = now + self.settings.rto
        size = self.sizes[psn]
        rate = self.rate.current
        self.rate.on_sent(size)
        self.last = now, size
        self.next_at = self.time_after(rate)
        data = Data(psn, not self.may_send(), is_repeated, now)
        is_ecn_capable = self.settings.dcqcn is not None
        packet = Packet(self.flow, size, data, is_data=True, is_ecn_capable=is_ecn_capable)
        if self.settings.hpcc is not None:
            packet.hops = []
        self.host.send(packet, self.to)
        return size

    def time_after(self, rate: float) -> int:
        """The time from which on a rate allows the packet after the last one."""
        sent_at, size = self.last
        return sent_at + int(size * 8e12 / rate) if rate < self.rate.line_rate else sent_at

    def on_answer(self, answer: Answer) -> None:
        """Handles an ACK, a NAK or a CNP."""
        self.counts[answer.kind] += 1
        if answer.kind == "cnp":
            self.rate.on_notification()
            return
        if self.acked_at is not None:
            return
        now = self.host.network.now
        if answer.kind == "ack" and isinstance(self.rate, TimelyRate):
            self.rate.on_ack(answer.expected, self.new, now - answer.sent_at)
        if answer.kind == "ack" and isinstance(self.rate, HpccRate):
            self.rate.on_ack(answer.expected, self.new, list(answer.hops))
            self.next_at = self.time_after(self.rate.current)
            if self.waits and self not in self.host.turns:
                # It waits for the new pace.
                self.pace_waits += 1
                self.waits = False
        if answer.expected > self.una:
            self.una = answer.expected
            self.deadline = now + self.settings.rto if self.una < self.new else None
            if self.una == len(self.sizes):
                self.acked_at = now
                return
        if answer.kind == "nack" and answer.expected == self.una:
            if self.settings.is_selective:
                self.known.add(answer.trigger)
                self.lost_before = max(self.lost_before, answer.trigger)
            else:
                self.again = list(range(self.una, self.new))
        self.host.request(self)

    def set_timer(self) -> None:
        """Waits for the timeout."""
        if self.deadline is not None and not self.has_timer:
            self.has_timer = True
            self.host.timer(self.deadline, 3 * self.number + 1, self.on_timer)

    def on_timer(self) -> None:
        """Sends all packets again that are not known to have arrived."""
        self.has_timer = False
        if self.acked_at is None and self.deadline is not None and self.host.network.now >= self.deadline:
            self.counts["timeouts"] += 1
            self.again = list(range(self.una, self.new))
            self.searched, self.lost_before = self.una, self.new
            self.deadline = None
        self.set_timer()
        self.host.request(self)


class Receiver:
    """The receiver of a flow."""

    def __init__(self, number: int, flow: int) -> None:
        self.number, self.flow = number, flow
        self.arrived: set[int] = set()
        self.expected = self.unacked = self.bytes = 0
        self.has_reported = False
        self.quiet_until = 0
        self.owes_notification = False
        self.last_at: int | None = None


class RoceHost(PacedHost[Sender]):
    """A host with flows of RDMA."""

    def __init__(self, network: Network, name: str, settings: Settings) -> None:
        super().__init__(network, name, settings.mtu)
        self.settings = settings

    def open(self, flow: int, to: str, size: int) -> None:
        """Opens a flow at the rate of its link."""
        sender = Sender(self, len(self.senders), flow, to, size)
        self.senders[flow] = sender
        self.request(sender)

    def on_packet(self, packet: Packet) -> None:
        """Handles a packet."""
        if packet.is_data:
            self.on_data(packet, packet.info)
        else:
            self.senders[packet.flow].on_answer(packet.info)

    def on_data(self, packet: Packet, data: Data) -> None:
        """Answers a data packet."""
        receiver = self.receivers.setdefault(packet.flow, Receiver(len(self.receivers), packet.flow))
        answer = self.accept(receiver, data, packet.size)
        if packet.is_marked and self.settings.dcqcn is not None:
            if self.network.now >= receiver.quiet_until and not receiver.owes_notification:
                self.notify(receiver)
            elif not receiver.owes_notification:
                receiver.owes_notification = True
                self.timer(receiver.quiet_until, 3 * receiver.number + 2, lambda: self.notify(receiver))
        if answer is not None:
            size = ACK_BYTES
            if answer.kind == "ack" and packet.hops is not None:
                answer, size = replace(answer, hops=tuple(packet.hops)), size + TELEMETRY_BYTES
            self.send(Packet(packet.flow, size, answer), self.network.sources[packet.flow])

    def accept(self, receiver: Receiver, data: Data, size: int) -> Answer | None:
        """Keeps or discards a packet, and returns the answer."""
        is_next = data.psn == receiver.expected
        is_repeated = data.psn in receiver.arrived
        if not is_repeated and (is_next or self.settings.is_selective):
            receiver.arrived.add(data.psn)
            receiver.bytes += size - self.settings.header
            receiver.last_at = self.network.now
        while receiver.expected in receiver.arrived:
            receiver.expected += 1
        if is_next or is_repeated:
            if is_next:
                receiver.has_reported = False
            receiver.unacked += 1
            if not (data.asks or data.is_repeated) and receiver.unacked < self.settings.ack_every:
                return None
            receiver.unacked = 0
            return Answer("ack", receiver.expected, sent_at=data.sent_at)
        if receiver.has_reported and not self.settings.is_selective:
            return None
        receiver.has_reported, receiver.unacked = True, 0
        return Answer("nack", receiver.expected, data.psn)

    def notify(self, receiver: Receiver) -> None:
        """Sends a congestion notification, the last one for some time."""
        assert self.settings.dcqcn is not None
        receiver.quiet_until = self.network.now + self.settings.dcqcn.cnp_interval
        receiver.owes_notification = False
        packet = Packet(receiver.flow, CNP_BYTES, Answer("cnp"))
        self.send(packet, self.network.sources[receiver.flow])
