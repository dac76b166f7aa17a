"""Swift by the laws of `docs/explanation/swift.md`, for networks with one path between two hosts."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from math import cos, floor, log, sqrt, tau

from tests.reference.network import HEADER_BYTES, Network, Packet, random_word
from tests.reference.turns import PacedHost

PS_PER_NS = 1000
MOST_HOST_NS = 1_048_575
"""The longest time at the host that an ACK reports."""
MOST_DOUBLINGS = 16
CLOCK_STREAM, TIMESTAMP_STREAM = 0x636C_636B, 0x7469_6D65
"""Distinguish the random numbers of clocks and of timestamps from others of a node."""
PROCESSOR_KEY = (1 << 32) - 2
"""Key of the timer of the host's processing, after those of flows."""


@dataclass(frozen=True)
class Settings:
    """The settings of a transport. Times are in picoseconds, windows in packets."""

    mtu: int
    initial_window: float
    min_window: float
    max_window: float
    base_target: int
    hop_target: int
    flow_range: int
    flow_window_min: float
    flow_window_max: float
    increase: float
    beta: float
    max_decrease: float
    endpoint_target: int
    endpoint_gain: float
    host_time: int
    min_rto: int
    initial_rto: int
    reset_after: int
    timestamp_step: int = 0
    timestamp_noise: int = 0
    clock_error: int = 0
    subflows: int = 1

    def target(self, window: float, hops: int) -> float:
        """The target of the fabric's delay."""
        high = 1 / sqrt(self.flow_window_max)
        alpha = self.flow_range / (1 / sqrt(self.flow_window_min) - high)
        flows = alpha / sqrt(window) + -alpha * high
        return self.base_target + hops * self.hop_target + min(max(flows, 0), self.flow_range)


@dataclass(frozen=True)
class Data:
    """The header of a data packet."""

    psn: int
    sent_at: int
    subflow: int
    chunk: int
    """The number of the packet in the flow."""


@dataclass(frozen=True)
class Ack:
    """An acknowledgement."""

    expected: int
    data: Data
    host_time: int


class Window:
    """A window that follows a delay and its target."""

    def __init__(self, settings: Settings, counts: Counter[str], name: str) -> None:
        self.settings, self.counts, self.name = settings, counts, name
        self.size = min(max(settings.initial_window, settings.min_window), settings.max_window)
        self.decreased_at: int | None = None

    def may_decrease(self, now: int, smoothed: float) -> bool:
        """Whether the last decrease is long enough ago."""
        return self.decreased_at is None or now - self.decreased_at >= smoothed

    def on_ack(self, delay: float, target: float, count: int, now: int, smoothed: float) -> None:
        """Changes the window by an acknowledgement."""
        settings = self.settings
        if delay < target:
            self.counts[f"{self.name} increase below one"] += self.size < 1
            more = settings.increase * count
            self.set(self.size + (more / self.size if self.size >= 1 else more), now)
        elif self.may_decrease(now, smoothed):
            self.counts[f"{self.name} decrease"] += 1
            factor = max(1 - settings.beta * ((delay - target) / delay), 1 - settings.max_decrease)
            self.set(self.size * factor, now)

    def on_loss(self, now: int, smoothed: float) -> None:
        """Decreases the window by the largest share."""
        if self.may_decrease(now, smoothed):
            self.counts["loss"] += 1
            self.set(self.size * (1 - self.settings.max_decrease), now)

    def set(self, size: float, now: int) -> None:
        """Sets the window within its limits."""
        size = min(max(size, self.settings.min_window), self.settings.max_window)
        if size < self.size:
            self.decreased_at = now
        self.size = size


class Flow:
    """The data that the subflows of a flow share."""

    def __init__(self, size: int, payload: int) -> None:
        self.sizes = [min(payload, size - first) + HEADER_BYTES for first in range(0, size, payload)]
        self.new = 0
        """The next packet that was never sent."""
        self.subflows: list[Sender] = []
        self.acked_at: int | None = None

    @property
    def counts(self) -> Counter[str]:
        """What happened to all subflows."""
        return sum((subflow.counts for subflow in self.subflows), Counter())


