"""The rate of TIMELY by the laws of `docs/explanation/timely.md`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Timely:
    """The settings. Times are in picoseconds, rates in bits per second."""

    is_patched: bool
    per_round: bool
    segment: int
    """Number of packets."""
    gain: float
    beta: float
    low: int
    high: int
    min_rtt: int
    increase: int
    hyper_after: int
    hyper_steps: int
    min_rate: int
    initial_rate: int


class TimelyRate:
    """The rate of a flow."""

    def __init__(self, settings: Timely, line_rate: int, counts: Counter[str]) -> None:
        self.settings, self.counts = settings, counts
        self.line_rate = float(line_rate)
        self.least = min(float(settings.min_rate), self.line_rate)
        self.current = min(float(settings.initial_rate), self.line_rate)
        self.last_rtt: int | None = None
        self.average = 0.0
        self.row = 0
        """Number of increases in a row."""
        self.mark = 0 if settings.per_round else settings.segment - 1

    def on_notification(self) -> None:
        """Does nothing."""

    def on_sent(self, size: int) -> None:
        """Does nothing."""

    def on_ack(self, expected: int, new: int, rtt: int) -> None:
        """Changes the rate if a segment, or a round trip, is complete."""
        settings = self.settings
        if expected <= self.mark:
            return
        self.mark = new if settings.per_round else expected + settings.segment - 1
        if self.last_rtt is not None:
            self.average = (1 - settings.gain) * self.average + settings.gain * (rtt - self.last_rtt)
            self.current = min(max(self.changed(rtt), self.least), self.line_rate)
        self.last_rtt = rtt

    def changed(self, rtt: int) -> float:
        """The rate after a sample."""
        settings, step = self.settings, float(self.settings.increase)
        gradient = self.average / settings.min_rtt
        if rtt > settings.high:
            self.counts["beyond high"] += 1
            self.row = 0
            return self.current * (1 - settings.beta * (1 - settings.high / rtt))
        if rtt >= settings.low and settings.is_patched:
            self.counts["patched"] += 1
            weight = min(max(2 * gradient + 0.5, 0), 1)
            excess = (rtt - settings.low) / settings.low
            self.row = 0
            return step * (1 - weight) + self.current * (1 - settings.beta * weight * excess)
        if rtt >= settings.low and gradient > 0:
            self.counts["rising"] += 1
            self.row = 0
            return self.current * (1 - settings.beta * gradient)
        counts = rtt >= settings.low or settings.per_round
        is_hyper = counts and self.row >= settings.hyper_after
        self.counts["hyper"] += is_hyper
        self.row = self.row + 1 if counts else 0
        return self.current + (settings.hyper_steps if is_hyper else 1) * step
