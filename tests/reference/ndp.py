"""NDP by the laws of `docs/explanation/ndp.md`, for flows with one path."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.reference.card import Card
from tests.reference.network import HEADER_BYTES, Host, Network, Packet

if TYPE_CHECKING:
    from collections.abc import Iterator

RECENT = 12
"""Number of reports that decide whether most packets have arrived recently."""
RECEIVERS, PACER, CARD = 1 << 31, (1 << 32) - 2, (1 << 32) - 1
"""Keys of timers: senders first, then receivers, the pull queue and the card."""


@dataclass(frozen=True)
class Settings:
    """The settings of a transport."""

    mtu: int
    initial_window: int
    pull_rate: float
    rto: int


@dataclass(frozen=True)
class Data:
    """The header of a data packet."""

    psn: int
    is_last: bool


@dataclass(frozen=True)
class Answer:
    """The content of an ACK ("ack"), a NACK ("nack") or a pull ("pull")."""

    kind: str
    psn: int
    expected: int
    pulls: int


class Sender:
    """The sender of a flow."""

    def __init__(self, host: NdpHost, number: int, flow: int, to: str, size: int) -> None:
        self.host, self.number, self.flow, self.to = host, number, flow, to
        self.settings = host.settings
        payload = self.settings.mtu - HEADER_BYTES
        self.sizes = [min(payload, size - first) + HEADER_BYTES for first in range(0, size, payload)]
        self.credit = self.settings.initial_window
        self.pulls = 0
        self.new = 0
        """The next packet that was never sent."""
        self.sent_at: dict[int, int] = {}
        """Time of the last transmission of each packet on its way."""
        self.again: set[int] = set()
        """Packets that wait to be sent again."""
        self.fates: deque[bool] = deque(maxlen=RECENT)
        self.waits = self.has_timer = False
        self.acked_at: int | None = None
        self.counts: Counter[str] = Counter()

    def may_send(self) -> bool:
        """Whether there is a packet and credit for it."""
        return self.acked_at is None and self.credit > 0 and (bool(self.again) or self.new < len(self.sizes))

    def send(self) -> None:
        """Sends the next packet: the lowest number that waits, or a new one."""
        if self.again:
            psn = min(self.again)
            self.again.remove(psn)
            self.counts["retransmitted"] += 1
        else:
            psn = self.new
            self.new += 1
        self.credit -= 1
        self.counts["sent"] += 1
        self.sent_at.pop(psn, None)
        self.sent_at[psn] = self.host.network.now
        data = Data(psn, psn + 1 == len(self.sizes))
        self.host.card.send(Packet(self.flow, self.sizes[psn], data, is_data=True), self.to)
        self.set_timer()

    def forget(self, packets: Iterator[int]) -> None:
        """Removes packets that have arrived."""
        for psn in packets:
            self.sent_at.pop(psn, None)
            self.again.discard(psn)

    def on_answer(self, answer: Answer) -> None:
        """Handles an ACK, a NACK or a pull."""
        self.counts[answer.kind] += 1
        if self.acked_at is not None:
            return
        known = [*self.sent_at, *self.again]
        self.forget(psn for psn in known if psn < answer.expected)
        if answer.kind == "ack":
            self.fates.append(True)
            self.forget(iter([answer.psn]))
        elif answer.kind == "nack":
            self.fates.append(False)
            self.repeat(answer.psn)
        if answer.pulls > self.pulls:
            self.credit += answer.pulls - self.pulls
            self.pulls = answer.pulls
        if answer.kind == "ack" and answer.expected >= len(self.sizes):
            self.acked_at = self.host.network.now
        self.host.card.request(self)

    def repeat(self, psn: int) -> None:
        """Makes a packet on its way wait to be sent again."""
        if psn in self.sent_at:
            del self.sent_at[psn]
            self.again.add(psn)

    def on_return(self, psn: int) -> None:
        """Handles a header that a switch has returned."""
        self.counts["return"] += 1
        if self.acked_at is not None:
            return
        most_arrived = 2 * sum(self.fates) > len(self.fates)
        self.fates.append(False)
        self.repeat(psn)
        to_come = self.counts["ack"] + self.counts["nack"] - self.pulls
        self.counts["return at once"] += most_arrived
        if most_arrived or (to_come <= 0 and not self.sent_at):
            self.credit += 1
        self.host.card.request(self)

    def set_timer(self) -> None:
        """Waits for the timeout of the oldest packet on its way."""
        if not self.has_timer and self.sent_at and self.acked_at is None:
            self.has_timer = True
            oldest = min(self.sent_at.values())
            self.host.timer(oldest + self.settings.rto, self.number, self.on_timer)

    def on_timer(self) -> None:
        """Sends packets again that have timed out."""
        self.has_timer = False
        if self.acked_at is not None:
            return
        for psn in [psn for psn, sent in self.sent_at.items() if sent + self.settings.rto <= self.host.network.now]:
            self.counts["timeouts"] += 1
            self.repeat(psn)
            self.credit += 1
        self.set_timer()
        self.host.card.request(self)


class Receiver:
    """The receiver of a flow."""

    def __init__(self, number: int, flow: int) -> None:
        self.number, self.flow = number, flow
        self.arrived: set[int] = set()
        self.expected = 0
        self.total: int | None = None
        self.pulls = 0
        self.active_at = 0
        """Time of the last arrival or pull."""
        self.repeated = 0
        self.has_timer = False
        self.bytes = 0
        self.last_at: int | None = None

    def is_complete(self) -> bool:
        """Whether all packets have arrived."""
        return self.total is not None and self.expected >= self.total


class NdpHost(Host):
    """A host with flows of NDP."""

    def __init__(self, network: Network, name: str, settings: Settings) -> None:
        super().__init__(network, name)
        self.settings = settings
        self.card = Card(self, CARD)
        self.pull_queue: dict[int, int] = {}
        """Pulls that wait by flow, in the order of their turns."""
        self.next_pull = 0
        self.is_pacing = False

    def open(self, flow: int, to: str, size: int) -> None:
        """Opens a flow, which sends its first window."""
        sender = Sender(self, len(self.senders), flow, to, size)
        self.senders[flow] = sender
        self.card.request(sender)

    def on_packet(self, packet: Packet) -> None:
        """Handles a packet."""
        if not packet.is_data:
            self.senders[packet.flow].on_answer(packet.info)
            return
        if packet.flow in self.senders:
            self.senders[packet.flow].on_return(packet.info.psn)
        else:
            self.on_data(packet, packet.info)

    def on_data(self, packet: Packet, data: Data) -> None:
        """Answers a data packet or its header, and asks for another packet."""
        now = self.network.now
        receiver = self.receivers.setdefault(packet.flow, Receiver(len(self.receivers), packet.flow))
        receiver.active_at, receiver.repeated = now, 0
        if data.is_last:
            receiver.total = data.psn + 1
        is_new = data.psn not in receiver.arrived
        if is_new and not packet.is_trimmed:
            receiver.arrived.add(data.psn)
            receiver.bytes += packet.size - HEADER_BYTES
            while receiver.expected in receiver.arrived:
                receiver.expected += 1
            receiver.last_at = now
        if receiver.is_complete():
            self.pull_queue.pop(packet.flow, None)
        elif not self.pull_queue and now >= self.next_pull:
            self.count_pull(receiver)
        else:
            self.pull_queue[packet.flow] = self.pull_queue.get(packet.flow, 0) + 1
        self.answer(receiver, "nack" if packet.is_trimmed and is_new else "ack", data.psn)
        self.pace()
        self.watch(receiver)

    def answer(self, receiver: Receiver, kind: str, psn: int) -> None:
        """Sends an ACK, a NACK or a pull."""
        answer = Answer(kind, psn, receiver.expected, receiver.pulls)
        self.card.send_control(Packet(receiver.flow, HEADER_BYTES, answer), self.network.sources[receiver.flow])

    def count_pull(self, receiver: Receiver) -> None:
        """Counts a pull of a flow. The next pull waits for the time of a full packet."""
        receiver.pulls += 1
        self.next_pull = self.network.now + int(self.port.time_of(self.settings.mtu) / self.settings.pull_rate)

    def pace(self) -> None:
        """Waits until the next pull may be sent."""
        if self.pull_queue and not self.is_pacing:
            self.is_pacing = True
            self.timer(self.next_pull, PACER, self.send_pull)

    def send_pull(self) -> None:
        """Sends a pull of the next flow in turn. Its other pulls wait behind those of other flows."""
        self.is_pacing = False
        if self.pull_queue:
            flow = next(iter(self.pull_queue))
            left = self.pull_queue.pop(flow) - 1
            if left:
                self.pull_queue[flow] = left
            receiver = self.receivers[flow]
            self.count_pull(receiver)
            receiver.active_at = self.network.now
            self.answer(receiver, "pull", 0)
        self.pace()

    def watch(self, receiver: Receiver) -> None:
        """Waits until the last pull of a flow may have to be repeated."""
        if receiver.has_timer or receiver.is_complete():
            return
        receiver.has_timer = True
        now = self.network.now
        due = receiver.active_at + self.settings.rto * 2**receiver.repeated
        time = due if due > now else now + self.settings.rto
        self.timer(time, RECEIVERS + receiver.number, lambda: self.repeat_pull(receiver))

    def repeat_pull(self, receiver: Receiver) -> None:
        """Repeats the last pull of a flow that has waited for too long."""
        receiver.has_timer = False
        due = receiver.active_at + self.settings.rto * 2**receiver.repeated
        is_due = due <= self.network.now and receiver.flow not in self.pull_queue
        if is_due and not receiver.is_complete():
            receiver.active_at = self.network.now
            receiver.repeated = min(20, receiver.repeated + 1)
            self.counts["repeated pull"] += 1
            self.answer(receiver, "pull", 0)
        self.watch(receiver)
