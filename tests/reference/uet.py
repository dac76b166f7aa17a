"""The Ultra Ethernet transport by the laws of `docs/explanation/ultra-ethernet.md`, for flows with one path."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.reference.card import Card
from tests.reference.network import HEADER_BYTES, Host, Network, Packet
from tests.reference.uet_control import QUANTUM, Ack, Credit, Settings, Window

if TYPE_CHECKING:
    from collections.abc import Iterable

GRANT = 64
"""Quanta of a full grant."""
PACER, CARD = (1 << 32) - 2, (1 << 32) - 1
"""Keys of timers, after those of senders."""


@dataclass(frozen=True)
class Data:
    """The header of a data packet, or a request to send."""

    psn: int
    target: int
    asks: bool
    is_repeated: bool
    is_request: bool


@dataclass(frozen=True)
class Nack:
    """A report of a trimmed packet."""

    psn: int
    is_last_hop: bool


@dataclass(frozen=True)
class Pull:
    """Granted quanta."""

    granted: int


@dataclass
class Record:
    """A packet that is not known to have arrived."""

    size: int
    is_request: bool
    sent_at: int
    sends: int = 1


class Sender:
    """The sender of a flow."""

    def __init__(self, host: UetHost, number: int, flow: int, to: str, size: int) -> None:
        self.host, self.number, self.flow, self.to = host, number, flow, to
        self.settings = host.settings
        payload = self.settings.mtu - HEADER_BYTES
        self.left = deque(min(payload, size - first) + HEADER_BYTES for first in range(0, size, payload))
        """Sizes of packets that were not sent."""
        self.left_bytes = sum(self.left)
        self.total = len(self.left)
        self.counts: Counter[str] = Counter()
        self.window = None if self.settings.control == "receiver" else Window(self.settings, self.counts)
        self.credit = None if self.settings.control == "sender" else Credit(self.settings.cap)
        self.records: dict[int, Record] = {}
        """Records in the order of their last transmissions."""
        self.queued: set[int] = set()
        """Packets that wait to be sent again."""
        self.psn = 0
        self.in_flight = self.received = 0
        self.request_at: int | None = None
        self.waits = self.has_timer = False
        self.acked_at: int | None = None

    def first_queued(self) -> int | None:
        """The first packet that waits to be sent again."""
        return min(self.queued, default=None)

    def next_size(self) -> int | None:
        """The size of the next packet."""
        psn = self.first_queued()
        if psn is not None:
            return self.records[psn].size
        return self.left[0] if self.left else None

    def may_send(self) -> bool:
        """Whether window and credit allow the next packet."""
        size = self.next_size()
        if self.acked_at is not None or size is None:
            return False
        has_window = self.window is None or self.in_flight + size <= self.window.size
        return has_window and (self.credit is None or self.credit.bytes > 0)

    def send(self) -> None:
        """Sends the next packet."""
        now = self.host.network.now
        psn = self.first_queued()
        is_repeated = psn is not None
        if psn is None:
            psn, self.psn = self.psn, self.psn + 1
            record = Record(self.left.popleft(), is_request=False, sent_at=now)
            self.left_bytes -= record.size
        else:
            record = self.records.pop(psn)
            record.sent_at, record.sends = now, record.sends + 1
            self.queued.remove(psn)
            self.counts["repeated request" if record.is_request else "retransmitted"] += 1
        self.records[psn] = record
        self.counts["sent"] += not record.is_request
        if not record.is_request:
            self.in_flight += record.size
        if self.credit is not None:
            self.credit.bytes -= record.size
        data = Data(psn, self.ask(), is_repeated or self.is_last(record.size), is_repeated, record.is_request)
        self.host.card.send(self.packet(record, data), self.to)
        self.set_timer()

    def packet(self, record: Record, data: Data) -> Packet:
        """A packet with data, or a request to send."""
        is_data = not record.is_request
        return Packet(self.flow, record.size, data, is_data=is_data, is_ecn_capable=is_data)

    def is_last(self, size: int) -> bool:
        """Whether no packet of this size may follow."""
        is_full = self.window is not None and self.in_flight + size >= self.window.size
        return not self.left or is_full or (self.credit is not None and self.credit.bytes <= 0)

    def ask(self) -> int:
        """The number of quanta that a packet asks for."""
        credit = self.credit
        if credit is None:
            return 0
        bytes_ = self.left_bytes + sum(self.records[psn].size for psn in self.queued)
        if self.window is not None:
            bytes_ = min(bytes_, self.window.size + self.settings.mtu)
        bytes_ = min(bytes_, credit.cap) - credit.bytes
        if credit.is_speculating and bytes_ < self.settings.mtu and self.left:
            bytes_ = self.settings.mtu
        bytes_ = int(bytes_ / (len(self.host.card.flows) + 1))
        credit.target = credit.granted - (-bytes_ // QUANTUM)
        return credit.target

    def request_to_send(self) -> None:
        """Sends a request, unless the last one is too recent."""
        now = self.host.network.now
        is_limited = self.window is not None or not self.settings.has_quirks
        if is_limited and self.request_at is not None and now < self.request_at + self.settings.network_rtt:
            return
        self.request_at = now
        self.counts["rts"] += 1
        psn, self.psn = self.psn, self.psn + 1
        self.records[psn] = Record(HEADER_BYTES, is_request=True, sent_at=now)
        target = 0 if self.credit is None else self.credit.target
        data = Data(psn, target, asks=True, is_repeated=False, is_request=True)
        self.host.card.send_control(self.packet(self.records[psn], data), self.to)
        self.set_timer()

    def on_answer(self, answer: Ack | Nack | Pull) -> None:
        """Handles an answer of the receiver."""
        self.counts[type(answer).__name__.lower()] += 1
        if isinstance(answer, Ack):
            self.counts["marked"] += answer.is_marked
            if self.acked_at is None:
                self.on_ack(answer)
        elif isinstance(answer, Nack):
            record = self.records.get(answer.psn)
            if self.acked_at is None and record is not None and answer.psn not in self.queued:
                self.on_nack(answer, record)
        elif self.credit is not None:
            self.credit.stop_speculating()
            self.credit.on_pull(answer.granted)
        self.host.card.request(self)

    def on_ack(self, ack: Ack) -> None:
        """Handles an acknowledgement."""
        now = self.host.network.now
        count = max(0, ack.received - self.received)
        self.received += count
        self.in_flight -= count
        record = self.records.get(ack.trigger)
        rtt = None
        if record is not None and ack.trigger not in self.queued and record.sends == 1 + ack.of_repeated:
            rtt = now - record.sent_at
        delay = self.window.measure(count, rtt, ack) if self.window is not None else 0
        self.forget(psn for psn in list(self.records) if psn < ack.expected or psn in ack.later)
        if self.window is not None:
            self.window.on_ack(now, count, delay, self.in_flight, is_marked=ack.is_marked)
        if self.credit is not None:
            self.credit.stop_speculating()
        if ack.expected - self.counts["rts"] >= self.total:
            self.acked_at = now

    def forget(self, packets: Iterable[int]) -> None:
        """Removes packets that have arrived. Those that waited had been taken from the bytes in flight."""
        for psn in packets:
            record = self.records.pop(psn)
            if psn in self.queued:
                self.queued.remove(psn)
                self.in_flight += 0 if record.is_request else record.size

    def on_nack(self, nack: Nack, record: Record) -> None:
        """Handles the report of a trimmed packet."""
        if self.window is not None:
            now = self.host.network.now
            shrinks = self.credit is None or not nack.is_last_hop
            self.window.on_nack(now, record.size, now - record.sent_at, self.in_flight, shrinks=shrinks)
        self.in_flight -= record.size
        if self.credit is not None:
            self.credit.stop_speculating()
        self.queued.add(nack.psn)

    def set_timer(self) -> None:
        """Waits for the timeout of the packet that was sent first."""
        deadline = self.deadline()
        if deadline is not None and not self.has_timer and self.acked_at is None:
            self.has_timer = True
            self.host.timer(deadline, self.number, self.on_timer)

    def oldest(self) -> int | None:
        """The packet on its way that was sent first."""
        return next((psn for psn in self.records if psn not in self.queued), None)

    def deadline(self) -> int | None:
        """The time of the next timeout."""
        psn = self.oldest()
        return None if psn is None else self.records[psn].sent_at + self.settings.rto

    def on_timer(self) -> None:
        """Makes a packet that has timed out wait, and asks for credit if it may not be sent."""
        self.has_timer = False
        psn, deadline = self.oldest(), self.deadline()
        if self.acked_at is not None or psn is None or deadline is None or deadline > self.host.network.now:
            self.set_timer()
            return
        record = self.records[psn]
        self.counts["timeouts"] += 1
        if self.window is not None:
            self.window.size = max(self.window.size - record.size, self.settings.mtu)
            if not record.is_request:
                self.in_flight -= record.size
        had_queue = bool(self.queued)
        self.queued.add(psn)
        was_speculating = self.credit is not None and self.credit.is_speculating
        self.set_timer()
        card = self.host.card
        if had_queue:
            if self.credit is not None:
                self.credit.stop_speculating()
                self.request_to_send()
            card.request(self)
            return
        if not was_speculating:
            card.request(self)
        is_full = self.window is not None and self.window.size < record.size + self.in_flight
        if is_full or (self.credit is not None and self.credit.bytes <= 0):
            self.request_to_send()
        else:
            card.request(self)


class Receiver:
    """The receiver of a flow."""

    def __init__(self, flow: int) -> None:
        self.flow = flow
        self.arrived: set[int] = set()
        self.expected = self.unacked = self.wire_bytes = self.bytes = 0
        self.is_pending = False
        self.granted = self.requested = 0
        self.is_active = False
        self.last_at: int | None = None

    def ack(self, data: Data, *, is_marked: bool, begins_at_trigger: bool) -> Ack:
        """The acknowledgement that a packet causes."""
        first = data.psn if begins_at_trigger else max(data.psn - 63, self.expected + 1)
        later = frozenset(psn for psn in range(first, first + 64) if psn in self.arrived)
        return Ack(self.expected, data.psn, later, self.wire_bytes, is_marked, data.is_repeated, data.is_request)


class UetHost(Host):
    """A host with flows of Ultra Ethernet."""

    def __init__(self, network: Network, name: str, settings: Settings) -> None:
        super().__init__(network, name)
        self.settings = settings
        self.card = Card(self, CARD)
        self.active: deque[Receiver] = deque()
        self.idle: deque[Receiver] = deque()
        self.is_pacing = False

    def open(self, flow: int, to: str, size: int) -> None:
        """Opens a flow."""
        sender = Sender(self, len(self.senders), flow, to, size)
        self.senders[flow] = sender
        self.card.request(sender)

    def on_packet(self, packet: Packet) -> None:
        """Handles a packet."""
        data = packet.info
        if not isinstance(data, Data):
            self.senders[packet.flow].on_answer(data)
            return
        if packet.flow in self.senders:
            # A switch has returned the header, and does not say where it was trimmed.
            self.senders[packet.flow].on_answer(Nack(data.psn, is_last_hop=False))
            return
        receiver = self.receivers.setdefault(packet.flow, Receiver(packet.flow))
        answer = self.accept(receiver, packet, data)
        has_credit = self.settings.control != "sender"
        if has_credit:
            has_more = data.target > receiver.requested
            asks = data.is_request and not (data.is_repeated and self.settings.has_quirks)
            receiver.requested = max(receiver.requested, data.target)
            if (has_more or asks or isinstance(answer, Nack)) and not receiver.is_active:
                receiver.is_active = True
                self.active.append(receiver)
        if answer is not None:
            self.answer(packet.flow, answer)
        if has_credit and not self.is_pacing:
            self.pace()

    def answer(self, flow: int, answer: Ack | Nack | Pull) -> None:
        """Sends an answer."""
        self.card.send_control(Packet(flow, HEADER_BYTES, answer), self.network.sources[flow])

    def accept(self, receiver: Receiver, packet: Packet, data: Data) -> Ack | Nack | None:
        """Keeps a packet, and returns the answer."""
        is_repeated = data.psn in receiver.arrived
        if packet.is_trimmed:
            if is_repeated:
                return receiver.ack(data, is_marked=False, begins_at_trigger=False)
            return Nack(data.psn, packet.is_trimmed_at_last_hop)
        is_first = not receiver.arrived
        is_asked = data.asks or packet.is_marked
        if not data.is_request:
            receiver.unacked += packet.size
        if is_repeated:
            receiver.unacked = 0
            return receiver.ack(data, is_marked=packet.is_marked, begins_at_trigger=is_asked)
        if not data.is_request:
            receiver.wire_bytes += packet.size
            receiver.bytes += packet.size - HEADER_BYTES
            receiver.last_at = self.network.now
        receiver.is_pending |= data.asks
        receiver.arrived.add(data.psn)
        is_next = data.psn == receiver.expected
        while receiver.expected in receiver.arrived:
            receiver.expected += 1
        closes_gap = is_next and receiver.is_pending and len(receiver.arrived) == receiver.expected
        if closes_gap:
            receiver.is_pending = False
        is_due = receiver.unacked >= self.settings.ack_bytes
        if not (is_first or is_asked or data.is_request or closes_gap or is_due):
            return None
        receiver.unacked = 0
        return receiver.ack(data, is_marked=packet.is_marked, begins_at_trigger=is_asked)

    def pace(self) -> None:
        """Grants credit to the next flow, those that need it first."""
        self.is_pacing = False
        if self.active:
            receiver = self.active.popleft()
            granted = max(receiver.granted, min(receiver.granted + GRANT, receiver.requested))
            quanta = granted - receiver.granted
            receiver.granted = granted
            receiver.is_active = receiver.requested > granted
            (self.active if receiver.is_active else self.idle).append(receiver)
        elif self.idle:
            receiver = self.idle.popleft()
            receiver.granted += GRANT
            quanta = GRANT
            if 0 <= receiver.granted - receiver.requested < self.settings.cap // QUANTUM:
                self.idle.append(receiver)
        else:
            return
        self.answer(receiver.flow, Pull(receiver.granted))
        self.is_pacing = True
        time = (quanta or 4) * int(self.port.time_of(QUANTUM) / 0.99)
        self.timer(self.network.now + time, PACER, self.pace)
