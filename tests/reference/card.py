"""The network card of a host whose transport sprays packets. Data is not queued in the host."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tests.reference.network import Host, Packet

CYCLE = 11
"""Number of choices per data packet while both data and packets without payload wait."""


class CardSender(Protocol):
    """A flow that asks the card."""

    waits: bool

    def may_send(self) -> bool:
        """Whether the flow may send a packet."""

    def send(self) -> None:
        """Sends a packet by the card."""


class Card:
    """Sends one packet at a time; flows and packets without payload wait in two FIFOs."""

    def __init__(self, host: Host, key: int) -> None:
        self.host, self.key = host, key
        self.free_at = 0
        self.flows: deque[CardSender] = deque()
        self.control: deque[tuple[Packet, str]] = deque()
        self.choices = 0
        self.is_waiting = False

    def is_idle(self) -> bool:
        """Whether a packet may be sent at once."""
        return self.host.network.now >= self.free_at and not self.flows and not self.control

    def send(self, packet: Packet, to: str) -> None:
        """Sends a packet."""
        self.free_at = self.host.network.now + self.host.port.time_of(packet.size)
        self.host.send(packet, to)

    def send_control(self, packet: Packet, to: str) -> None:
        """Sends a packet without payload, or lets it wait."""
        if self.is_idle():
            self.send(packet, to)
        else:
            self.control.append((packet, to))
            self.wait()

    def request(self, flow: CardSender) -> None:
        """Lets a flow send a packet, or wait, if it may send one."""
        if flow.waits or not flow.may_send():
            return
        if self.is_idle():
            flow.send()
        self.enter(flow)

    def enter(self, flow: CardSender) -> None:
        """Lets a flow wait if it may send."""
        if flow.may_send():
            flow.waits = True
            self.flows.append(flow)
            self.wait()

    def wait(self) -> None:
        """Waits until the packet being sent has left."""
        if not self.is_waiting and (self.flows or self.control):
            self.is_waiting = True
            self.host.timer(self.free_at, self.key, self.serve)

    def serve(self) -> None:
        """Sends the next packet that waits."""
        self.is_waiting = False
        serves_data = bool(self.flows)
        if self.flows and self.control:
            self.choices = (self.choices + 1) % CYCLE
            serves_data = self.choices == 0
        if not (serves_data and self.serve_flow()) and self.control:
            self.send(*self.control.popleft())
        self.wait()

    def serve_flow(self) -> bool:
        """Lets the first flow send that may. Returns whether one did."""
        while self.flows:
            flow = self.flows.popleft()
            flow.waits = False
            if flow.may_send():
                flow.send()
                self.enter(flow)
                return True
        return False
