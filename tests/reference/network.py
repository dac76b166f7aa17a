"""Hosts and switches of a tree, one heap of events, and queues that are served packet by packet."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PS_PER_S = 10**12
HEADER_BYTES = 64
"""Size of a trimmed packet."""
SERVED, ARRIVAL, TIMER = range(3)
"""Order of events of one node at one time: departures, arrivals, timers."""
WORD = (1 << 64) - 1
QUEUE_STREAM = 0x7175_6575
"""Distinguishes the random numbers of a queue from others of its link."""


def random_word(seed: int, *words: int) -> int:
    """A hash of seed and words, with the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    bits = seed
    for word in words:
        rotated = (bits << 23 | bits >> 41) & WORD
        bits = (rotated ^ word) * 0x9E37_79B9_7F4A_7C15 & WORD
    bits = (bits ^ bits >> 30) * 0xBF58_476D_1CE4_E5B9 & WORD
    bits = (bits ^ bits >> 27) * 0x94D0_49BB_1331_11EB & WORD
    return bits ^ bits >> 31


@dataclass(slots=True, eq=False)
class Packet:
    """A packet. `info` is the header of its transport."""

    flow: int
    size: int
    info: Any
    subflow: int = 0
    is_data: bool = False
    is_ecn_capable: bool = False
    is_marked: bool = False
    is_trimmed: bool = False
    is_trimmed_at_last_hop: bool = False
    is_returned: bool = False
    route: list[Port] = field(default_factory=list)
    hops: list[tuple[int, int, int, int]] | None = None
    """Reports of the ports of switches, if the packet asks for them: time, bytes sent before, bytes that wait, rate."""


@dataclass(frozen=True)
class Limit:
    """A number of packets or of bytes."""

    value: int
    in_packets: bool = True

    def length(self, packets: list[Packet]) -> int:
        """The length of a queue in this unit."""
        return len(packets) if self.in_packets else sum(packet.size for packet in packets)

    def is_exceeded(self, packets: list[Packet], packet: Packet) -> bool:
        """Whether a packet does not fit."""
        more = 1 if self.in_packets else packet.size
        return self.length(packets) + more > self.value


@dataclass(frozen=True)
class Trimming:
    """The rules of a queue that trims."""

    headers: Limit
    ratio: int | None = None
    has_random_victim: bool = True
    returns: bool = False
    ramp: tuple[int, int] | None = None
    """Bytes of waiting data from which packets are marked with a probability, and always."""


@dataclass(frozen=True)
class QueueRules:
    """The rules of a queue."""

    limit: Limit
    mark: Limit | None = None
    trimming: Trimming | None = None