class Sender:
    """The sender of a subflow."""

    def __init__(self, host: SwiftHost, number: int, ends: tuple[int, int, str], data: Flow) -> None:
        self.host, self.data = host, data
        self.flow, self.subflow, self.to = ends
        self.settings = settings = host.settings
        self.hops = len(host.network.route(host.name, self.to))
        self.chunks: list[int] = []
        """The numbers in the flow of the packets that were sent."""
        self.on_way: dict[int, int] = {}
        """Packets on their way, with the times at which they were sent."""
        self.lost: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.fabric = Window(settings, self.counts, "fabric")
        self.endpoint = Window(settings, self.counts, "endpoint")
        self.endpoint_delay: float | None = None
        self.smoothed = self.variation = 0.0
        self.timeouts = 0
        self.last_sent_at = self.next_at = 0
        self.deadline: int | None = None
        self.waits = False
        self.timer_at: int | None = None
        self.pace_key, self.timeout_key = 2 * number, 2 * number + 1
        self.pace_waits = 0

    @property
    def acked_at(self) -> int | None:
        """The time at which all data of the flow had been acknowledged."""
        return self.data.acked_at

    @property
    def window(self) -> float:
        """The window of the subflow."""
        return min(self.fabric.size, self.endpoint.size)

    def gap(self) -> int:
        """The time between two packets; 0 unless the window is below one packet."""
        smoothed = self.smoothed or float(self.settings.base_target)
        return int(smoothed / self.window) if self.window < 1 else 0

    def may_send(self) -> bool:
        """Whether there is a packet that may be sent, whatever the pace."""
        has_room = self.window < 1 or len(self.on_way) + 1 <= self.window
        return self.acked_at is None and has_room and (bool(self.lost) or self.data.new < len(self.data.sizes))

    def send(self) -> int:
        """Sends the first lost packet, or a new one."""
        now = self.host.network.now
        is_repeated = bool(self.lost)
        psn = min(self.lost) if is_repeated else len(self.chunks)
        self.lost.discard(psn)
        if not is_repeated:
            self.chunks.append(self.data.new)
            self.data.new += 1
        sent_at = now if self.settings.subflows == 1 else now // PS_PER_NS * PS_PER_NS
        self.on_way[psn] = sent_at
        self.last_sent_at = now
        gap = self.gap()
        self.counts["paced"] += gap > 0
        self.next_at = now + gap
        if self.deadline is None:
            self.deadline = now + self.timeout()
        self.counts["sent"] += 1
        self.counts["retransmitted"] += is_repeated
        size = self.data.sizes[self.chunks[psn]]
        data = Data(psn, sent_at, self.subflow, self.chunks[psn])
        self.host.send(Packet(self.flow, size, data, self.subflow, is_data=True), self.to)
        return size

    def timeout(self) -> int:
        """The timeout."""
        settings = self.settings
        least = (
            max(int(self.smoothed + 4 * self.variation), settings.min_rto) if self.smoothed else settings.initial_rto
        )
        return least << min(self.timeouts, MOST_DOUBLINGS)

    def on_ack(self, ack: Ack) -> None:
        """Handles an acknowledgement."""
        self.counts["ack"] += 1
        if self.acked_at is not None:
            return
        now = self.host.network.now
        missing = self.on_way.keys() | self.lost
        arrived = {psn for psn in missing if psn < ack.expected or psn == ack.data.psn}
        for psn in arrived:
            self.on_way.pop(psn, None)
            self.lost.discard(psn)
        self.change_windows(ack, len(arrived))
        overtaken = {psn for psn, sent_at in self.on_way.items() if sent_at < ack.data.sent_at}
        if overtaken:
            self.counts["recovery"] += 1
            self.lose(overtaken)
            self.fabric.on_loss(now, self.smoothed)
        if arrived:
            self.deadline = now + self.timeout() if self.is_outstanding else None
        others = any(subflow.is_outstanding for subflow in self.data.subflows)
        if not others and self.data.new == len(self.data.sizes):
            self.data.acked_at = now
            return
        self.set_pace()
        self.host.request(self)
        self.set_timer()

    @property
    def is_outstanding(self) -> bool:
        """Whether packets that were sent have not been acknowledged."""
        return bool(self.on_way or self.lost)

    def change_windows(self, ack: Ack, count: int) -> None:
        """Changes both windows and the smoothed round-trip time."""
        now, settings = self.host.network.now, self.settings
        rtt = self.host.measure(ack.data.sent_at, now)
        target = settings.target(self.fabric.size, self.hops)
        self.fabric.on_ack(float(max(rtt - ack.host_time, 0)), target, count, now, self.smoothed)
        if self.endpoint_delay is None:
            self.endpoint_delay = float(ack.host_time)
        else:
            self.endpoint_delay += settings.endpoint_gain * (ack.host_time - self.endpoint_delay)
        self.endpoint.on_ack(self.endpoint_delay, settings.endpoint_target, count, now, self.smoothed)
        self.timeouts = 0
        if self.smoothed:
            self.variation += (abs(rtt - self.smoothed) - self.variation) / 4
            self.smoothed += (rtt - self.smoothed) / 8
        else:
            self.smoothed, self.variation = float(rtt), rtt / 2

    def lose(self, packets: set[int]) -> None:
        """Makes packets on their way lost."""
        for psn in packets:
            del self.on_way[psn]
        self.lost |= packets

    def set_pace(self) -> None:
        """Ends a wait for the pace if the window allows a packet at once. Otherwise a wait keeps its end."""
        is_paced = self.waits and self not in self.host.turns
        gap = self.gap()
        if gap == 0:
            self.next_at = 0
            if is_paced:
                self.counts["end of pace"] += 1
                self.pace_waits += 1
                self.waits = False
        elif not is_paced:
            self.next_at = self.last_sent_at + gap

    def set_timer(self) -> None:
        """Waits for the timeout, unless a timer is set that is not later."""
        if self.deadline is not None and (self.timer_at is None or self.deadline < self.timer_at):
            self.counts["earlier timeout"] += self.timer_at is not None
            self.timer_at = self.deadline
            self.host.timer(self.deadline, self.timeout_key, self.on_timer)

    def on_timer(self) -> None:
        """Makes all packets on their way lost if the timeout is over."""
        now = self.host.network.now
        if self.timer_at is None or self.timer_at > now:
            return
        self.timer_at = None
        if self.acked_at is None and self.deadline is not None and now >= self.deadline:
            self.counts["timeouts"] += 1
            self.timeouts += 1
            if self.timeouts >= self.settings.reset_after:
                self.counts["reset"] += 1
                self.fabric.set(self.settings.min_window, now)
            else:
                self.fabric.on_loss(now, self.smoothed)
            self.lose(set(self.on_way))
            self.deadline = None
            self.set_pace()
        self.set_timer()
        self.host.request(self)


