"""CoDel as RFC 8289 writes it: the pseudocode of sections 5.3 to 5.5, for one port that sends packets one by one.

Times are picoseconds, as whole numbers. Names are those of the RFC.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple


class Arrival(NamedTuple):
    """A packet that reaches the port: time, flow, sequence number, bytes, and whether ECN may mark it."""

    time: int
    flow: int
    seq: int
    size: int
    ect: bool = False


class Departure(NamedTuple):
    """A packet whose last bit leaves the port at `time`."""

    time: int
    flow: int
    seq: int
    ce: bool


@dataclass
class CoDel:
    """The queue of a port."""

    TARGET: int
    INTERVAL: int
    maxpacket: int
    ecn: bool = False
    first_above_time: int = 0
    drop_next: int = 0
    count: int = 0
    lastcount: int = 0
    dropping: bool = False
    packets: deque[Arrival] = field(default_factory=deque)
    drops: list[Arrival] = field(default_factory=list)

    def bytes(self) -> int:
        """Bytes that wait."""
        return sum(packet.size for packet in self.packets)

    def control_law(self, t: int) -> int:
        """Time of the next drop."""
        return t + int(self.INTERVAL / sqrt(self.count))

    def dodequeue(self, now: int) -> tuple[Arrival | None, bool]:
        """The next packet, and whether it is all right to drop it (section 5.5)."""
        ok_to_drop = False
        if not self.packets:
            self.first_above_time = 0
            return None, False
        packet = self.packets.popleft()
        sojourn_time = now - packet.time
        if sojourn_time < self.TARGET or self.bytes() <= self.maxpacket:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.INTERVAL
        elif now >= self.first_above_time:
            ok_to_drop = True
        return packet, ok_to_drop

    def deque(self, now: int) -> tuple[Arrival | None, bool]:
        """The packet that is sent, and whether it is marked (section 5.4; marks as in `codel_impl.h` of Linux)."""
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                assert packet is not None
                self.count += 1
                if self.ecn and packet.ect:
                    self.drop_next = self.control_law(self.drop_next)
                    return packet, True
                self.drops.append(packet)
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            assert packet is not None
            marked = self.ecn and packet.ect
            if not marked:
                self.drops.append(packet)
                packet, _ = self.dodequeue(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.INTERVAL:
                self.count = delta
            self.drop_next = self.control_law(now)
            self.lastcount = self.count
            return packet, marked
        return packet, False


def departures(queue: CoDel, arrivals: list[Arrival], byte_time: int) -> list[Departure]:
    """The packets that leave a port whose serialisation takes `byte_time` per byte, without a limit of its queue."""
    left: list[Departure] = []
    coming = deque(sorted(arrivals))
    free_at = 0
    while coming or queue.packets:
        if not queue.packets or (coming and coming[0].time < free_at):
            queue.packets.append(coming.popleft())
            free_at = max(free_at, queue.packets[0].time)
            continue
        packet, marked = queue.deque(free_at)
        if packet is not None:
            free_at += packet.size * byte_time
            left.append(Departure(free_at, packet.flow, packet.seq, marked))
    return left