class Port:
    """The queue at the beginning of a link, and the link."""

    def __init__(self, network: Network, number: int, ends: tuple[str, str], rate: int, delay: int) -> None:
        self.network, self.number, self.ends = network, number, ends
        self.rate, self.delay = rate, delay
        self.rules = network.rules
        self.waiting: list[Packet] = []
        self.serving: Packet | None = None
        self.flying: deque[Packet] = deque()
        self.coins = self.draws = self.choices = 0
        self.sent = 0
        """Bytes of packets whose transmission has begun."""
        self.served_at = 0
        """Time at which the packet being sent has left."""

    def time_of(self, size: int) -> int:
        """The time that a packet of this size takes: that of a byte is cut at 2^-16 ps."""
        return size * ((8 * PS_PER_S << 16) // self.rate) >> 16

    def is_header(self, packet: Packet) -> bool:
        """Whether the packet belongs to the class of headers."""
        return not packet.is_data or packet.is_trimmed or packet.size <= HEADER_BYTES

    def alike(self, packet: Packet) -> list[Packet]:
        """The packets that wait in the class of a packet."""
        if self.rules.trimming is None:
            return self.waiting
        return [other for other in self.waiting if self.is_header(other) == self.is_header(packet)]

    def offer(self, packet: Packet) -> None:
        """Accepts, marks, trims or drops a packet."""
        rules = self.rules
        trimming = rules.trimming
        is_data = trimming is None or not self.is_header(packet)
        limit = rules.limit if is_data or trimming is None else trimming.headers
        is_full = not packet.is_returned and limit.is_exceeded(self.alike(packet), packet)
        if is_full and trimming is not None and is_data:
            victim = self.choose_victim(packet)
            if victim is packet:
                self.cut(packet)
                self.begin()
                return
            self.waiting.remove(victim)
            self.cut(victim)
        elif is_full:
            self.refuse(packet)
            return
        data = [other for other in self.alike(packet) if other is not packet]
        is_long = is_data and rules.mark is not None and rules.mark.length(data) >= rules.mark.value
        if is_long and packet.is_ecn_capable and not packet.is_returned:
            packet.is_marked = True
        self.waiting.append(packet)
        self.begin()

    def choose_victim(self, packet: Packet) -> Packet:
        """The packet that is trimmed: the arriving one, or the last that waits with equal probability."""
        trimming = self.rules.trimming
        assert trimming is not None
        if not trimming.has_random_victim:
            return packet
        self.coins += 1
        word = random_word(self.network.seed, (self.number << 32) + QUEUE_STREAM, (1 << 63) + self.coins)
        others = self.alike(packet)
        return others[-1] if others and word < 1 << 63 else packet

    def cut(self, packet: Packet) -> None:
        """Trims a packet that does not wait."""
        trimming = self.rules.trimming
        assert trimming is not None
        is_last = not packet.route
        header = replace(packet, size=HEADER_BYTES, is_trimmed=True, is_trimmed_at_last_hop=is_last)
        if trimming.headers.is_exceeded(self.alike(header), header):
            self.refuse(header)
        else:
            self.waiting.append(header)

    def refuse(self, packet: Packet) -> None:
        """Drops a packet, or returns the header of one to its sender."""
        trimming = self.rules.trimming
        node = self.ends[0]
        if trimming is not None and trimming.returns and packet.is_trimmed and node not in self.network.hosts:
            route = self.network.route(node, self.network.sources[packet.flow])
            self.network.forward(replace(packet, route=route, is_returned=True))
        elif packet.is_data:
            self.network.dropped[packet.flow, packet.subflow] += 1

    def begin(self) -> None:
        """Begins to send the next packet if none is being sent."""
        if self.serving is not None or not self.waiting:
            return
        packet = self.next()
        self.waiting.remove(packet)
        self.mark_by_ramp(packet)
        self.report(packet)
        self.serving = packet
        self.served_at = self.network.now + self.time_of(packet.size)
        self.network.at(self.served_at, (SERVED,), self.depart)

    def report(self, packet: Packet) -> None:
        """Adds the state of the port to a packet that asks for it, and counts the packet."""
        if packet.hops is not None and self.ends[0] not in self.network.hosts:
            waiting = sum(other.size for other in self.waiting)
            packet.hops.append((self.network.now, self.sent, waiting, self.rate))
        self.sent += packet.size

    def next(self) -> Packet:
        """The packet that is sent next: headers first, or `ratio` of them per data packet."""
        trimming = self.rules.trimming
        headers = [packet for packet in self.waiting if self.is_header(packet)]
        data = [packet for packet in self.waiting if not self.is_header(packet)]
        if trimming is None or not headers or not data:
            return self.waiting[0]
        if trimming.ratio is not None:
            self.choices += 1
            if self.choices % (trimming.ratio + 1) == 0:
                return data[0]
        return headers[0]

    def mark_by_ramp(self, packet: Packet) -> None:
        """Marks data that begins to be sent, by the bytes of data that still wait."""
        trimming = self.rules.trimming
        if trimming is None or trimming.ramp is None or packet.is_returned or self.is_header(packet):
            return
        low, high = trimming.ramp
        left = sum(other.size for other in self.waiting if not self.is_header(other))
        is_chosen = left > high or left == high
        if low < left < high:
            self.draws += 1
            word = random_word(self.network.seed, (self.number << 32) + QUEUE_STREAM, self.draws)
            is_chosen = (word >> 11) / (1 << 53) < (left - low) / (high - low)
        if is_chosen and packet.is_ecn_capable:
            packet.is_marked = True

    def depart(self) -> None:
        """Puts the packet that was sent on the link."""
        packet, self.serving = self.serving, None
        assert packet is not None
        self.flying.append(packet)
        network = self.network
        arrival = network.now + self.delay
        rank = random_word(network.seed, self.number, arrival)
        network.at(arrival, (ARRIVAL, rank, self.number), self.arrive)
        self.begin()

    def arrive(self) -> None:
        """Hands the packet to the node at the end of the link."""
        packet = self.flying.popleft()
        if packet.route:
            self.network.forward(packet)
        else:
            self.network.deliver(packet, self.ends[1])


class Host:
    """The part of a host that all transports need."""

    def __init__(self, network: Network, name: str) -> None:
        self.network, self.name = network, name
        self.senders: dict[int, Any] = {}
        self.receivers: dict[int, Any] = {}
        """The flows that the host sends and receives."""
        self.counts: Counter[str] = Counter()
        """Events of the host itself."""

    @property
    def port(self) -> Port:
        """The port of the host's only link."""
        return self.network.route(self.name, self.network.switch_of(self.name))[0]

    def send(self, packet: Packet, to: str) -> None:
        """Sends a packet."""
        packet.route = self.network.route(self.name, to)
        self.network.forward(packet)

    def timer(self, time: int, key: int, action: Callable[[], None]) -> None:
        """Calls `action` at `time`. Timers of one time are called in the order of their keys."""
        self.network.at(max(time, self.network.now), (TIMER, key), action)

    def open(self, flow: int, to: str, size: int) -> None:
        """Opens a flow to another host."""
        raise NotImplementedError

    def on_packet(self, packet: Packet) -> None:
        """Handles a packet that arrived."""
        raise NotImplementedError


class Network:
    """A tree of hosts and switches."""

    def __init__(self, seed: int, rules: QueueRules) -> None:
        self.seed, self.rules = seed, rules
        self.now = 0
        self.events: list[tuple[int, tuple[int, ...], int, Callable[[], None]]] = []
        self.numbers = count()
        self.ports: dict[tuple[str, str], Port] = {}
        self.hosts: dict[str, Host] = {}
        self.sources: dict[int, str] = {}
        """The sender of each flow."""
        self.dropped: Counter[tuple[int, int]] = Counter()
        """Data packets that were dropped, by flow and subflow, and those that reached a host, whole or trimmed."""
        self.received: Counter[tuple[int, int]] = Counter()
        self.trimmed: Counter[tuple[int, int]] = Counter()
        self.routes: dict[tuple[str, str], list[Port]] = {}

    def at(self, time: int, order: tuple[int, ...], action: Callable[[], None]) -> None:
        """Calls `action` at `time`."""
        heappush(self.events, (time, order, next(self.numbers), action))

    def add_port(self, number: int, ends: tuple[str, str], rate: int, delay: int) -> None:
        """Adds a link with this number, from one node to another."""
        self.ports[ends] = Port(self, number, ends, rate, delay)

    def open(self, flow: int, ends: tuple[str, str], size: int, start: int) -> None:
        """Opens a flow at `start`."""
        source, to = ends
        self.sources[flow] = source
        self.at(start, (TIMER, -1, flow), lambda: self.hosts[source].open(flow, to, size))

    def switch_of(self, host: str) -> str:
        """The switch of a host."""
        return next(b for a, b in self.ports if a == host)

    def route(self, node: str, to: str) -> list[Port]:
        """The only path between two nodes."""
        if (node, to) not in self.routes:
            self.routes[node, to] = self.search(node, to, None) or []
        return list(self.routes[node, to])

    def search(self, node: str, to: str, last: str | None) -> list[Port] | None:
        """The path to a node that does not go back to `last`."""
        if node == to:
            return []
        for (a, b), port in self.ports.items():
            if a == node and b != last:
                rest = self.search(b, to, node)
                if rest is not None:
                    return [port, *rest]
        return None

    def forward(self, packet: Packet) -> None:
        """Offers a packet to the next port of its route."""
        packet.route.pop(0).offer(packet)

    def deliver(self, packet: Packet, host: str) -> None:
        """Hands a packet to a host."""
        if packet.is_data:
            arrivals = self.trimmed if packet.is_trimmed else self.received
            arrivals[packet.flow, packet.subflow] += 1
        self.hosts[host].on_packet(packet)

    def counts(self, flow: int, subflow: int = 0) -> dict[str, int]:
        """The fates of the data packets of a subflow, by columns of the tables."""
        return {
            "packets_received": self.received[flow, subflow],
            "packets_trimmed": self.trimmed[flow, subflow],
            "packets_dropped": self.dropped[flow, subflow],
        }

    def run(self, end: int) -> None:
        """Processes all events before `end`."""
        while self.events and self.events[0][0] < end:
            self.now, _, _, action = heappop(self.events)
            action()