class Receiver:
    """The receiver of a flow."""

    def __init__(self) -> None:
        self.arrived: set[tuple[int, int]] = set()
        """Subflows and numbers of the packets that arrived."""
        self.expected: Counter[int] = Counter()
        self.bytes = 0
        self.last_at: int | None = None


class SwiftHost(PacedHost[Sender]):
    """A host with flows of Swift."""

    def __init__(self, network: Network, name: str, settings: Settings) -> None:
        super().__init__(network, name, settings.mtu)
        self.settings = settings
        self.number = int(name.removeprefix("h"))
        self.subflows = 0
        """Number of subflows that were opened."""
        self.unprocessed: deque[tuple[Packet, int]] = deque()
        """Data that the host has not processed, with the times of arrival."""

    def open(self, flow: int, to: str, size: int) -> None:
        """Opens a flow."""
        data = Flow(size, self.settings.mtu - HEADER_BYTES)
        self.senders[flow] = data
        for subflow in range(self.settings.subflows):
            data.subflows.append(Sender(self, self.subflows, (flow, subflow, to), data))
            self.subflows += 1
        for sender in data.subflows:
            self.request(sender)

    def measure(self, start: int, end: int) -> int:
        """The difference of the timestamps of two times by the clock of the host."""
        difference = max(self.timestamp(end) - self.timestamp(start), 0)
        self.counts["wrong time"] += difference != end - start
        return difference

    def timestamp(self, time: int) -> int:
        """What the clock of the host shows at a time."""
        settings, seed = self.settings, self.network.seed
        most = 1000 * settings.clock_error
        drift = (random_word(seed, self.number << 32 | CLOCK_STREAM) * (2 * most + 1) >> 64) - most
        noise = 0
        if settings.timestamp_noise:
            bits = random_word(seed, TIMESTAMP_STREAM, self.number, time)
            first, second = ((word + 0.5) / (1 << 32) for word in (bits >> 32, bits & 0xFFFF_FFFF))
            noise = floor(settings.timestamp_noise * (sqrt(-2 * log(first)) * cos(tau * second)))
        step = max(settings.timestamp_step, 1)
        return (time + time * drift // 10**9 + noise) // step * step

    def on_packet(self, packet: Packet) -> None:
        """Handles a packet."""
        if not packet.is_data:
            self.senders[packet.flow].subflows[packet.info.data.subflow].on_ack(packet.info)
        elif self.settings.host_time == 0:
            self.on_data(packet, self.network.now)
        else:
            self.unprocessed.append((packet, self.network.now))
            if len(self.unprocessed) == 1:
                self.process()

    def process(self) -> None:
        """Processes the first packet."""
        self.timer(self.network.now + self.settings.host_time, PROCESSOR_KEY, self.on_processed)

    def on_processed(self) -> None:
        """Answers the first packet, and processes the next one."""
        packet, arrived_at = self.unprocessed.popleft()
        self.counts["processed late"] += self.network.now - arrived_at > self.settings.host_time
        self.on_data(packet, arrived_at)
        if self.unprocessed:
            self.process()

    def on_data(self, packet: Packet, arrived_at: int) -> None:
        """Accepts a packet, and acknowledges it."""
        now, data = self.network.now, packet.info
        receiver = self.receivers.setdefault(packet.flow, Receiver())
        subflow = data.subflow
        if (subflow, data.psn) not in receiver.arrived:
            receiver.arrived.add((subflow, data.psn))
            receiver.bytes += packet.size - HEADER_BYTES
            receiver.last_at = now
        while (subflow, receiver.expected[subflow]) in receiver.arrived:
            receiver.expected[subflow] += 1
        host_time = PS_PER_NS * min(self.measure(arrived_at, now) // PS_PER_NS, MOST_HOST_NS)
        ack = Ack(receiver.expected[subflow], data, host_time)
        self.send(Packet(packet.flow, HEADER_BYTES, ack), self.network.sources[packet.flow])
