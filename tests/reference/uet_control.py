"""The control laws of the Ultra Ethernet transport: NSCC's window and RCCC's credit at the sender.

The laws are those of `docs/explanation/ultra-ethernet.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.reference.network import HEADER_BYTES, PS_PER_S

if TYPE_CHECKING:
    from collections import Counter

QUANTUM = 256
"""Bytes of a quantum of credit."""
PS_PER_US = 10**6


@dataclass(frozen=True)
class Settings:
    """The settings of a transport. Times are in picoseconds, `rate` in bits per second."""

    control: str
    mtu: int
    ack_bytes: int
    initial_window: int | None
    network_rtt: int
    target_delay: int
    rto: int
    rate: int
    has_quirks: bool

    def bytes_in(self, time: int) -> int:
        """The bytes that a host's link sends in a time."""
        return time * self.rate // (8 * PS_PER_S)

    @property
    def cap(self) -> int:
        """1.5 bandwidth-delay products of the network: the maximum credit, and the first maximum window."""
        return self.bytes_in(self.network_rtt) * 3 // 2


@dataclass(frozen=True)
class Ack:
    """An acknowledgement."""

    expected: int
    trigger: int
    later: frozenset[int]
    """PSNs of the 64 from the reference on that have arrived."""
    received: int
    is_marked: bool
    of_repeated: bool
    of_request: bool


class Window:
    """NSCC, the window of a sender."""

    def __init__(self, settings: Settings, counts: Counter[str]) -> None:
        self.settings, self.counts = settings, counts
        mss = settings.mtu - HEADER_BYTES
        target = settings.target_delay
        scale = settings.bytes_in(settings.network_rtt) / 150_000
        self.alpha = 4 * mss * scale * (target / (12 * PS_PER_US)) / target
        self.fair = 5 * mss * scale
        self.eta = 0.15 * mss * scale
        self.fast = 0.25 * scale
        self.most = settings.cap
        self.size = self.most if settings.initial_window is None else settings.initial_window
        self.base = settings.network_rtt
        self.average = 0
        self.increase = self.adjusted_bytes = self.adjusted_at = self.decreased_at = 0
        self.without_queue = 0
        self.is_fast = False
        self.round_end = self.round_bytes = 0
        self.had_trim = False
        self.to_ignore = self.ignored = 0

    def lower_base(self, rtt: int) -> None:
        """Lowers the base round-trip time."""
        if rtt < self.base:
            self.base = rtt
            self.most = self.settings.bytes_in(rtt) * 3 // 2

    def clip(self) -> None:
        """Keeps the window between a packet and its maximum."""
        self.size = max(min(self.size, self.most), self.settings.mtu)

    def add_delay(self, delay: float, *, is_marked: bool) -> None:
        """Adds a delay to the average."""
        if not is_marked and delay > self.settings.target_delay:
            delay = 0.25 * self.base
        self.average = int(0.0125 * delay + (1 - 0.0125) * self.average)

    def measure(self, count: int, rtt: int | None, ack: Ack) -> int:
        """Counts new bytes, and returns the queueing delay."""
        self.round_bytes += count
        self.adjusted_bytes += count
        self.ignored += count
        if rtt is not None and not ack.of_request:
            self.lower_base(rtt)
        if rtt is None or rtt < self.base:
            return self.average
        delay = rtt - self.base
        self.add_delay(delay, is_marked=ack.is_marked)
        return delay

    def adapt_quickly(self, now: int, delay: int, in_flight: int, *, is_trim: bool, is_marked: bool) -> bool:
        """Cuts the window to the bytes of a round. Returns whether nothing else changes it."""
        acted = False
        if self.ignored < self.to_ignore and is_marked:
            acted = True
        elif now > self.round_end:
            is_congested = self.had_trim or is_trim or delay > 4 * self.settings.target_delay
            if self.round_end and is_congested and self.round_bytes < self.most // 8:
                self.size = max(self.round_bytes, self.settings.mtu)
                self.to_ignore, self.ignored, self.had_trim = in_flight, 0, False
                acted = True
            self.round_bytes = 0
            self.round_end = now + self.base + self.settings.target_delay
        if acted:
            self.counts["quick adaptation"] += 1
            self.increase = self.adjusted_bytes = 0
        return acted

    def on_ack(self, now: int, count: int, delay: int, in_flight: int, *, is_marked: bool) -> None:
        """Changes the window by an acknowledgement."""
        if self.adapt_quickly(now, delay, in_flight, is_trim=False, is_marked=is_marked):
            return
        target = self.settings.target_delay
        if not is_marked and delay >= target:
            self.counts["fair increase"] += 1
            self.increase += int(self.fair * count)
        elif not is_marked:
            self.increase_below_target(count, delay)
        elif delay >= target:
            self.decrease(now)
        self.clip()
        since = now - self.adjusted_at
        if self.adjusted_bytes > 8 * self.settings.mtu or since > self.settings.network_rtt:
            self.size += self.increase // self.size
            if since >= self.settings.network_rtt:
                self.size += int(self.eta)
                self.adjusted_at = now
            self.increase = self.adjusted_bytes = 0
        self.clip()

    def increase_below_target(self, count: int, delay: int) -> None:
        """Increases fast without a queue for a window, and in proportion to the distance to the target otherwise."""
        if delay < PS_PER_US:
            self.without_queue += count
            self.is_fast = self.is_fast or self.without_queue > self.size
        else:
            self.without_queue, self.is_fast = 0, False
        if self.is_fast:
            self.counts["fast increase"] += 1
            self.size += int(self.fast * count)
        else:
            self.increase += int(self.alpha * count * (self.settings.target_delay - delay))

    def decrease(self, now: int) -> None:
        """Decreases the window by the average delay."""
        self.without_queue, self.is_fast = 0, False
        target = self.settings.target_delay
        if self.average > target and now - self.decreased_at > self.base:
            self.counts["decrease"] += 1
            share = (self.average - target) / self.average
            self.size = max(int(self.size * max(1 - 0.8 * share, 0.5)), self.settings.mtu)
            self.decreased_at = now

    def on_nack(self, now: int, size: int, rtt: int, in_flight: int, *, shrinks: bool) -> None:
        """Changes the window by a trimmed packet."""
        if self.settings.has_quirks:
            self.counts["lower base"] += rtt < self.base
            self.lower_base(rtt)
        self.ignored += size
        self.add_delay(self.settings.network_rtt, is_marked=True)
        self.had_trim = True
        if not self.adapt_quickly(now, 0, in_flight, is_trim=True, is_marked=True) and shrinks:
            self.size -= size
            self.clip()


class Credit:
    """RCCC at the sender."""

    def __init__(self, cap: int) -> None:
        self.cap = self.bytes = cap
        self.granted = self.target = 0
        self.is_speculating = True

    def stop_speculating(self) -> None:
        """Forfeits the credit that was not granted."""
        if self.is_speculating:
            self.is_speculating = False
            self.bytes = min(self.bytes, 0)

    def on_pull(self, granted: int) -> bool:
        """Adds credit. Returns whether it is new."""
        more = granted - self.granted
        if more > 0:
            self.bytes = min(self.cap, self.bytes + QUANTUM * more)
            self.granted = granted
        return more > 0
