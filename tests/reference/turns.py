"""Hosts whose flows are paced on one path each, and wait for the card in one FIFO."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tests.reference.network import Host

if TYPE_CHECKING:
    from tests.reference.network import Network

PORT_KEY = (1 << 32) - 1
"""Key of the port's timer, after those of flows."""


class PacedSender(Protocol):
    """A flow that waits for its pace or for the card."""

    waits: bool
    next_at: int
    """The time from which on the pace allows the next packet."""
    pace_key: int
    """The key of the timer of its pace."""
    pace_waits: int
    """Number of its waits for the pace. The timer of an earlier one has no effect."""

    def may_send(self) -> bool:
        """Whether there is a packet that may be sent, whatever the pace."""

    def send(self) -> int:
        """Sends the next packet, and returns its size."""

    def set_timer(self) -> None:
        """Waits for the timeout."""


S = TypeVar("S", bound=PacedSender)


class PacedHost(Host, Generic[S]):
    """A host that lets its flows send in turn."""

    def __init__(self, network: Network, name: str, mtu: int) -> None:
        super().__init__(network, name)
        self.mtu = mtu
        self.turns: deque[S] = deque()
        """Flows whose time has come and that wait for the port."""
        self.free_at = 0
        self.is_waiting = False

    def request(self, sender: S) -> None:
        """Lets a flow send, wait for its pace, or wait for the port."""
        if sender.waits or not sender.may_send():
            return
        now = self.network.now
        if sender.next_at > max(now, self.free_at):
            sender.waits = True
            sender.pace_waits += 1
            wait = sender.pace_waits
            self.timer(sender.next_at, sender.pace_key, lambda: self.stop_waiting(sender, wait))
        elif sender.next_at <= now and now >= self.free_at and not self.turns:
            self.send_of(sender)
        else:
            sender.waits = True
            self.turns.append(sender)
            self.wait()

    def stop_waiting(self, sender: S, wait: int) -> None:
        """Ends the wait for the pace with this number."""
        if sender.waits and sender.pace_waits == wait:
            sender.waits = False
            sender.pace_waits += 1
            self.request(sender)

    def send_of(self, sender: S) -> None:
        """Sends a packet of a flow. The next one follows once at most one full packet is left at the port."""
        now, port = self.network.now, self.port
        size = sender.send()
        empty_at = port.served_at + sum(port.time_of(packet.size) for packet in port.waiting)
        self.free_at = max(now + port.time_of(size), empty_at - port.time_of(self.mtu))
        sender.set_timer()
        self.request(sender)

    def wait(self) -> None:
        """Waits until the port is free."""
        if self.turns and not self.is_waiting:
            self.is_waiting = True
            earliest = self.network.now + max(1, self.port.time_of(1))
            self.timer(max(self.free_at, earliest), PORT_KEY, self.serve)

    def serve(self) -> None:
        """Lets the first flow send that may."""
        self.is_waiting = False
        while self.turns:
            sender = self.turns.popleft()
            sender.waits = False
            if sender.may_send():
                self.send_of(sender)
                break
        if self.turns and not self.is_waiting:
            self.is_waiting = True
            self.timer(max(self.free_at, self.network.now + 1), PORT_KEY, self.serve)
