"""The fluid model of DCQCN: Zhu et al., SIGCOMM 2015, section 5.1, and its fixed point, section 5.2.

At the fixed point of n flows, all rates are C / n and all derivatives are 0. The probability p of a mark then follows
from one equation, and the queue from p and the ramp of the switch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dcqcn:
    """Constants of DCQCN and of a bottleneck. Times are in seconds, rates in bits per second, sizes in bytes."""

    rate: float = 40e9
    packet: int = 1086
    cnp_interval: float = 50e-6
    alpha_interval: float = 55e-6
    increase_interval: float = 55e-6
    byte_counter: float = 10e6
    fast_recovery: int = 5
    increase: float = 40e6
    kmin: float = 5e3
    kmax: float = 200e3
    pmax: float = 0.01

    def excess(self, p: float, flows: int) -> float:
        """Returns a value that is 0 at the fixed point, below 0 for a smaller p and above 0 for a larger one.

        The increase of the target rate and its return to the current rate cancel each other, and so do cuts and
        recoveries of the current rate.
        """
        bits = 8 * self.packet
        share = self.rate / flows / bits
        counter = self.byte_counter / self.packet
        timer = self.increase_interval * share
        keeps = 1 - p
        alpha: float = 1 - keeps ** (self.alpha_interval * share)
        notified: float = 1 - keeps ** (self.cnp_interval * share)
        by_counter: float = p / (keeps**-counter - 1)
        by_timer: float = p / (keeps**-timer - 1)
        beyond: float = by_counter * keeps ** (self.fast_recovery * counter) + by_timer * keeps ** (
            self.fast_recovery * timer
        )
        distance = self.cnp_interval * self.increase / bits * share * beyond / notified
        return alpha * notified / self.cnp_interval - distance * (by_counter + by_timer)

    def probability(self, flows: int) -> float:
        """Returns the probability of a mark at the fixed point."""
        low, high = 1e-9, 0.5
        for _ in range(200):
            middle = (low * high) ** 0.5
            if self.excess(middle, flows) < 0:
                low = middle
            else:
                high = middle
        return low

    def approximation(self, flows: int) -> float:
        """Returns the probability for small p: (R_AI / t) (n / C)^2 (1 / B + n / (T C))^2 to the power of 1 / 3.

        Rates are in packets here, and t is the period in which the reduction factor decays.
        """
        bits = 8 * self.packet
        capacity, step = self.rate / bits, self.increase / bits
        events = self.packet / self.byte_counter + flows / (self.increase_interval * capacity)
        return float((step / self.alpha_interval * (flows / capacity * events) ** 2) ** (1 / 3))

    def queue(self, flows: int) -> float:
        """Returns the queue in bytes at the fixed point, at most `kmax`."""
        return self.kmin + min(1.0, self.probability(flows) / self.pmax) * (self.kmax - self.kmin)
