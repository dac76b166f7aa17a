"""The window and the rate of HPCC by the laws of `docs/explanation/hpcc.md`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

TELEMETRY_BYTES = 42

Hop = tuple[int, int, int, int]
"""What a port reports: time in picoseconds, bytes sent, bytes that wait, rate in bits per second."""


@dataclass(frozen=True)
class Hpcc:
    """The settings. Times are in picoseconds, rates in bits per second."""

    rtt: int
    utilisation: float
    max_stage: int
    increase: int
    min_rate: int
    initial_rate: int
    is_quantised: bool


class HpccRate:
    """The window of a flow in bytes, and its rate."""

    def __init__(self, settings: Hpcc, line_rate: int, counts: Counter[str]) -> None:
        self.settings, self.counts = settings, counts
        self.line_rate = float(line_rate)
        self.least, self.most = self.volume(min(settings.min_rate, line_rate)), self.volume(line_rate)
        self.step = self.volume(settings.increase)
        self.window = self.reference = self.volume(min(settings.initial_rate, line_rate))
        self.average = 1.0
        self.stage = 0
        self.round_ends_after = 0
        self.last: list[Hop] = []

    def volume(self, rate: int) -> float:
        """The bytes of a round trip at a rate."""
        return float(rate) * float(self.settings.rtt) / 8e12

    @property
    def current(self) -> float:
        """The rate."""
        return min(self.window * 8e12 / float(self.settings.rtt), self.line_rate)

    def on_notification(self) -> None:
        """Does nothing."""

    def on_sent(self, size: int) -> None:
        """Does nothing."""

    def on_ack(self, expected: int, new: int, hops: list[Hop]) -> None:
        """Changes the window by what switches reported of a packet."""
        ends_round = expected > self.round_ends_after
        if ends_round:
            self.round_ends_after = new
        last, self.last = self.last, [self.read(hop) for hop in hops]
        if not last or any(now[0] == then[0] for then, now in zip(last, self.last, strict=True)):
            return
        self.average_load(last)
        target = self.settings.utilisation
        follows = self.average >= target or self.stage >= self.settings.max_stage
        window = self.reference + self.step
        if follows:
            window = self.reference * target / self.average + self.step
        self.counts["decrease" if self.average >= target else "proportional" if follows else "additive"] += 1
        self.window = min(max(window, self.least), self.most)
        if ends_round:
            self.counts["round"] += 1
            self.reference = self.window
            self.stage = 0 if follows else self.stage + 1

    def read(self, hop: Hop) -> Hop:
        """The report as the header of a packet has it."""
        if not self.settings.is_quantised:
            return hop
        time, sent, queue, rate = hop
        scale = max(rate // 25_000_000_000, 1)
        return time // 1000 * 1000, sent // (128 * scale) * 128 * scale, queue // (80 * scale) * 80 * scale, rate

    def average_load(self, last: list[Hop]) -> None:
        """Averages the load of the most loaded port."""
        rtt = float(self.settings.rtt)
        loads = []
        for (then, sent_then, queue_then, _), (now, sent_now, queue_now, rate) in zip(last, self.last, strict=True):
            waiting = min(queue_then, queue_now) * 8e12 / (rate * rtt)
            loads.append((waiting + (sent_now - sent_then) * 8e12 / (float(now - then) * rate), now - then))
            self.counts["queue"] += min(queue_then, queue_now) > 0
        highest, time = max(loads, key=lambda load: load[0])
        self.counts["second port"] += highest > loads[0][0]
        weight = min(time, rtt) / rtt
        self.average = (1 - weight) * self.average + weight * highest
